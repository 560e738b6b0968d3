// Shows one moment of a plan (try, step, state, M, G): in words, on the map, on the grid or the graph. Sliders, clicks, the
// player and the address choose it.
// The moment that is shown, and the sliders that say which.
class Shower {
  constructor(asked, views) {
    this.asked = asked;
    this.views = views;
    this.bestLabels = labels(asked.bests);
    this.rollout = 0; // an index into asked.rollouts
    this.step = 0;
    this.state = asked.state[0];
    this.best = 0; // an index into asked.bests
    this.soFar = 0; // an index into the returns of the place
    this.shows = 0;
    this.touched = () => {}; // told when somebody moves a slider
    this.frame = null; // where the player stands, if it was the player that chose the moment
    this.limit("rollout", asked.rollouts.length - 1);
    this.limit("step", problem.horizon - 1);
    this.limit("state", asked.statesShown.length - 1);
    this.limit("best", asked.bests.length - 1);
    const chosen = {
      rollout: (x) => { this.rollout = x; },
      step: (x) => { this.move(x, this.state); },
      state: (x) => { this.move(this.step, asked.statesShown[x]); },
      best: (x) => { this.best = x; },
      so_far: (x) => { this.soFar = x; },
    };
    for (const [id, choose] of Object.entries(chosen)) {
      element(id).addEventListener("input", () => {
        this.frame = null;
        this.touched();
        choose(Number(element(id).value));
        this.show();
      });
    }
    if (grid) new ResizeObserver(() => this.square()).observe(element("grid"));
    this.clicks();
  }

  // Choose a moment that is not the player's.
  choose(change) {
    this.frame = null;
    this.touched();
    change();
    this.show();
  }

  // Cells of maps and grids are clicked to choose what they show.
  clicks() {
    const choose = (change) => this.choose(change);
    if (sheets) element("sheet").addEventListener("change", () => this.sheet(Number(element("sheet").value)));
    this.views.map.addEventListener("click", (_, item) => {
      if (item && item.datum && item.datum.m !== undefined) choose(() => { this.best = item.datum.m; this.soFar = item.datum.g; });
    });
    if (grid) {
      this.views.grid.addEventListener("click", (_, item) => {
        if (item && item.datum && item.datum.row !== undefined) choose(() => this.visit(item.datum.row * grid.columns + item.datum.column));
      });
    }
    document.querySelectorAll("#graph [data-state]").forEach((node) => {
      node.addEventListener("click", () => choose(() => this.visit(Number(node.dataset.state))));
    });
    document.querySelectorAll(".board [data-state], .chip").forEach((cell) => cell.addEventListener("click", () => choose(() => {
      const { rollout, best } = (cell.closest(".board") ?? cell).dataset;
      this.rollout = Math.max(nearest(this.asked.rollouts, Number(rollout)), 0);
      this.best = Math.max(nearest(this.asked.bests, best === "" ? null : Number(best)), 0);
      this.visit(Number(cell.dataset.state));
    })));
  }

  // Go to a state, at this step if a try can be there now, else as soon as one can.
  visit(state) {
    const first = this.asked.firstPlace.get(state);
    if (first === undefined) return;
    this.move(this.asked.place(this.step, state) === undefined ? this.asked.step[first] : this.step, state);
  }

  // The moment as the end of the page's address, and back; whether there was one.
  write() {
    const { frame } = this;
    const at = frame ? { trial: frame.trial, at: frame.at } :
      { try: this.rollout, step: this.step, state: this.state, best: this.best, so_far: this.soFar };
    history.replaceState(null, "", `#${new URLSearchParams(at)}`);
  }

  read(from, player) {
    const whole = (name, most) => {
      const x = Number(from.get(name) ?? NaN);
      return Number.isInteger(x) && x >= 0 && x <= most ? x : null;
    };
    const trial = player && whole("trial", trials.length - 1);
    if (player && trial !== null && from.has("trial")) {
      element("trial").value = trial;
      player.load(trial, whole("at", 1e9) ?? 0);
      return true;
    }
    const state = whole("state", problem.n_states - 1);
    if (state === null || !this.asked.firstPlace.has(state)) return false;
    this.frame = null;
    this.touched();
    this.rollout = whole("try", this.asked.rollouts.length - 1) ?? 0;
    this.best = whole("best", this.asked.bests.length - 1) ?? 0;
    this.move(whole("step", problem.horizon - 1) ?? 0, state);
    this.soFar = whole("so_far", this.returns.length - 1) ?? this.soFar;
    this.show();
    return true;
  }

