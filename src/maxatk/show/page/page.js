// Shows one moment of a plan (try, step, state, M, G): in words, on the map, on the grid. Sliders and the player choose it.
"use strict";

const page = JSON.parse(document.getElementById("data").textContent);
const { problem, moments, trials, states, grid, colours } = page;
const element = (id) => document.getElementById(id);
const NOTHING = "none";

// --- numbers -----------------------------------------------------------------------------------------------------------

const minus = (text) => text.replaceAll("-", "−");
const shown = (x, digits = 6) => (x === null ? NOTHING : typeof x === "string" ? x : minus(String(Number(x.toPrecision(digits)))));

// Labels of some numbers, with as many digits as tell them apart.
function labels(values) {
  for (let digits = 6; digits < 17; digits += 1) {
    const found = values.map((x) => shown(x, digits));
    if (new Set(found).size === found.length) return found;
  }
  return values.map((x) => shown(x, 17));
}

function nearest(values, x) {
  if (x === null) return values[0] === null ? 0 : -1;
  let best = -1;
  values.forEach((y, j) => {
    if (y !== null && (best < 0 || Math.abs(y - x) < Math.abs(values[best] - x))) best = j;
  });
  return best;
}

async function unpacked(text, kind) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new kind(await new Response(stream).arrayBuffer());
}

// --- what the plan does ------------------------------------------------------------------------------------------------

// All moments that were asked about. A place is a step and a state; an index into the lists of places.
class Moments {
  constructor(asked, returns, actions) {
    const { rollouts, bests, step, state, counts, any, all, rounds } = asked;
    Object.assign(this, { rollouts, bests, step, state, counts, any, all, rounds });
    this.allReturns = returns;
    this.allActions = actions;
    this.places = new Map();
    this.firstReturn = [];
    this.firstAction = [];
    this.firstPlace = new Map(); // of each state: its earliest
    let g = 0;
    let a = 0;
    asked.step.forEach((h, place) => {
      const s = asked.state[place];
      this.places.set(h * problem.n_states + s, place);
      this.firstReturn.push(g);
      this.firstAction.push(a);
      g += asked.counts[place];
      a += asked.rollouts.length * asked.counts[place] * asked.bests.length;
      const known = this.firstPlace.get(s);
      if (known === undefined || asked.step[known] > h) this.firstPlace.set(s, place);
    });
    this.statesShown = [...this.firstPlace.keys()].sort((x, y) => x - y);
  }

  place(h, s) {
    return this.places.get(h * problem.n_states + s);
  }

  returns(place) {
    const first = this.firstReturn[place];
    return [...this.allReturns.subarray(first, first + this.counts[place])];
  }

  // The action at indices of rollout, return and best return; null where M cannot be beaten.
  action(place, rollout, g, m) {
    const at = this.firstAction[place] + (rollout * this.counts[place] + g) * this.bests.length + m;
    const found = this.allActions[at];
    return found === this.any ? null : found;
  }
}

const actionName = (a) => (a === null ? "M cannot be beaten" : problem.actions[a]);

// A sign for each action, where there is no room for its name: an arrow, a letter, or its number.
function signsOfActions() {
  if (grid) {
    const arrows = grid.towards.map(([down, right]) => (right > 0 ? "→" : right < 0 ? "←" : down > 0 ? "↓" : down < 0 ? "↑" : "·"));
    if (new Set(arrows).size === arrows.length) return arrows;
  }
  const letters = problem.actions.map((name) => [...name][0].toUpperCase());
  return new Set(letters).size === letters.length ? letters : problem.actions.map((_, a) => String(a));
}
const signs = moments ? signsOfActions() : [];

// --- the page ----------------------------------------------------------------------------------------------------------

async function embedded(name) {
  const holder = element(name);
  if (!holder) return null;
  const { view } = await vegaEmbed(holder, page.charts[name], { actions: false, renderer: "svg", tooltip: { theme: "custom" } });
  return view;
}

