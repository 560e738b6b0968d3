// What is set in the playground, and its form in an address: only what differs from the beginning, so that most links are short.
"use strict";

const PlaygroundState = (() => {
  const BEGIN = {
    tab: "cliff",
    k: 5,
    wind: 20,
    cost: 0,
    best: 3, // how many places below the best possible return
    cells: ["............", "............", "............", "S##########G"],
    n: 4,
    scores: [0, 5, 10],
    arms: [
      { name: "plain prompt", chances: [20, 70, 10], cost: 0.1 },
      { name: "bold prompt", chances: [70, 0, 30], cost: 0.1 },
      { name: "large model", chances: [25, 40, 35], cost: 1 },
    ],
  };
  const RANGES = { k: [1, 10], wind: [0, 60], cost: [0, 4], best: [0, 20], n: [1, 10] };
  const MOST = 8; // arms, and scores, in an address
  const begin = () => structuredClone(BEGIN);

  // A map is its rows, "x" for the cliff: "#" would begin another address.
  const mapText = (cells) => cells.join("_").replaceAll("#", "x");
  const armsText = ({ scores, arms }) => [scores.join(","), ...arms.map((arm) => [arm.name.replaceAll(/[~|]/g, " "), arm.chances.join(","), arm.cost].join("~"))].join("|");

  function toAddress(state) {
    const query = new URLSearchParams();
    for (const name of ["tab", ...Object.keys(RANGES)]) if (state[name] !== BEGIN[name]) query.set(name, state[name]);
    if (mapText(state.cells) !== mapText(BEGIN.cells)) query.set("map", mapText(state.cells));
    if (armsText(state) !== armsText(BEGIN)) query.set("arms", armsText(state));
    return query.toString();
  }

  function readMap(text) {
    const rows = text.replaceAll("x", "#").split("_");
    const same = rows.length === BEGIN.cells.length && rows.every((row, n) => row.length === BEGIN.cells[n].length);
    const painted = same && rows.every((row, n) => [...row].every((kind, j) => ("SG".includes(BEGIN.cells[n][j]) ? kind === BEGIN.cells[n][j] : ".#".includes(kind))));
    return painted ? rows : null;
  }

  function readArms(text) {
    const numbers = (list) => list.split(",").map((x) => (x.trim() === "" ? NaN : Number(x)));
    const [first, ...rest] = text.split("|");
    const scores = numbers(first);
    const arms = rest.map((one) => one.split("~")).map(([name, chances = "", cost = ""]) => ({ name: name.slice(0, 60), chances: numbers(chances), cost: Number(cost) }));
    const sound = (x) => Number.isFinite(x) && x >= 0;
    const whole = scores.length > 0 && scores.length <= MOST && scores.every(Number.isFinite) && arms.length > 0 && arms.length <= MOST
      && arms.every((arm) => arm.chances.length === scores.length && arm.chances.every(sound) && sound(arm.cost));
    return whole ? { scores, arms } : null;
  }

  // What cannot be read is left as it was in the beginning.
  function fromAddress(text) {
    const query = new URLSearchParams(text);
    const state = begin();
    if (query.get("tab") === "attempts") state.tab = "attempts";
    for (const [name, [low, high]] of Object.entries(RANGES)) {
      const x = Number(query.get(name) ?? NaN);
      if (Number.isFinite(x)) state[name] = Math.min(Math.max(name === "cost" ? x : Math.round(x), low), high);
    }
    state.cells = readMap(query.get("map") ?? "") ?? state.cells;
    return { ...state, ...(readArms(query.get("arms") ?? "") ?? {}) };
  }

  return { begin, toAddress, fromAddress };
})();
