// What the page knows: numbers and their labels, and what the plan does at a great many moments.
"use strict";

const page = JSON.parse(document.getElementById("data").textContent);
const { problem, moments, trials, states, grid, colours, inks, sheets } = page;
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
  const moves = grid ?? sheets;
  if (moves) {
    const initials = problem.actions.map((name) => [...name][0].toUpperCase());
    const still = (a) => (initials.filter((other, b) => other === initials[a] && !moves.towards[b].some(Boolean)).length > 1 ? String(a) : initials[a]);
    const arrows = moves.towards.map(([down, right], a) => (right > 0 ? "→" : right < 0 ? "←" : down > 0 ? "↓" : down < 0 ? "↑" : grid ? "·" : still(a)));
    if (new Set(arrows).size === arrows.length) return arrows;
  }
  const letters = problem.actions.map((name) => [...name][0].toUpperCase());
  return new Set(letters).size === letters.length ? letters : problem.actions.map((_, a) => String(a));
}
const signs = moments ? signsOfActions() : [];
