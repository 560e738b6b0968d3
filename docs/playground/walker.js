// A walker who plays K tries of the plan on a board, one step after the other, and what has come of them.
"use strict";

function makeWalker({ shown, chips, line, button, again }) {
  const STEP = 130; // milliseconds
  const { make, svg, number, corner } = Draw;
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  const dot = svg("circle", { r: 3, class: "pg-walker" });
  const trail = svg("polyline", { class: "pg-trail" });
  let session = { tries: [], best: -Infinity, stopped: false };
  let k = 0;
  let at = { i: 0, step: 0 };
  let timer = null;

  const centre = (s) => corner(s, shown.columns).map((x) => x + 5);
  const goal = () => centre(Number(shown.goal));

  function path({ steps }, count) {
    const points = steps.slice(0, count).map(([s]) => centre(s));
    const last = steps[count - 1];
    if (count > 0) points.push(last[2] < 0 ? goal() : centre(last[2]));
    else if (steps.length) points.push(centre(steps[0][0]));
    else points.push(centre(shown.start));
    return points;
  }

  // Of a try that is over: its return, or that it was given up.
  const result = (one) => (one.lost < 0 ? number(one.total, 0) : "✕");

  function show() {
    const { tries } = session;
    const one = tries[at.i];
    shown.above.replaceChildren();
    chips.replaceChildren(...Array.from({ length: k }, (_, i) => {
      const over = i < at.i || (i === at.i && one && at.step >= one.steps.length);
      const text = i < tries.length ? (over ? result(tries[i]) : i === at.i ? "…" : "") : over || at.i >= tries.length - 1 ? "–" : "";
      return make("li", { class: over && tries[i] && tries[i].lost < 0 && tries[i].total === tries[i].best ? "pg-best" : i === at.i ? "pg-now" : "" }, make("small", {}, `try ${i + 1}`), text || " ");
    }));
    if (!one) {
      line.textContent = "";
      return;
    }
    const points = path(one, at.step);
    trail.setAttribute("points", points.map((point) => point.join(",")).join(" "));
    const [x, y] = points[points.length - 1];
    dot.setAttribute("cx", x);
    dot.setAttribute("cy", y);
    dot.classList.toggle("pg-lost", one.lost >= 0 && at.step >= one.steps.length);
    shown.above.append(trail, dot);
    const before = at.i ? tries[at.i - 1].best : -Infinity;
    const so = before === -Infinity ? "no result yet" : `best so far ${number(before, 0)}`;
    const fell = at.step > 0 && one.steps[at.step - 1][3] < -1;
    const over = at.step >= one.steps.length;
    const end = at.i === tries.length - 1 && over;
    const what = fell ? "Fell: back to S. " : over ? (one.lost >= 0 ? `This try cannot beat ${number(before, 0)} any more. ` : `Arrived: ${number(one.total, 0)}. `) : "";
    const all = end ? ` Best of all: ${session.best === -Infinity ? "none" : number(session.best, 0)}.${session.stopped ? " Another try is not worth its cost: stop." : ""}` : "";
    line.textContent = `Try ${at.i + 1} of ${k}, ${so}. ${what}${all}`;
  }

  function tick() {
    const one = session.tries[at.i];
    if (!one) return stop();
    const end = at.step >= one.steps.length;
    if (!end) at = { i: at.i, step: at.step + 1 };
    else if (at.i + 1 < session.tries.length) at = { i: at.i + 1, step: 0 };
    else {
      stop();
      again(); // another wind, when this one has been looked at
      return undefined;
    }
    show();
    const now = session.tries[at.i];
    const over = at.step >= now.steps.length;
    timer = setTimeout(tick, over ? (at.i + 1 < session.tries.length ? 6 : 22) * STEP : STEP);
    return undefined;
  }

  function stop() {
    clearTimeout(timer);
    timer = null;
    button.setAttribute("aria-pressed", "false");
    button.textContent = "Play";
  }

  function go() {
    clearTimeout(timer);
    button.setAttribute("aria-pressed", "true");
    button.textContent = "Pause";
    timer = setTimeout(tick, STEP);
  }

  let wanted = !still.matches; // whether it walks by itself
  button.addEventListener("click", () => {
    wanted = timer === null;
    if (wanted) go();
    else stop();
  });

  return {
    // A new session, from its first step; one that does not walk by itself is shown with all of its results.
    play(found, tries) {
      stop();
      session = found;
      k = tries;
      const last = session.tries.length - 1;
      at = wanted || last < 0 ? { i: 0, step: 0 } : { i: last, step: session.tries[last].steps.length };
      show();
      if (wanted && session.tries.length) go();
    },
  };
}