async function start() {
  const views = {};
  for (const name of Object.keys(page.charts)) views[name] = await embedded(name);
  if (moments) {
    const asked = new Moments(moments, await unpacked(moments.returns, Float64Array), await unpacked(moments.actions, Uint16Array));
    const shower = new Shower(asked, views);
    if (trials.length) new Player(shower);
    await shower.show();
  } else {
    document.documentElement.dataset.ready = "yes";
  }
}

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
    await Promise.all([this.map(), this.grid()]);
    if (turn === this.shows) document.documentElement.dataset.ready = "yes"; // what is drawn is what is said
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
      element("call").textContent = "";
      return;
    }
    const rollout = frame ? frame.rollout : this.asked.rollouts[this.rollout];
    const best = frame ? frame.best : this.asked.bests[this.best];
    const soFar = frame ? frame.soFar : this.returns[this.soFar];
    const [knownBest, knownSoFar] = frame ? [frame.knownBest, frame.knownSoFar] : [best, soFar]; // what the policy remembers
    const before = `Try ${rollout + 1} of ${problem.k}, ${best === null ? "nothing in hand" : `best so far ${shown(best)}`}`;
    element("call").textContent = "";
    if (this.place === undefined && !frame) {
      const why = this.asked.all ? "no try can be" : "this page does not know what is done";
      says.textContent = `${before}: ${why} in ${states[this.state]} at step ${this.step}.`;
      return;
    }
    const action = frame ? frame.action : this.asked.action(this.place, this.rollout, this.soFar, this.best);
    says.textContent = `${before}, this try ${shown(soFar)} at step ${this.step} in ${states[this.state]}: `;
    const does = document.createElement("b");
    const givesUp = action === problem.n_actions; // the one after the last
    does.textContent = action === null ? "whatever it does" : givesUp ? "gives this try up" : `takes ${problem.actions[action]}`;
    const lost = frame ? frame.lost : action === null;
    says.append(does, lost ? ", but this try cannot beat that any more." : ".");
    element("call").textContent =
      `policy.action(rollout=${rollout}, step=${this.step}, state=${this.state}, best=${knownBest === null ? "-math.inf" : knownBest}, so_far=${knownSoFar})` +
      (action === null ? "" : ` == ${givesUp ? "mk.ABANDON" : action}`);
  }

  async map() {
    const { asked, place, returns } = this;
    const rows = [];
    const seen = new Set();
    const names = labels(returns);
    if (place !== undefined) {
      returns.forEach((_, g) => asked.bests.forEach((_, m) => {
        const action = asked.action(place, this.rollout, g, m);
        const a = action ?? -1;
        const [M, G, name] = [this.bestLabels[m], names[g], actionName(action)];
        seen.add(a);
        rows.push({
          M, G, m, g, a, action: name, sign: action === null ? "" : signs[action], says: `M ${M}, G ${G}: ${name}`,
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

  async grid() {
    if (!grid || !this.side) return; // which it has as soon as it is laid out
    const { asked, frame } = this;
    const cell = (s, share) => ({ row: Math.floor(s / grid.columns), column: s % grid.columns, size: (share * this.side) ** 2 });
    const arrows = [];
    for (const [s, first] of asked.firstPlace) {
      // What is done there now; where no try can be there now, as soon as one can.
      const now = asked.place(this.step, s);
      const place = now ?? first;
      const returns = asked.returns(place);
      const g = now === undefined ? returns.length - 1 : nearest(returns, this.returns[this.soFar] ?? 0);
      const action = asked.action(place, this.rollout, g, this.best);
      const [down, right] = action === null ? [0, 0] : grid.towards[action];
      arrows.push({
        ...cell(s, 0.55), a: action ?? -1, action: actionName(action), state: states[s], step: asked.step[place],
        G: shown(returns[g]), says: `${states[s]}: ${actionName(action)}`, opacity: now === undefined ? 0.4 : 1,
        shape: down || right ? "arrow" : "circle", angle: (Math.atan2(right, -down) * 180) / Math.PI,
      });
    }
    const trails = [];
    for (const trail of frame ? frame.trails : []) {
      trail.states.forEach((s, n) => trails.push({ ...cell(s, 0), n, try: trail.rollout, now: trail.rollout === frame.rollout }));
    }
    element("grid-caption").textContent =
      `Arrows: what the plan does on try ${this.kept + 1} with this M in hand: now, at step ${this.step}, or (faint) as soon as a try can be ` +
      "there. Line: where this try went; faint lines: the tries before. Filled cells: no try goes on from there." + this.nearestKept();
    const here = [cell(this.state, 0.8)];
    await this.views.grid.data("arrows", arrows).data("trails", trails).data("here", here).runAsync();
  }
}

// Steps through a trial: frames are its moments, and the end of every try.
class Player {
  constructor(shower) {
    this.shower = shower;
    this.timer = null;
    shower.touched = () => this.pause();
    trials.forEach((trial, n) => {
      element("trial").add(new Option(`${n + 1}: best return ${shown(this.best(this.frames(trial)))}`, n));
    });
    const go = {
      first: () => this.go(0),
      back: () => this.go(this.at - 1),
      forward: () => this.go(this.at + 1),
      next: () => this.go(this.nextTry()),
    };
    for (const [id, step] of Object.entries(go)) {
      element(id).addEventListener("click", () => { this.pause(); step(); });
    }
    element("play").addEventListener("click", () => (this.timer ? this.pause() : this.play()));
    element("moment").addEventListener("input", () => { this.pause(); this.go(Number(element("moment").value)); });
    element("trial").addEventListener("change", () => { this.pause(); this.load(Number(element("trial").value)); });
    this.load(0);
  }

  // The moments of a trial, and of each try its end.
  frames(trial) {
    const frames = [];
    let rollout = 0;
    let step = 0;
    for (const [state, action, best, soFar, knownBest, knownSoFar, lost, total, better] of trial) {
      const frame = { rollout, step, state, action, best, soFar, knownBest, knownSoFar, lost, end: false };
      frames.push(frame);
      step += 1;
      if (total !== null) {
        frames.push({ ...frame, total, better, end: true });
        rollout += 1;
        step = 0;
      }
    }
    frames[frames.length - 1].stops = rollout < problem.k;
    return frames;
  }

  // The best return after some frames, with what was in hand at first.
  best(frames) {
    return frames.reduce((best, frame) => (frame.end && frame.better ? frame.total : best), frames[0].best);
  }

  load(n) {
    this.trial = this.frames(trials[n]);
    element("moment").max = this.trial.length - 1;
    this.go(0);
  }

  nextTry() {
    const next = this.trial.findIndex((frame, at) => at > this.at && frame.rollout > this.trial[this.at].rollout);
    return next < 0 ? this.trial.length - 1 : next;
  }

  go(at) {
    this.at = Math.min(Math.max(at, 0), this.trial.length - 1);
    const frame = this.trial[this.at];
    element("moment").value = this.at;
    element("moment").setAttribute("aria-valuetext", `${this.at + 1} of ${this.trial.length}`);
    this.tries(frame);
    return this.shower.follow({ ...frame, trails: this.trails(frame) });
  }

  // What the tries have come to so far: all of them, or the present one and the best.
  tries(now) {
    const past = this.trial.slice(0, this.at + 1);
    const ended = past.filter((frame) => frame.end);
    const best = this.best(past);
    const winners = ended.filter((frame) => frame.total === best).map((frame) => frame.rollout);
    const some = problem.k <= 20 ? [...Array(problem.k).keys()] : [...new Set([...winners.slice(0, 1), now.rollout])];
    element("tries").replaceChildren(...some.map((i) => {
      const item = document.createElement("li");
      const end = ended[i];
      item.textContent = end ? `try ${i + 1}: ${shown(end.total)}` : i === now.rollout ? `try ${i + 1}: ${shown(now.soFar)} so far` : `try ${i + 1}`;
      if (winners.includes(i)) {
        item.className = "best";
        item.textContent += " ★";
      }
      if (i === now.rollout) item.classList.add("now");
      return item;
    }));
  }

  // Where the present try went, and those before it.
  trails(now) {
    const trails = [];
    for (const frame of this.trial.slice(0, this.at + 1)) {
      if (frame.end || frame.rollout < now.rollout - 4) continue;
      if (!trails.length || trails[trails.length - 1].rollout !== frame.rollout) trails.push({ rollout: frame.rollout, states: [] });
      trails[trails.length - 1].states.push(frame.state);
    }
    return trails;
  }

  play() {
    if (this.at === this.trial.length - 1) this.go(0);
    this.button("⏸ pause", true);
    const delay = matchMedia("(prefers-reduced-motion: reduce)").matches ? 900 : 350;
    this.timer = setInterval(() => {
      this.go(this.at + 1);
      if (this.at === this.trial.length - 1) this.pause();
    }, delay);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.button("▶ play", false);
  }

  button(text, pressed) {
    element("play").textContent = text;
    element("play").setAttribute("aria-label", pressed ? "pause" : "play");
    element("play").setAttribute("aria-pressed", String(pressed));
  }
}

start();