  limit(id, most) {
    Object.assign(element(id), { min: 0, max: most, step: 1, disabled: most <= 0 });
  }

  get place() {
    return this.asked.place(this.step, this.state);
  }

  get returns() {
    return this.place === undefined ? [] : this.asked.returns(this.place);
  }

  // Go to another step and state; the return so far stays as near as it can.
  move(step, state, soFar = this.returns[this.soFar]) {
    this.step = step;
    this.state = state;
    this.soFar = soFar === undefined ? this.returns.length - 1 : Math.max(nearest(this.returns, soFar), 0);
  }

  // Go to where the player stands.
  follow(frame) {
    this.frame = frame;
    this.rollout = Math.max(nearest(this.asked.rollouts, frame.rollout), 0);
    this.best = Math.max(nearest(this.asked.bests, frame.knownBest), 0);
    this.move(frame.step, frame.state, frame.knownSoFar);
    return this.show();
  }

  async show() {
    this.shows += 1;
    const turn = this.shows;
    document.documentElement.dataset.ready = "no";
    this.sliders();
    this.says();
    await Promise.all([this.map([...this.graph(), ...this.sheet()]), this.grid()]);
    if (turn !== this.shows) return;
    this.write();
    document.documentElement.dataset.ready = "yes"; // what is drawn is what is said
  }

  sliders() {
    const set = (id, value, text) => {
      element(id).value = value;
      element(id).setAttribute("aria-valuetext", text);
      element(`${id}-value`).textContent = text;
    };
    set("rollout", this.rollout, `${this.asked.rollouts[this.rollout] + 1} of ${problem.k}`);
    set("step", this.step, String(this.step));
    set("state", this.asked.statesShown.indexOf(this.state), states[this.state]);
    set("best", this.best, this.bestLabels[this.best]);
    this.limit("so_far", this.returns.length - 1);
    set("so_far", this.soFar, this.returns.length ? labels(this.returns)[this.soFar] : "");
  }

  says() {
    const says = element("says");
    const { frame } = this;
    if (frame && frame.end) {
      const ends = typeof frame.total === "string" ? `is ${frame.total}` : `ends with ${shown(frame.total)}`;
      const still = frame.better ? "the best so far" : `the best is still ${shown(frame.best)}`;
      says.textContent = `Try ${frame.rollout + 1} of ${problem.k} ${ends}: ${still}.${frame.stops ? " The plan stops here." : ""}`;
      element("call").textContent = frame.skipped ? `${frame.skipped} steps in which the best so far could not be improved are skipped` : "";
      return;
    }
    const rollout = frame ? frame.rollout : this.asked.rollouts[this.rollout];
    const best = frame ? frame.best : this.asked.bests[this.best];
    const soFar = frame ? frame.soFar : this.returns[this.soFar];
    const [knownBest, knownSoFar] = frame ? [frame.knownBest, frame.knownSoFar] : [best, soFar]; // what the policy remembers
    const before = `Try ${rollout + 1} of ${problem.k}, ${best === null ? "no result yet" : `best so far ${shown(best)}`}`;
    element("call").textContent = "";
    if (this.place === undefined && !frame) {
      const why = this.asked.all ? "no try can be" : "this page does not hold the action";
      says.textContent = `${before}: ${why} in ${states[this.state]} at step ${this.step}.`;
      return;
    }
    if (!frame && best !== null && problem.stop_at !== null && best >= problem.stop_at) {
      says.textContent = `${before}: `;
      const stops = document.createElement("b");
      stops.textContent = "stops, and makes no more tries.";
      says.append(stops);
      return;
    }
    const action = frame ? frame.action : this.asked.action(this.place, this.rollout, this.soFar, this.best);
    says.textContent = `${before}, this try ${shown(soFar)} at step ${this.step} in ${states[this.state]}: `;
    const does = document.createElement("b");
    const givesUp = action === problem.n_actions; // the one after the last
    does.textContent = action === null ? "whatever it does" : givesUp ? "abandons this try" : `takes ${problem.actions[action]}`;
    const lost = frame ? frame.lost : action === null;
    says.append(does, lost ? ", but this try cannot beat that any more." : ".");
    element("call").textContent =
      `policy.action(rollout=${rollout}, step=${this.step}, state=${this.state}, best=${knownBest === null ? "-math.inf" : knownBest}, so_far=${knownSoFar})` +
      (action === null ? "" : ` == ${givesUp ? "mk.ABANDON" : action}`);
  }

