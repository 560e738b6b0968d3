// Plans the best of K tries in the browser, for the playground: exact but for rounding, small problems, no certificate.
//
// A problem is { horizon, start: [[chance, state]], table: table[state][action] = [[chance, next or -1, reward]] }.
// Curves U_i(m), what a best return m is worth before try i, are convex: between two returns where a third lies on the
// chord, all do. So few of them are computed, each by one sweep over (step, state, return so far).
"use strict";

const Planner = (() => {
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
    return { ...problem, S, rows, flat: flattened(rows), met: met(rows, problem), returns, index, most, totals };
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

  // Where a try can be at each step.
  function met(rows, { horizon, start }) {
    const found = [rows.map((_, s) => start.some(([, to]) => to === s))];
    for (let h = 1; h < horizon; h += 1) {
      const now = rows.map(() => false);
      rows.forEach((actions, s) => {
        if (found[h - 1][s]) for (const [, to] of actions.flat()) if (to >= 0) now[to] = true;
      });
      found.push(now);
    }
    return found;
  }

  // One try with a best so far of m: its value under a curve for what comes after it and, where asked for, its actions.
  function sweep(model, m, after, keep) {
    const { horizon, S, flat, returns, index, most } = model;
    const { first, chance, next, reward } = flat;
    const idle = after(m);
    let value = null; // [S + 1, returns of the next step], the last row for tries that are over
    const actions = [];
    for (let h = horizon; h >= 0; h -= 1) {
      const count = returns[h].length;
      const now = new Float64Array((S + 1) * count);
      for (let j = 0; j < count; j += 1) now[S * count + j] = after(Math.max(m, returns[h][j]));
      if (h === horizon) {
        for (let s = 0; s < S; s += 1) now.copyWithin(s * count, S * count);
        value = now;
        continue;
      }
      const taken = keep ? new Int16Array(S * count).fill(-1) : null; // -1: m cannot be beaten
      const width = returns[h + 1].length;
      for (let s = 0; s < S; s += 1) {
        if (!model.met[h][s]) continue;
        const beaten = m + 1e-9 - most[h][s]; // by returns above it
        for (let j = count - 1; j >= 0; j -= 1) {
          if (returns[h][j] <= beaten) {
            now.fill(idle, s * count, s * count + j + 1);
            break;
          }
          let best = -Infinity;
          for (let row = first.states[s]; row < first.states[s + 1]; row += 1) {
            let mean = 0;
            for (let o = first.rows[row]; o < first.rows[row + 1]; o += 1) {
              mean += chance[o] * value[next[o] * width + index[h][reward[o]][j]];
            }
            if (mean > best + 1e-12 * Math.abs(best) || best === -Infinity) {
              best = mean;
              if (taken) taken[s * count + j] = row - first.states[s];
            }
          }
          now[s * count + j] = best;
        }
      }
      value = now;
      if (keep) actions[h] = taken;
    }
    return { value: model.start.reduce((sum, [p, s]) => sum + p * value[s], 0), actions };
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
      if (chord(middle) - at(middle) <= slack) {
        for (let j = a + 1; j < b; j += 1) if (Number.isNaN(ys[j])) ys[j] = chord(j);
        return;
      }
      fill(a, middle);
      fill(middle, b);
    };
    at(0);
    at(xs.length - 1);
    fill(0, xs.length - 1);
    const place = new Map(xs.map((x, j) => [x, j]));
    return (m) => {
      const j = place.get(m);
      if (j !== undefined) return ys[j];
      return m >= xs[xs.length - 1] ? m : ys[0]; // below the least total a best return makes no difference
    };
  }

  // What each try before the last is worth, by the best so far; costs are per try, and one may stop once there is a result.
  function plan(problem, k, cost = 0) {
    const model = prepare(problem);
    const curves = []; // [i] before try i
    curves[k] = (m) => m;
    let sweeps = 0;
    for (let i = k - 1; i > 0; i -= 1) {
      curves[i] = curve(model, (m) => {
        sweeps += 1;
        return Math.max(m, sweep(model, m, curves[i + 1], false).value - cost);
      });
    }
    const value = sweep(model, -Infinity, curves[1], false).value - cost;
    return { model, k, cost, curves, value, sweeps: sweeps + 1 };
  }

  // What one try does, with a best so far of m (-Infinity for none): visits[s][a] while there is something left to win, and
  // its returns.
  function walk(found, i, m) {
    const { model } = found;
    const { actions } = sweep(model, m, found.curves[i + 1], true);
    const least = worthWinning(model.totals, m, found.curves[i + 1]);
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
    const model = prepare(problem);
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
      .filter(([, p]) => p > 0).map(([turn, p]) => [p, ...arrive(s, (a + turn) % 4)])));
    return { horizon, start: [[1, start]], table };
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

  return { plan, walk, repeated, cliff, attempts, choices };
})();
