// Plans the best of K tries in the browser, for the playground: exact but for rounding, small problems, no certificate.
//
// A problem is { horizon, start: [[chance, state]], table: table[state][action] = [[chance, next or -1, reward]] }.
// Curves U_i(m), what a best return m is worth before try i, are convex: between two returns where a third lies on the
// chord, all do. So few of them are computed, each by one sweep over (step, state, return so far). A curve depends on how many
// tries are left and not on K, so that one list of them serves every K.
//
// All of it is one function, so that a worker can be made from its text: see thread.js.
"use strict";

function makePlanner() {
  const ON_CHORD = 1e-11; // how far below its chord a return may lie and count as on it, relative to the range

  // What is the same for all tries: the returns that can be met at each step, and what can still be had.
  function prepare(problem) {
    const { horizon, table } = problem;
    const S = table.length;
    const rewards = [...new Set(table.flat(2).map(([, , r]) => r))];
    const tidy = (x) => Number(x.toPrecision(13)); // 0.1 + 0.2 is 0.3
    const returns = [[0]]; // [h] rising
    const index = []; // [h] of each reward, the place of each return in the next list
    for (let h = 0; h < horizon; h += 1) {
      const after = [...new Set(returns[h].flatMap((g) => rewards.map((r) => tidy(g + r))))].sort((x, y) => x - y);
      const place = new Map(after.map((g, j) => [g, j]));
      index.push(rewards.map((r) => Int32Array.from(returns[h], (g) => place.get(tidy(g + r)))));
      returns.push(after);
    }
    const kind = new Map(rewards.map((r, j) => [r, j]));
    const rows = table.map((actions) => actions.map((row) => row.map(([p, next, r]) => [p, next, r, kind.get(r)])));
    const most = Array.from({ length: horizon + 1 }, () => new Float64Array(S)); // [h][s] the most still to come
    for (let h = horizon - 1; h >= 0; h -= 1) {
      for (let s = 0; s < S; s += 1) {
        most[h][s] = Math.max(...rows[s].flat().map(([, next, r]) => r + (next < 0 ? 0 : most[h + 1][next])));
      }
    }
    const ends = new Set(returns[horizon]); // of whole tries
    for (let h = 0; h < horizon; h += 1) {
      const over = [...new Set(rows.flat(2).filter(([, next]) => next < 0).map(([, , r]) => r))];
      for (const g of returns[h]) for (const r of over) ends.add(tidy(g + r));
    }
    const top = Math.max(...problem.start.map(([, s]) => most[0][s]));
    const totals = [...ends].filter((g) => g <= top + 1e-9).sort((x, y) => x - y);
    const total = new Map(totals.map((g, j) => [g, j]));
    const ended = returns.map((list) => Int32Array.from(list, (g) => total.get(g) ?? -1)); // the place of each among totals
    // Values of a step, in one array for all sweeps: a row for each state, and one for tries that are over. After the last step
    // all are over, and one row is enough.
    const values = returns.map((list, h) => new Float64Array((h < horizon ? S + 1 : 1) * list.length));
    const lows = returns.map(() => new Int32Array(S + 1)); // from which return on each state's cells are written there
    const means = new Float64Array(returns[horizon].length);
    const sorted = returns.map((list) => Float64Array.from(list));
    return { ...problem, S, rows, flat: flattened(rows), met: met(rows, problem, index), returns, sorted, index, most, totals, ended, values, lows, means };
  }

  // The rows one after the other, in typed arrays; S is where tries are over.
  function flattened(rows) {
    const first = { states: [0], rows: [0] };
    const [chance, next, reward] = [[], [], []];
    for (const actions of rows) {
      for (const row of actions) {
        for (const [p, to, , r] of row) {
          chance.push(p);
          next.push(to < 0 ? rows.length : to);
          reward.push(r);
        }
        first.rows.push(chance.length);
      }
      first.states.push(first.rows.length - 1);
    }
    return { first, chance: Float64Array.from(chance), next: Int32Array.from(next), reward: Int32Array.from(reward) };
  }

  // Where a try can be at each step: the places of the least and the greatest return that it can have there, [h][s]; the least is
  // above the greatest where it cannot be.
  function met(rows, { horizon, start }, index) {
    const never = () => ({ least: new Int32Array(rows.length).fill(1 << 30), greatest: new Int32Array(rows.length).fill(-1) });
    const found = [never()];
    for (const [, s] of start) found[0].least[s] = found[0].greatest[s] = 0;
    for (let h = 1; h < horizon; h += 1) {
      const [before, now] = [found[h - 1], never()];
      rows.forEach((actions, s) => {
        if (before.greatest[s] < 0) return;
        for (const [, to, , r] of actions.flat()) {
          if (to < 0) continue;
          now.least[to] = Math.min(now.least[to], index[h - 1][r][before.least[s]]);
          now.greatest[to] = Math.max(now.greatest[to], index[h - 1][r][before.greatest[s]]);
        }
      });
      found.push(now);
    }
    return found;
  }

  // The place of the first number above a bound, in a rising list.
  function firstAbove(list, bound) {
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] <= bound) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // One try with a best so far of m: its value under a curve for what comes after it and, where asked for, its actions. Where m can
  // no longer be beaten nothing is written: such cells lie below `low`, and are worth what m is.
  function sweep(model, m, after, keep) {
    const { horizon, S, flat, sorted, index, most, ended, values, lows, means } = model;
    const { first, chance, next, reward } = flat;
    const idle = after(m);
    const actions = [];
    for (let h = horizon; h >= 0; h -= 1) {
      const [here, now, low] = [sorted[h], values[h], lows[h]];
      const [count, over] = [here.length, h === horizon ? 0 : S * here.length];
      low[h === horizon ? 0 : S] = firstAbove(here, m);
      for (let j = firstAbove(here, m); j < count; j += 1) now[over + j] = ended[h][j] < 0 ? after(here[j]) : after.values[ended[h][j]];
      if (h === horizon) continue;
      const taken = keep ? new Int16Array(S * count).fill(-1) : null; // -1: m cannot be beaten
      const [there, lowThere, places] = [values[h + 1], lows[h + 1], index[h]];
      const last = h + 1 === horizon; // then all states have one row
      const width = last ? 0 : sorted[h + 1].length;
      const { least, greatest } = model.met[h];
      for (let s = 0; s < S; s += 1) {
        if (greatest[s] < 0) continue;
        const end = greatest[s] + 1;
        const begin = Math.max(firstAbove(here, m + 1e-9 - most[h][s]), least[s]);
        low[s] = begin;
        const at = s * count;
        const [firstRow, endRow] = [first.states[s], begin < end ? first.states[s + 1] : first.states[s]];
        for (let row = firstRow; row < endRow; row += 1) {
          means.fill(0, begin, end);
          for (let o = first.rows[row]; o < first.rows[row + 1]; o += 1) {
            const [p, from, place, beaten] = [chance[o], next[o] * width, places[reward[o]], lowThere[last ? 0 : next[o]]];
            for (let j = begin; j < end; j += 1) means[j] += p * (place[j] < beaten ? idle : there[from + place[j]]);
          }
          for (let j = begin; j < end; j += 1) {
            if (row === firstRow || means[j] > now[at + j] + 1e-12 * Math.abs(now[at + j])) {
              now[at + j] = means[j];
              if (taken) taken[at + j] = row - firstRow;
            }
          }
        }
      }
      if (keep) actions[h] = taken;
    }
    return { value: model.start.reduce((sum, [p, s]) => sum + p * (lows[0][s] > 0 ? idle : values[0][s]), 0), actions };
  }

  // A convex curve over the totals, from few of its values.
  function curve(model, value) {
    const xs = model.totals;
    const ys = new Float64Array(xs.length).fill(NaN);
    const at = (j) => (Number.isNaN(ys[j]) ? (ys[j] = value(xs[j])) : ys[j]);
    const slack = ON_CHORD * Math.max(1, xs[xs.length - 1] - xs[0]);
    const fill = (a, b) => {
      if (b - a < 2) return;
      const middle = (a + b) >> 1;
      const chord = (j) => at(a) + ((at(b) - at(a)) * (xs[j] - xs[a])) / (xs[b] - xs[a]);
      if (at(b) - at(a) <= slack || chord(middle) - at(middle) <= slack) { // curves never fall
        for (let j = a + 1; j < b; j += 1) if (Number.isNaN(ys[j])) ys[j] = chord(j);
        return;
      }
      fill(a, middle);
      fill(middle, b);
    };
    // From the top, where sweeps are quick, down to where the curve is flat.
    let high = xs.length - 1;
    for (let few = 32; high > 0 && at(high) - at(0) > slack; few *= 2) {
      const low = Math.max(high - few, 0);
      fill(low, high);
      high = low;
    }
    fill(0, high);
    const place = new Map(xs.map((x, j) => [x, j]));
    const of = (m) => {
      const j = place.get(m);
      if (j !== undefined) return ys[j];
      return m >= xs[xs.length - 1] ? m : ys[0]; // below the least total a best return makes no difference
    };
    return Object.assign(of, { values: ys });
  }

  // Plans of one problem at one cost per try, for any k; one may stop once there is a result.
  function family(problem, cost = 0) {
    const model = prepare(problem);
    const itself = Object.assign((m) => m, { values: Float64Array.from(model.totals) });
    return { model, cost, left: [itself] }; // left[n](m): the value of a best so far of m with n tries left
  }

  function planned(plans, k) {
    const { model, cost, left } = plans;
    for (let n = left.length; n < k; n += 1) {
      left.push(curve(model, (m) => Math.max(m, sweep(model, m, left[n - 1], false).value - cost)));
    }
    return { model, k, cost, curves: Array.from({ length: k }, (_, i) => left[k - 1 - i]), value: sweep(model, -Infinity, left[k - 1], false).value - cost };
  }

  // curves[i](m): the value of a best return of m after try i.
  function plan(problem, k, cost = 0) {
    return planned(family(problem, cost), k);
  }

  // What one try does, with a best so far of m (-Infinity for none): visits[s][a] while there is something left to win, and
  // its returns.
  function walk(found, i, m) {
    const { model } = found;
    const { actions } = sweep(model, m, found.curves[i], true);
    const least = worthWinning(model.totals, m, found.curves[i]);
    const wins = (h, s, j) => model.returns[h][j] + model.most[h][s] > least + 1e-9;
    return follow(model, (h, s, j) => actions[h][s * model.returns[h].length + j], wins);
  }

  // The greatest return that a try may have and yet gain less than a hundredth of what the best one would.
  function worthWinning(totals, m, after) {
    const low = after(Math.max(m, totals[0]));
    const enough = low + 0.01 * (after(totals[totals.length - 1]) - low);
    return Math.max(m, ...totals.filter((g) => after(Math.max(m, g)) <= enough));
  }

  // The try of a given rule: rule(step, state, place of the return) is an action, or -1 for any; visits count where wins says so.
  function follow(model, rule, wins = () => true) {
    const { horizon, S, rows, returns, index } = model;
    const visits = rows.map((actions) => actions.map(() => 0));
    const law = new Map();
    const end = (g, p) => law.set(g, (law.get(g) ?? 0) + p);
    let here = new Map(model.start.map(([p, s]) => [s, p])); // place * S + state -> chance
    for (let h = 0; h < horizon; h += 1) {
      const next = new Map();
      for (const [key, p] of here) {
        const [s, j] = [key % S, Math.floor(key / S)];
        const a = rule(h, s, j);
        if (a >= 0 && wins(h, s, j)) visits[s][a] += p;
        for (const [q, after, , r] of rows[s][Math.max(a, 0)]) {
          const k = index[h][r][j];
          if (after < 0 || h === horizon - 1) end(returns[h + 1][k], p * q);
          else next.set(k * S + after, (next.get(k * S + after) ?? 0) + p * q);
        }
      }
      here = next;
    }
    return { visits, law: [...law].sort(([x], [y]) => x - y) };
  }

  // The policy with the best mean, repeated: what the best of k of its tries is worth.
  function repeated(problem, k, cost = 0) {
    return repeatedIn(prepare(problem), k, cost);
  }

  function repeatedIn(model, k, cost) {
    const { horizon, S, rows } = model;
    const actions = [];
    let value = new Float64Array(S);
    for (let h = horizon - 1; h >= 0; h -= 1) {
      const now = new Float64Array(S);
      actions[h] = new Int16Array(S);
      for (let s = 0; s < S; s += 1) {
        const means = rows[s].map((row) => row.reduce((sum, [p, next, r]) => sum + p * (r + (next < 0 ? 0 : value[next])), 0));
        now[s] = Math.max(...means);
        actions[h][s] = means.findIndex((mean) => mean >= now[s] - 1e-12 * Math.abs(now[s]));
      }
      value = now;
    }
    const { law } = follow(model, (h, s) => actions[h][s]);
    // Stopping at a best so far of m is right as soon as one more try of the same kind does not pay.
    let worth = (m) => m;
    for (let i = k - 1; i > 0; i -= 1) {
      const later = worth;
      const known = new Map();
      worth = (m) => {
        if (!known.has(m)) known.set(m, Math.max(m, law.reduce((sum, [g, p]) => sum + p * later(Math.max(m, g)), 0) - cost));
        return known.get(m);
      };
    }
    return { value: law.reduce((sum, [g, p]) => sum + p * worth(g), 0) - cost, mean: law.reduce((sum, [g, p]) => sum + p * g, 0) };
  }

  // One session: tries of a plan with the wind that draw() brings, numbers in [0, 1). A try is its states and actions, where
  // it fell, its return, and from which step on it could no longer be better than the best so far (-1: until its end).
  function play(found, draw) {
    const { model, k, cost, curves } = found;
    const { horizon, returns, index, rows } = model;
    const pick = (outcomes) => {
      let u = draw();
      return outcomes.find(([p]) => (u -= p) < 0) ?? outcomes[outcomes.length - 1];
    };
    const tries = [];
    let best = -Infinity;
    for (let i = 0; i < k; i += 1) {
      const { value, actions } = sweep(model, best, curves[i], true);
      if (best > -Infinity && value - cost <= best + 1e-12 && cost > 0) return { tries, best, stopped: true };
      const steps = [];
      let [s, j, lost, g] = [pick(model.start)[1], 0, -1, 0];
      for (let h = 0; h < horizon && s >= 0; h += 1) {
        const a = actions[h][s * returns[h].length + j];
        if (a < 0) {
          lost = h;
          break;
        }
        const [, next, reward, kind] = pick(rows[s][a]);
        steps.push([s, a, next, reward]);
        j = index[h][kind][j];
        g = returns[h + 1][j];
        s = next;
      }
      if (lost < 0) best = Math.max(best, g);
      tries.push({ steps, lost, total: g, best });
    }
    return { tries, best, stopped: false };
  }

  // A grid with a wind: cells of "S", "G", "#" (a cliff: a fall costs 100, and leads back to S) and "." (a step costs 1).
  function cliff(cells, slip, horizon) {
    const [rows, columns] = [cells.length, cells[0].length];
    const flat = cells.join("");
    const start = flat.indexOf("S");
    const moves = [[-1, 0], [0, 1], [1, 0], [0, -1]];
    const arrive = (s, direction) => {
      const row = Math.min(Math.max(Math.floor(s / columns) + moves[direction][0], 0), rows - 1);
      const column = Math.min(Math.max((s % columns) + moves[direction][1], 0), columns - 1);
      const to = row * columns + column;
      if (flat[to] === "#") return [start, -100];
      return [flat[to] === "G" ? -1 : to, -1];
    };
    const table = [...flat].map((_, s) => moves.map((_, a) => [[0, 1 - slip], [1, slip / 2], [3, slip / 2]]
      .filter(([, p]) => p > 0).map(([turn, p]) => [p, ...arrive(s, (a + turn) % 4)])).map(merged));
    return { horizon, start: [[1, start]], table };
  }

  // Outcomes that lead to the same as one.
  function merged(row) {
    const sums = new Map();
    for (const [p, next, r] of row) {
      const same = `${next} ${r}`;
      if (sums.has(same)) sums.get(same)[0] += p;
      else sums.set(same, [p, next, r]);
    }
    return [...sums.values()];
  }

  // Attempts of one step: arms[a] = [[chance, score]].
  function attempts(arms) {
    return { horizon: 1, start: [[1, 0]], table: [arms.map((arm) => arm.map(([p, score]) => [p, -1, score]))] };
  }

  // Which arm to try by the best so far and how many tries are left, where arms differ in cost; -1 to stop.
  function choices(arms, costs, k) {
    const scores = [...new Set(arms.flat().map(([, x]) => x))].sort((x, y) => x - y);
    let curve = (m) => m;
    const table = []; // [tries left - 1] of each best so far, and of none: { arm, value }
    for (let left = 1; left <= k; left += 1) {
      const later = curve;
      const decide = (m) => {
        let best = m > -Infinity ? { arm: -1, value: m } : { arm: -1, value: -Infinity };
        arms.forEach((arm, a) => {
          const value = arm.reduce((sum, [p, x]) => sum + p * later(Math.max(m, x)), 0) - costs[a];
          if (value > best.value + 1e-12) best = { arm: a, value };
        });
        return best;
      };
      const row = new Map([-Infinity, ...scores].map((m) => [m, decide(m)]));
      table.push(row);
      curve = (m) => row.get(m).value;
    }
    return { scores, table, value: table[k - 1].get(-Infinity).value };
  }

  // How few steps lead from S to G where no wind blows; Infinity if the cliff bars every way.
  function shortest(cells) {
    const { start, table } = cliff(cells, 0, 1);
    const from = start[0][1];
    const seen = new Map([[from, 0]]);
    for (const s of seen.keys()) {
      for (const [[, next, reward]] of table[s]) {
        if (reward < -1) continue;
        if (next < 0) return seen.get(s) + 1;
        if (!seen.has(next)) seen.set(next, seen.get(s) + 1);
      }
    }
    return Infinity;
  }

  // What the playground shows of a cliff. What it has planned is kept while cells, wind and cost stay as they are.
  const kept = { key: "", plans: null, found: new Map() };

  function planFor({ cells, slip, horizon, cost, k }) {
    const key = JSON.stringify([cells, slip, horizon, cost]);
    if (kept.key !== key) {
      kept.key = key;
      kept.plans = family(cliff(cells, slip, horizon), cost);
      kept.found.clear();
    }
    if (!kept.found.has(k)) kept.found.set(k, { plan: planned(kept.plans, k), repeated: repeatedIn(kept.plans.model, k, cost), walks: new Map() });
    return kept.found.get(k);
  }

  // The numbers of a plan and what its tries do: the first, the last without a result, the last with the result that is
  // `behind` places below the best there can be.
  function shown(asked) {
    const { cells, horizon, k, cost, behind } = asked;
    if (shortest(cells) > horizon) return { reachable: false };
    const { plan: found, repeated: mean, walks } = planFor(asked);
    const { totals } = found.model;
    const m = totals[Math.max(totals.length - 1 - behind, 0)];
    const moment = (i, best) => {
      const key = `${i} ${best}`;
      if (!walks.has(key)) walks.set(key, walk(found, i, best));
      return { i, best, ...walks.get(key) };
    };
    const last = k - 1;
    const moments = k > 1 ? [moment(0, -Infinity), moment(last, -Infinity), moment(last, m)] : [moment(0, -Infinity)];
    const stops = k > 1 && cost > 0 && found.curves[last - 1](m) <= m + 1e-12;
    return { reachable: true, value: found.value, repeated: mean.value, once: mean.mean - cost, top: totals[totals.length - 1] - cost, m, moments, stops };
  }

  function session(asked) {
    if (shortest(asked.cells) > asked.horizon) return { tries: [], best: -Infinity, stopped: false };
    let seed = asked.seed >>> 0;
    const draw = () => { // mulberry32: the same seed is the same wind
      seed = (seed + 0x6d2b79f5) >>> 0;
      let x = Math.imul(seed ^ (seed >>> 15), seed | 1);
      x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
      return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
    };
    return play(planFor(asked).plan, draw);
  }

  return { plan, walk, repeated, cliff, attempts, choices, play, shortest, shown, session };
}

const Planner = makePlanner();