  async map(besides) {
    const { asked, place, returns } = this;
    const rows = [];
    const seen = new Set(besides); // actions, for the legend
    const names = labels(returns);
    if (place !== undefined) {
      returns.forEach((_, g) => asked.bests.forEach((_, m) => {
        const action = asked.action(place, this.rollout, g, m);
        const a = action ?? -1;
        const [M, G, name] = [this.bestLabels[m], names[g], actionName(action)];
        seen.add(a);
        rows.push({
          M, G, m, g, a, action: name, sign: action === null ? "" : signs[action], ink: inks[a] ?? "currentColor", says: `M ${M}, G ${G}: ${name}`,
          now: g === this.soFar && m === this.best,
        });
      }));
    }
    this.legend(seen);
    element("map-caption").textContent = place === undefined ? "" :
      `In ${states[this.state]} at step ${this.step} of try ${this.kept + 1}: what the plan does, by M and G. ` +
      "The frame is where the sliders stand." + this.nearestKept() +
      (asked.rounds ? " This policy remembers rounded rewards: here M and G are sums of those." : "");
    element("map").hidden = place === undefined;
    const view = this.views.map.height(Math.min(70 + 24 * returns.length, 420));
    await view.signal("Ms", this.bestLabels).signal("Gs", names).data("map", rows).resize().runAsync();
  }

  // The try that map and grid are for.
  get kept() {
    return this.asked.rollouts[this.rollout];
  }

  // Where that is not the one that the player plays.
  nearestKept() {
    if (!this.frame || this.frame.rollout === this.kept) return "";
    return ` (Of ${problem.k} tries this page keeps ${this.asked.rollouts.length}; this is the nearest to try ${this.frame.rollout + 1}.)`;
  }

  legend(seen) {
    element("legend").replaceChildren(...[...seen].sort((x, y) => (x < 0) - (y < 0) || x - y).map((a) => {
      const item = document.createElement("li");
      const swatch = document.createElement("span");
      swatch.style.background = a < 0 ? "var(--any)" : colours[a];
      swatch.style.color = a < 0 ? "inherit" : inks[a];
      swatch.textContent = a < 0 ? "" : signs[a];
      item.append(swatch, actionName(a < 0 ? null : a));
      return item;
    }));
  }

  // Squares of the grid stay squares.
  square() {
    this.side = Math.min(element("grid").clientWidth / grid.columns, (0.6 * window.innerHeight) / grid.rows, 64);
    this.views.grid.width(this.side * grid.columns).height(this.side * grid.rows);
    this.grid();
  }

  // What is done in a state now; where no try can be there now, as soon as one can.
  done(s) {
    const { asked } = this;
    const now = asked.place(this.step, s);
    const place = now ?? asked.firstPlace.get(s);
    const returns = asked.returns(place);
    const g = now === undefined ? returns.length - 1 : nearest(returns, this.returns[this.soFar] ?? 0);
    return { now: now !== undefined, action: asked.action(place, this.rollout, g, this.best), step: asked.step[place], soFar: returns[g] };
  }

  // The states that are no cells, in the colours of what is done in them, with the lines along which that leads; the actions.
  graph() {
    if (!element("graph")) return [];
    const taken = new Map(); // [state] its action
    document.querySelectorAll("#graph [data-state]").forEach((node) => {
      const s = Number(node.dataset.state);
      const { now, action } = this.done(s);
      taken.set(s, action);
      node.style.setProperty("--does", action === null ? "var(--any)" : colours[action]);
      node.style.setProperty("--on", action === null ? "var(--ink)" : inks[action]);
      node.classList.toggle("idle", action === null);
      node.classList.toggle("later", !now);
      node.classList.toggle("here", s === this.state && !(this.frame && this.frame.end));
      node.querySelector("title").textContent = `${states[s]}: ${actionName(action)}`;
    });
    document.querySelectorAll("#graph [data-from]").forEach((line) => {
      const action = taken.get(Number(line.dataset.from));
      line.classList.toggle("on", line.dataset.actions.split(" ").includes(String(action)));
    });
    element("graph-caption").textContent =
      `States: what the plan does on try ${this.kept + 1} with this best so far: now, at step ${this.step}, or (faint) as soon as a try can be ` +
      "there. Strong lines: the states that it may lead to; the frame: the state of this try. A state without lines ends the try." + this.nearestKept();
    return [...taken.values()].map((action) => action ?? -1);
  }

