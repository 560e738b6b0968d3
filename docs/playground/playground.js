// The playground: reads what is painted and set, has it planned by planner.js, and shows it. Nothing is fetched or kept.
"use strict";

(() => {
  const element = (id) => document.getElementById(id);
  const MAP = ["............", "............", "............", "S##########G"];
  const HORIZON = 40;
  const SIGNS = [[0, -1], [1, 0], [0, 1], [-1, 0]]; // up, right, down, left: across and down
  const COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7"]; // those that pages and figures give them
  const shown = (x, digits = 2) => x.toFixed(digits).replace("-", "−").replace(/^−(0(\.0*)?)$/, "$1");
  const per = (p) => (p < 0.0005 ? "never" : p > 0.9995 ? "always" : `${p < 0.1 ? (100 * p).toFixed(1) : Math.round(100 * p)} %`);

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function drawn(name, attributes = {}, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  function bars(id, rows) {
    const values = rows.map(([, value]) => value);
    const low = Math.min(...values) - 0.35 * Math.max(Math.max(...values) - Math.min(...values), 1e-9);
    element(id).replaceChildren(...rows.map(([name, value, colour]) => {
      const bar = make("u");
      bar.style.width = `${(70 * (value - low)) / (Math.max(...values) - low)}%`;
      bar.style.background = `var(${colour})`;
      return make("div", {}, make("span", {}, name), bar, shown(value));
    }));
  }

  // "Repeating the best mean: … Adapting: …", with what it gains.
  function verdict(id, mean, adapt, gains, nothing) {
    const gain = adapt - mean;
    element(id).replaceChildren(
      "Repeat what is best on average: ", make("i", {}, shown(mean)), ". Plan for the best, and look at it as you go: ",
      make("b", {}, shown(adapt)), ". ", gain > 5e-4 * Math.max(1, Math.abs(mean)) ? gains : nothing,
    );
  }

  // --- the cliff -------------------------------------------------------------------------------------------------------

  let cells = [...MAP];
  let brush = null; // what a drag paints
  let latest = 0;

  function settings() {
    return {
      k: Number(element("pg-k").value), slip: Number(element("pg-wind").value) / 100,
      cost: Number(element("pg-cost").value), hand: Number(element("pg-hand").value),
    };
  }

  function replan() {
    const { k, slip, cost } = settings();
    element("pg-k-value").textContent = k;
    element("pg-wind-value").textContent = `${Math.round(100 * slip)} %`;
    element("pg-cost-value").textContent = cost ? cost : "nothing";
    element("pg-hand").parentElement.hidden = k === 1;
    latest += 1;
    const turn = latest;
    element("playground").dataset.ready = "no";
    setTimeout(() => { // let the page show what was set first
      if (turn !== latest) return;
      show();
      element("playground").dataset.ready = "yes";
    }, 20);
  }

  function show() {
    const { k, slip, cost, hand } = settings();
    const problem = Planner.cliff(cells, slip, HORIZON);
    const found = Planner.plan(problem, k, cost);
    const mean = Planner.repeated(problem, k, cost);
    const { totals } = found.model;
    const inHand = totals[Math.max(totals.length - 1 - hand, 0)];
    element("pg-hand-value").textContent = shown(inHand, 0);
    const last = k - 1;
    const stops = cost > 0 && found.curves[last](inHand) <= inHand + 1e-12;
    const panels = [["First try", 0, -Infinity, ""]];
    if (k > 1) {
      panels.push([`Last try, no result yet`, last, -Infinity, ""]);
      panels.push([`Last try, best so far ${shown(inHand, 0)}`, last, inHand, stops ? "One more try is not worth its cost: stop. " : ""]);
    }
    const walks = panels.map(([, i, m]) => Planner.walk(found, i, m));
    const figures = panels.map(([title, , m, before], n) => {
      const fall = walks[n].law.reduce((sum, [g, p]) => sum + (g <= -100 ? p : 0), 0);
      const beats = walks[n].law.reduce((sum, [g, p]) => sum + (g > m ? p : 0), 0);
      const says = m === -Infinity ? `Falls: ${per(fall)}.` : `Improves on it: ${per(beats)}.`;
      return make("figure", {}, make("figcaption", {}, make("b", {}, title), before + says), board(walks[n], title));
    });
    element("pg-grids").replaceChildren(...figures);
    const difference = k > 1 && differs(walks[0].visits, walks[1].visits);
    verdict("pg-verdict", mean.value, found.value,
      `That is ${shown(found.value - mean.value)} better${k > 1 ? `, and the last try ${difference ? "walks another way if there is no result yet" : "with no result yet goes as the first does"}` : ""}.`,
      k === 1 ? "One try: the mean is all there is." : "Here planning for the best gains nothing.");
    bars("pg-bars", [["repeat the mean", mean.value, "--pg-repeat"], ["adapt", found.value, "--pg-adapt"]]);
  }

  // Whether two walks mostly do other things somewhere where both come to.
  function differs(one, other) {
    const sum = (row) => row.reduce((x, y) => x + y, 0);
    return one.some((row, s) => Math.min(sum(row), sum(other[s])) > 0.1 && row.indexOf(Math.max(...row)) !== other[s].indexOf(Math.max(...other[s])));
  }

  function board(walk, title) {
    const [rows, columns] = [cells.length, cells[0].length];
    const svg = drawn("svg", { viewBox: `0 0 ${columns * 10} ${rows * 10}`, role: "img", "aria-label": title, "data-board": "" });
    cells.forEach((line, row) => [...line].forEach((kind, column) => {
      const [x, y, s] = [10 * column, 10 * row, row * columns + column];
      svg.append(drawn("rect", { x: x + 0.3, y: y + 0.3, width: 9.4, height: 9.4, rx: 1.2, "data-cell": s, fill: kind === "#" ? "var(--pg-rock)" : "var(--pg-ground)" }));
      const visits = walk.visits[s];
      const total = visits.reduce((sum, n) => sum + n, 0);
      if (kind === "G" || kind === "S") {
        svg.append(drawn("circle", { cx: x + 5, cy: y + 5, r: 4, fill: kind === "S" ? "#0072b2" : "#009e73", "pointer-events": "none" }));
      }
      if (kind === "." && total > 0.005) {
        const action = visits.indexOf(Math.max(...visits));
        const [right, down] = SIGNS[action];
        svg.append(drawn("path", {
          d: "M-3,-0.9 H0.2 V-2.6 L3.4,0 L0.2,2.6 V0.9 H-3 Z", fill: COLOURS[action], stroke: "var(--pg-arrow)", "stroke-width": 0.35,
          "pointer-events": "none", opacity: Math.min(0.25 + 0.75 * Math.sqrt(total), 1).toFixed(2),
          transform: `translate(${x + 5} ${y + 5}) rotate(${(Math.atan2(down, right) * 180) / Math.PI})`,
        }));
      } else if (kind === "G" || kind === "S") {
        svg.append(drawn("text", { x: x + 5, y: y + 7, "font-size": 5.5, "text-anchor": "middle", "font-weight": 700, fill: "#fff", "pointer-events": "none" }, kind));
      }
    }));
    return svg;
  }

  function paint(target) {
    const s = target && target.dataset ? target.dataset.cell : undefined;
    if (s === undefined) return;
    const [row, column] = [Math.floor(s / cells[0].length), s % cells[0].length];
    const kind = cells[row][column];
    if (kind === "S" || kind === "G") return;
    brush ??= kind === "#" ? "." : "#";
    if (kind === brush) return;
    cells[row] = cells[row].slice(0, column) + brush + cells[row].slice(column + 1);
    document.querySelectorAll(`#pg-grids [data-cell="${s}"]`).forEach((cell) => cell.setAttribute("fill", brush === "#" ? "var(--pg-rock)" : "var(--pg-ground)"));
  }

  // --- attempts --------------------------------------------------------------------------------------------------------

  const task = {
    scores: [0, 5, 10],
    arms: [
      { name: "plain prompt", chances: [20, 70, 10], cost: 0.1 },
      { name: "bold prompt", chances: [70, 0, 30], cost: 0.1 },
      { name: "large model", chances: [25, 40, 35], cost: 1 },
    ],
  };

  function field(value, change, label, name = false) {
    const input = make("input", { value, "aria-label": label, ...(name ? { class: "pg-name" } : { inputmode: "decimal" }) });
    input.addEventListener("change", () => {
      if (!name) {
        const x = Number(input.value.replace("−", "-"));
        const wrong = input.value.trim() === "" || !Number.isFinite(x) || change(x) === false;
        input.classList.toggle("pg-wrong", wrong);
      } else change(input.value);
      showAttempts();
    });
    return input;
  }

  function showArms() {
    const head = make("tr", {}, make("th", {}, "way to try"),
      ...task.scores.map((score, j) => make("th", {}, "scores ", field(score, (x) => { task.scores[j] = x; }, `score ${j + 1}`))),
      make("th", {}, "costs"), make("th"));
    const rows = task.arms.map((arm, a) => {
      const drop = make("button", { type: "button", "aria-label": `remove ${arm.name}` }, "×");
      drop.addEventListener("click", () => { if (task.arms.length > 1) { task.arms.splice(a, 1); showArms(); } });
      return make("tr", {}, make("th", {}, field(arm.name, (text) => { arm.name = text; }, `name of way ${a + 1}`, true)),
        ...arm.chances.map((p, j) => make("td", {}, field(p, (x) => { if (x < 0) return false; arm.chances[j] = x; return true; }, `chance of score ${j + 1}, way ${a + 1}`), " %")),
        make("td", {}, field(arm.cost, (x) => { if (x < 0) return false; arm.cost = x; return true; }, `cost of way ${a + 1}`)), make("td", {}, drop));
    });
    element("pg-arms").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
    showAttempts();
  }

  function showAttempts() {
    const k = Number(element("pg-n").value);
    element("pg-n-value").textContent = k;
    const arms = task.arms.map((arm) => {
      const total = arm.chances.reduce((x, y) => x + y, 0);
      return total > 0 ? arm.chances.map((p, j) => [p / total, task.scores[j]]).filter(([p]) => p > 0) : [[1, task.scores[0]]];
    });
    const costs = task.arms.map((arm) => arm.cost);
    const found = Planner.choices(arms, costs, k);
    const means = arms.map((arm, a) => arm.reduce((sum, [p, x]) => sum + p * x, 0) - costs[a]);
    const best = means.indexOf(Math.max(...means));
    const repeat = Planner.choices([arms[best]], [costs[best]], k).value;
    verdict("pg-attempts-verdict", repeat, found.value, `Begin with ${task.arms[found.table[k - 1].get(-Infinity).arm].name}.`,
      `Nothing beats trying ${task.arms[best].name} each time.`);
    bars("pg-attempts-bars", [[`only ${task.arms[best].name}`, repeat, "--pg-repeat"], ["adapt", found.value, "--pg-adapt"]]);
    const left = [...Array(k).keys()].map((n) => k - n);
    const head = make("tr", {}, make("th", {}, "best so far"), ...left.map((n) => make("th", {}, n === 1 ? "the last" : `${n} left`)));
    const rows = [-Infinity, ...found.scores].map((m) => make("tr", {}, make("th", {}, m === -Infinity ? "nothing" : String(m)),
      ...left.map((n) => {
        const { arm } = found.table[n - 1].get(m);
        const never = n === k ? m !== -Infinity : m === -Infinity; // before the first there is nothing, after it something
        return make("td", {}, never ? "" : arm < 0 ? "stop" : task.arms[arm].name);
      })));
    element("pg-choices").replaceChildren(make("thead", {}, head), make("tbody", {}, ...rows));
  }

  // --- all of it -------------------------------------------------------------------------------------------------------

  function start() {
    if (!element("playground")) return;
    for (const id of ["pg-k", "pg-wind", "pg-cost", "pg-hand"]) element(id).addEventListener("input", replan);
    element("pg-n").addEventListener("input", showAttempts);
    element("pg-reset").addEventListener("click", () => { cells = [...MAP]; replan(); });
    element("pg-add-arm").addEventListener("click", () => {
      task.arms.push({ name: `way ${task.arms.length + 1}`, chances: task.scores.map(() => 100), cost: 0 });
      showArms();
    });
    element("pg-add-score").addEventListener("click", () => {
      task.scores.push(Math.max(...task.scores) + 5);
      task.arms.forEach((arm) => arm.chances.push(0));
      showArms();
    });
    const grids = element("pg-grids");
    grids.addEventListener("pointerdown", (event) => { brush = null; paint(event.target); event.preventDefault(); });
    grids.addEventListener("pointermove", (event) => { if (event.buttons) paint(document.elementFromPoint(event.clientX, event.clientY)); });
    window.addEventListener("pointerup", () => { if (brush) { brush = null; replan(); } });
    const tabs = ["cliff", "attempts"];
    const choose = (name) => {
      for (const other of tabs) {
        element(`pg-${other}`).hidden = other !== name;
        element(`pg-tab-${other}`).setAttribute("aria-selected", String(other === name));
        element(`pg-tab-${other}`).tabIndex = other === name ? 0 : -1;
      }
    };
    tabs.forEach((name, n) => {
      element(`pg-tab-${name}`).addEventListener("click", () => choose(name));
      element(`pg-tab-${name}`).addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        choose(tabs[1 - n]);
        element(`pg-tab-${tabs[1 - n]}`).focus();
      });
    });
    showArms();
    replan();
  }

  start();
})();
