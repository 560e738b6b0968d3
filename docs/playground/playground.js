// The playground: one state, which sliders, painting and addresses change; planner.js plans it on a thread of its own, and what
// comes back is shown. Nothing is fetched or kept.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  if (!element("playground")) return;
  const { make, number } = Draw;
  const HORIZON = 40;
  const per = (p) => (p < 0.0005 ? "never" : p > 0.9995 ? "always" : `${p < 0.1 ? (100 * p).toFixed(1) : Math.round(100 * p)} %`);
  let state = PlaygroundState.fromAddress(location.hash.slice(1));
  let seed = Math.floor(Math.random() * 1e9);

  // --- the cliff -------------------------------------------------------------------------------------------------------

  const asked = () => ({ cells: state.cells, slip: state.wind / 100, horizon: HORIZON, cost: state.cost, k: state.k, behind: state.best });
  const thread = makeThread((kind, question, answer) => {
    if (kind === "session") walker.play(answer, question.k);
    else if (answer.reachable) showPlan(question, answer);
    else showBarred();
    if (kind === "shown") element("playground").dataset.ready = "yes";
  });

  const watched = Draw.board(state.cells, "The board: choose a cell to paint or clear it", true);
  watched.start = state.cells.join("").indexOf("S");
  watched.goal = state.cells.join("").indexOf("G");
  element("pg-watch").append(watched.picture);
  const panels = ["First try", "Last try, no result yet", "Last try, best so far"].map((title) => {
    const shown = Draw.board(state.cells, title, false);
    const [head, says] = [make("b"), make("span")];
    return { ...shown, head, says, figure: make("figure", {}, make("figcaption", {}, head, says), shown.picture) };
  });
  const walker = makeWalker({ shown: watched, chips: element("pg-chips"), line: element("pg-line"), button: element("pg-play"), again: replay });
  let focus = 0; // the cell that the keyboard is at

  function replay() {
    seed = (seed + 7919) >>> 0;
    thread.ask("session", { ...asked(), seed });
  }

  function replan(session = true) {
    element("playground").dataset.ready = "no";
    thread.ask("shown", asked());
    if (session) thread.ask("session", { ...asked(), seed });
  }

  function showPlan({ k }, found) {
    const { m, moments } = found;
    element("pg-best-value").textContent = number(m, 0);
    const titles = ["First try", "Last try, no result yet", `Last try, best so far ${number(m, 0)}`];
    const waits = moments.map(({ best, visits, law }, n) => {
      const fall = law.reduce((sum, [g, p]) => sum + (g <= -100 ? p : 0), 0);
      const beats = law.reduce((sum, [g, p]) => sum + (g > best ? p : 0), 0);
      const waiting = Draw.arrows(panels[n], state.cells, visits).find(({ s }) => s === watched.start);
      panels[n].head.textContent = titles[n];
      panels[n].picture.setAttribute("aria-label", titles[n]);
      panels[n].says.textContent = (n === 2 && found.stops ? "One more try is not worth its cost: stop. " : "")
        + (best === -Infinity ? `Falls: ${per(fall)}.` : `Improves on it: ${per(beats)}.`)
        + (waiting ? ` At S it steps ${Draw.NAMES[waiting.action]}, against the edge: it waits for the wind.` : "");
      return waiting;
    });
    element("pg-grids").replaceChildren(...panels.slice(0, waits.length).map(({ figure }) => figure));
    const gain = found.value - found.repeated;
    const differs = k > 1 && acts(moments[0].visits, moments[1].visits);
    const gains = `That is ${number(gain, gain < 1 ? 2 : 1)} steps better.${k === 1 ? "" : differs ? " If there is no result by the last try, it walks another way." : " With no result by the last try, it walks as on the first."}`;
    verdict("pg-verdict", found.repeated, found.value, gains, k === 1 ? "One try: the mean is all there is." : "Here planning for the best gains nothing.");
    element("pg-dots").replaceChildren(Draw.axis({ low: found.once, high: found.top, repeat: found.repeated, adapt: found.value, names: ["one try", "repeat the mean", "adapt", "best possible"], title: "score, in steps", room: element("pg-dots").clientWidth }));
  }

  function showBarred() {
    element("pg-verdict").replaceChildren(make("b", {}, "The goal cannot be reached"), `: no way of at most ${HORIZON} steps leads from S to G. Clear some of the cliff, or reset.`);
    element("pg-dots").replaceChildren();
    element("pg-best-value").textContent = "";
    element("pg-grids").replaceChildren();
  }

  // "Repeating the best mean: … Adapting: …", with what it gains.
  function verdict(id, mean, adapt, gains, nothing) {
    element(id).replaceChildren(
      "Repeat what is best on average: ", make("i", {}, number(mean)), ". Plan for the best of all tries: ",
      make("b", {}, number(adapt)), ". ", adapt - mean > 5e-4 * Math.max(1, Math.abs(mean)) ? gains : nothing,
    );
  }

  // Whether two tries mostly do other things somewhere where both come to.
  function acts(one, other) {
    const sum = (row) => row.reduce((x, y) => x + y, 0);
    const most = (row) => row.indexOf(Math.max(...row));
    return one.some((row, s) => Math.min(sum(row), sum(other[s])) > 0.1 && most(row) !== most(other[s]));
  }

  // --- painting --------------------------------------------------------------------------------------------------------

  let brush = null; // what a drag paints
  let touched = null; // the cell that a finger came down on, and where: it may be about to scroll
  const cellOf = (target) => (target && target.dataset && target.dataset.cell !== undefined ? Number(target.dataset.cell) : -1);

  function paint(s) {
    if (s < 0) return;
    const [row, column] = [Math.floor(s / watched.columns), s % watched.columns];
    const kind = state.cells[row][column];
    if (kind === "S" || kind === "G") return;
    brush ??= kind === "#" ? "." : "#";
    if (kind === brush) return;
    state.cells = state.cells.map((line, n) => (n === row ? line.slice(0, column) + brush + line.slice(column + 1) : line));
    const fill = brush === "#" ? "var(--pg-rock)" : "var(--pg-ground)";
    document.querySelectorAll(`#pg-cliff [data-cell="${s}"]`).forEach((cell) => cell.setAttribute("fill", fill));
  }

  function painted() {
    if (brush) changed({});
    brush = null;
    touched = null;
  }

  function listenToPainting(panel) {
    panel.addEventListener("pointerdown", (event) => {
      const s = cellOf(event.target);
      if (s < 0) return;
      if (event.target.hasPointerCapture && event.target.hasPointerCapture(event.pointerId)) event.target.releasePointerCapture(event.pointerId);
      if (event.pointerType === "touch") touched = { s, x: event.clientX, y: event.clientY };
      else paint(s);
    });
    panel.addEventListener("pointermove", (event) => {
      if (!event.buttons || (brush === null && touched === null)) return;
      if (touched !== null) {
        const [across, down] = [Math.abs(event.clientX - touched.x), Math.abs(event.clientY - touched.y)];
        if (across < 8 || across < 2 * down) return;
        paint(touched.s);
        touched = null;
      }
      paint(cellOf(document.elementFromPoint(event.clientX, event.clientY)));
    });
    panel.addEventListener("keydown", (event) => {
      const s = cellOf(event.target);
      if (s < 0 || event.target.getAttribute("role") !== "button") return;
      const way = ["ArrowUp", "ArrowRight", "ArrowDown", "ArrowLeft"].indexOf(event.key);
      if (way >= 0) {
        const [across, down] = Draw.SIGNS[way];
        const [column, row] = [(s % watched.columns) + across, Math.floor(s / watched.columns) + down];
        if (column < 0 || column >= watched.columns || row < 0 || row >= state.cells.length) return event.preventDefault();
        focus = row * watched.columns + column;
        watched.marks.replaceChildren(...Draw.ground(watched, state.cells, focus));
        watched.rects[focus].focus();
      } else if (event.key === "Enter" || event.key === " ") {
        paint(s);
        painted();
      } else return undefined;
      return event.preventDefault();
    });
  }

  window.addEventListener("pointerup", () => {
    if (touched !== null) paint(touched.s);
    painted();
  });
  window.addEventListener("pointercancel", () => { touched = null; painted(); }); // the finger scrolls

  // --- attempts --------------------------------------------------------------------------------------------------------

  function field(value, change, label, name = false) {
    const input = make("input", { value, "aria-label": label, ...(name ? { class: "pg-name" } : { inputmode: "decimal" }) });
    input.addEventListener("change", () => {
      if (!name) {
        const x = Number(input.value.replace("−", "-"));
        const wrong = input.value.trim() === "" || !Number.isFinite(x) || change(x) === false;
        input.classList.toggle("pg-wrong", wrong);
        input.setAttribute("aria-invalid", String(wrong));
      } else change(input.value);
      remember();
      showAttempts();
    });
    return input;
  }

  function showArms() {
    const atLeast0 = (set) => (x) => { if (x < 0) return false; set(x); return true; };
    const head = make("tr", {}, make("th", {}, "way to try"),
      ...state.scores.map((score, j) => make("th", {}, "scores ", field(score, (x) => { state.scores[j] = x; }, `score ${j + 1}`))),
      make("th", {}, "costs"), make("td"));
    const rows = state.arms.map((arm, a) => {
      const drop = make("button", { type: "button", "aria-label": `remove ${arm.name}` }, "×");
      drop.addEventListener("click", () => { if (state.arms.length > 1) { state.arms.splice(a, 1); remember(); showArms(); } });
      return make("tr", {}, make("th", {}, make("span", { class: `pg-key pg-arm-${a % 6}` }), field(arm.name, (text) => { arm.name = text; }, `name of way ${a + 1}`, true)),
        ...arm.chances.map((p, j) => make("td", {}, field(p, atLeast0((x) => { arm.chances[j] = x; }), `chance of score ${j + 1}, way ${a + 1}`), " %")),
        make("td", {}, field(arm.cost, atLeast0((x) => { arm.cost = x; }), `cost of way ${a + 1}`)), make("td", {}, drop));
    });
    element("pg-arms").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    showAttempts();
  }

  // What adds up to something else than 100 % is rescaled, and that is said.
  function sums() {
    const total = (arm) => arm.chances.reduce((x, y) => x + y, 0);
    const odd = state.arms.filter((arm) => Math.abs(total(arm) - 100) > 1e-6);
    return odd.map((arm) => (total(arm) > 0 ? `${arm.name} adds up to ${Number(total(arm).toPrecision(6))} %, rescaled.` : `${arm.name} has no chances: always ${state.scores[0]}.`)).join(" ");
  }

  function showAttempts() {
    const k = state.n;
    const arms = state.arms.map((arm) => {
      const total = arm.chances.reduce((x, y) => x + y, 0);
      return total > 0 ? arm.chances.map((p, j) => [p / total, state.scores[j]]).filter(([p]) => p > 0) : [[1, state.scores[0]]];
    });
    const costs = state.arms.map((arm) => arm.cost);
    const found = Planner.choices(arms, costs, k);
    const means = arms.map((arm, a) => arm.reduce((sum, [p, x]) => sum + p * x, 0) - costs[a]);
    const best = means.indexOf(Math.max(...means));
    const repeat = Planner.choices([arms[best]], [costs[best]], k).value;
    const top = Math.max(...arms.map((arm, a) => Math.max(...arm.map(([, x]) => x)) - costs[a]));
    element("pg-sums").textContent = sums();
    verdict("pg-attempts-verdict", repeat, found.value, `Begin with ${state.arms[found.table[k - 1].get(-Infinity).arm].name}.`,
      `Nothing beats trying ${state.arms[best].name} each time.`);
    element("pg-attempts-dots").replaceChildren(Draw.axis({ low: means[best], high: top, repeat, adapt: found.value, names: ["one attempt", `only ${state.arms[best].name}`, "adapt", "best possible"], room: element("pg-attempts-dots").clientWidth }));
    const left = [...Array(k).keys()].map((n) => k - n);
    const head = make("tr", {}, make("th", {}, "best so far"), ...left.map((n) => make("th", {}, n === 1 ? "the last" : `${n} left`)));
    const rows = [-Infinity, ...found.scores].map((m) => make("tr", {}, make("th", {}, m === -Infinity ? "none" : String(m)),
      ...left.map((n) => {
        const { arm } = found.table[n - 1].get(m);
        if (n === k ? m !== -Infinity : m === -Infinity) return make("td"); // before the first there is none, after it one
        return make("td", { class: arm < 0 ? "pg-stop" : "" }, ...(arm < 0 ? ["stop"] : [make("span", { class: `pg-key pg-arm-${arm % 6}` }), state.arms[arm].name]));
      })));
    element("pg-choices").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  }

  // --- one state -------------------------------------------------------------------------------------------------------

  let writing = null;

  function remember() {
    clearTimeout(writing);
    writing = setTimeout(write, 300); // browsers allow so many changes of an address in a while
  }

  function write() {
    clearTimeout(writing);
    const address = PlaygroundState.toAddress(state);
    if (location.hash.slice(1) === address) return;
    history.replaceState(null, "", address ? `#${address}` : location.pathname + location.search);
  }

  // What is set, as the controls show it.
  function showState() {
    for (const name of ["k", "wind", "cost", "best", "n"]) element(`pg-${name}`).value = state[name];
    element("pg-k-value").textContent = state.k;
    element("pg-n-value").textContent = state.n;
    element("pg-wind-value").textContent = `${state.wind} %`;
    element("pg-cost-value").textContent = state.cost ? state.cost : "nothing";
    element("pg-best").parentElement.hidden = state.k === 1;
    for (const name of ["cliff", "attempts"]) {
      element(`pg-${name}`).hidden = name !== state.tab;
      element(`pg-tab-${name}`).setAttribute("aria-selected", String(name === state.tab));
      element(`pg-tab-${name}`).tabIndex = name === state.tab ? 0 : -1;
    }
    watched.marks.replaceChildren(...Draw.ground(watched, state.cells, focus));
  }

  function changed(change) {
    const planned = !("best" in change); // the best so far changes what is shown, not the plan
    Object.assign(state, change);
    showState();
    remember();
    replan(planned);
  }

  async function copy(event) {
    write();
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(location.href);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy link"; }, 1500);
    } catch {
      window.prompt("The link to what is set here", location.href);
    }
  }

  function begin(next) {
    state = next;
    showState();
    showArms();
    replan();
  }

  for (const name of ["k", "wind", "cost", "best"]) element(`pg-${name}`).addEventListener("input", ({ target }) => changed({ [name]: Number(target.value) }));
  element("pg-n").addEventListener("input", ({ target }) => { state.n = Number(target.value); showState(); remember(); showAttempts(); });
  element("pg-reset").addEventListener("click", () => {
    const { k, wind, cost, best, cells } = PlaygroundState.begin();
    changed({ k, wind, cost, cells });
    changed({ best });
  });
  element("pg-again").addEventListener("click", replay);
  document.querySelectorAll("#playground .pg-copy").forEach((button) => button.addEventListener("click", copy));
  element("pg-add-arm").addEventListener("click", () => {
    state.arms.push({ name: `way ${state.arms.length + 1}`, chances: state.scores.map(() => Number((100 / state.scores.length).toFixed(1))), cost: 0 });
    remember();
    showArms();
  });
  element("pg-add-score").addEventListener("click", () => {
    state.scores.push(Math.max(...state.scores) + 5);
    state.arms.forEach((arm) => arm.chances.push(0));
    remember();
    showArms();
  });
  listenToPainting(element("pg-cliff"));
  const choose = (tab) => {
    state.tab = tab;
    showState();
    remember();
    if (tab === "attempts") showAttempts(); // which has room only now
  };
  const tabs = ["cliff", "attempts"];
  tabs.forEach((name, n) => {
    element(`pg-tab-${name}`).addEventListener("click", () => choose(name));
    element(`pg-tab-${name}`).addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      choose(tabs[1 - n]);
      element(`pg-tab-${tabs[1 - n]}`).focus();
    });
  });
  window.addEventListener("hashchange", () => begin(PlaygroundState.fromAddress(location.hash.slice(1))));
  begin(state);
})();