  // Cells and something else: the sheet of the present state, with what is done in each of its cells; the actions.
  sheet(chosen = sheets ? sheets.states.findIndex((some) => some.includes(this.state)) : -1) {
    if (!sheets) return [];
    const drawn = (name, attributes, text = "") => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.textContent = text;
      return made;
    };
    const taken = [];
    const marks = sheets.states[chosen].flatMap((s, n) => {
      const [x, y] = [10 * (n % sheets.columns), 10 * Math.floor(n / sheets.columns)];
      const known = s >= 0 && this.asked.firstPlace.has(s);
      const here = s === this.state && !(this.frame && this.frame.end);
      const cell = drawn("rect", { x: x + 0.3, y: y + 0.3, width: 9.4, height: 9.4, rx: 1.2, class: `${known ? "ground" : "wall"}${here ? " here" : ""}` });
      if (!known) return [cell];
      const { now, action } = this.done(s);
      taken.push(action ?? -1);
      cell.append(drawn("title", {}, `${states[s]}: ${actionName(action)}`));
      cell.addEventListener("click", () => this.choose(() => this.visit(s)));
      const [down, right] = action === null || !sheets.towards[action] ? [0, 0] : sheets.towards[action];
      const shade = now ? 1 : 0.45;
      if (action === null) return [cell, drawn("circle", { cx: x + 5, cy: y + 5, r: 0.8, fill: "var(--soft)", opacity: shade })];
      if (!down && !right) {
        return [cell, drawn("circle", { cx: x + 5, cy: y + 5, r: 3.4, fill: colours[action], opacity: shade }),
          drawn("text", { x: x + 5, y: y + 6.6, "font-size": 4.6, "text-anchor": "middle", style: `fill: ${inks[action]}` }, signs[action])];
      }
      const turn = (Math.atan2(down, right) * 180) / Math.PI;
      return [cell, drawn("path", { d: "M-3,-.9H.2V-2.6L3.4,0L.2,2.6V.9H-3Z", fill: colours[action], opacity: shade, transform: `translate(${x + 5} ${y + 5}) rotate(${turn})` })];
    });
    element("sheet-map").replaceChildren(...marks);
    element("sheet-map").setAttribute("aria-label", `What the plan does: ${sheets.titles[chosen]}`);
    element("sheet").value = chosen;
    element("sheet-caption").textContent =
      `What the plan does on try ${this.kept + 1} with this best so far: now, at step ${this.step}, or (faint) as soon as a try can be there.` + this.nearestKept();
    return taken;
  }

  async grid() {
    if (!grid || !this.side) return; // which it has as soon as it is laid out
    const { asked, frame } = this;
    const cell = (s, share) => ({ row: Math.floor(s / grid.columns), column: s % grid.columns, size: (share * this.side) ** 2 });
    const arrows = [];
    for (const s of asked.firstPlace.keys()) {
      const { now, action, step, soFar } = this.done(s);
      const [down, right] = action === null ? [0, 0] : grid.towards[action];
      arrows.push({
        ...cell(s, 0.55), a: action ?? -1, action: actionName(action), state: states[s], step,
        G: shown(soFar), says: `${states[s]}: ${actionName(action)}`, opacity: now ? 1 : 0.4,
        shape: down || right ? "arrow" : "circle", angle: (Math.atan2(right, -down) * 180) / Math.PI,
      });
    }
    const trails = [];
    const falls = [];
    for (const trail of frame ? frame.trails : []) {
      const now = trail.rollout === frame.rollout;
      let line = 0; // a fall ends one, and the next begins where it leads
      trail.steps.forEach(([s, via, over], n) => {
        trails.push({ ...cell(s, 0), n: 2 * n, line: `${trail.rollout} ${line}`, now });
        if (via === null) return;
        trails.push({ ...cell(via, 0), n: 2 * n + 1, line: `${trail.rollout} ${line}`, now });
        if (!grid.goals.includes(via)) falls.push({ ...cell(via, 0.5), opacity: now ? 1 : 0.3 });
        if (!over) line += 1;
      });
    }
    element("grid-caption").textContent =
      `Arrows: what the plan does on try ${this.kept + 1} with this best so far: now, at step ${this.step}, or (faint) as soon as a try can be ` +
      "there." + this.nearestKept();
    const here = frame && frame.end ? [] : [cell(this.state, 0.8)];
    await this.views.grid.data("arrows", arrows).data("trails", trails).data("falls", falls).data("here", here).runAsync();
  }
}
