// What the playground draws: elements, dots on an axis, boards.
"use strict";

const Draw = (() => {
  const SIGNS = [[0, -1], [1, 0], [0, 1], [-1, 0]]; // up, right, down, left: across and down
  const NAMES = ["up", "right", "down", "left"];
  const COLOURS = ["#e69f00", "#56b4e9", "#009e73", "#cc79a7"]; // those that pages and figures give them
  const ARROW = "M-3,-0.9 H0.2 V-2.6 L3.4,0 L0.2,2.6 V0.9 H-3 Z";
  const number = (x, digits = 2) => x.toFixed(digits).replace("-", "−").replace(/^−(0(\.0*)?)$/, "$1");

  function make(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function svg(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Round numbers between two, a handful.
  function ticks(low, high) {
    const rough = (high - low) / 4;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = unit * [1, 2, 5, 10].find((n) => n * unit >= rough);
    const found = [];
    for (let n = Math.ceil(low / step); n * step <= high; n += 1) found.push(Number((n * step).toPrecision(12)));
    return found;
  }

  // Dots on an axis from what one try brings to the best possible: how much of that way repeating goes, and how much adapting.
  // `title` says what the axis shows; `room` is the width that there is, so that letters have their size on a phone, too.
  function axis({ low, high, repeat, adapt, names, title, room }) {
    const width = Math.min(Math.max(room || 640, 280), 640);
    const [left, right] = [14, width - 14];
    const place = (x) => (high - low < 1e-9 ? (left + right) / 2 : left + ((right - left) * (x - low)) / (high - low));
    const text = (x, y, words, kind) => svg("text", { x: x.toFixed(1), y, class: kind, "text-anchor": x < 90 ? "start" : x > width - 90 ? "end" : "middle", dx: x < 90 ? -8 : x > width - 90 ? 8 : 0 }, words);
    const [a, b] = [place(repeat), place(adapt)];
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${title ? 98 : 84}`, role: "img",
      "aria-label": `${title ? `${title}: ` : ""}${names[0]}: ${number(low)}. ${names[1]}: ${number(repeat)}. ${names[2]}: ${number(adapt)}. ${names[3]}: ${number(high)}.`,
    });
    picture.append(svg("line", { x1: left, x2: right, y1: 46, y2: 46, class: "pg-axis" }));
    if (high - low > 1e-9) {
      for (const x of ticks(low, high)) {
        picture.append(svg("line", { x1: place(x), x2: place(x), y1: 46, y2: 50, class: "pg-axis" }), svg("text", { x: place(x), y: 61, class: "pg-tick", "text-anchor": "middle" }, number(x, Number.isInteger(x) ? 0 : 2)));
      }
    }
    picture.append(
      svg("line", { x1: a, x2: b, y1: 46, y2: 46, class: "pg-gain" }),
      svg("circle", { cx: left, cy: 46, r: 3, class: "pg-end" }), svg("circle", { cx: right, cy: 46, r: 3, class: "pg-end" }),
      svg("circle", { cx: a, cy: 46, r: 6.5, fill: "var(--pg-repeat)" }), svg("circle", { cx: b, cy: 46, r: 6.5, fill: "var(--pg-adapt)" }),
      text(a, 34, `${names[1]} ${number(repeat)}`, "pg-repeat"), text(b, 14, `${names[2]} ${number(adapt)}`, "pg-adapt"),
      svg("line", { x1: b, x2: b, y1: 18, y2: 39, class: "pg-lead" }),
      svg("text", { x: 6, y: 79, class: "pg-tick" }, `${names[0]}: ${number(low)}`),
      svg("text", { x: width - 6, y: 79, class: "pg-tick", "text-anchor": "end" }, `${names[3]}: ${number(high)}`),
    );
    if (title) picture.append(svg("text", { x: width / 2, y: 94, class: "pg-tick", "text-anchor": "middle" }, title));
    return picture;
  }

  // A board whose cells stay where they are, so that one can be painted by mouse, finger or keyboard while arrows change.
  function board(cells, title, painted) {
    const [rows, columns] = [cells.length, cells[0].length];
    const picture = svg("svg", { viewBox: `0 0 ${columns * 10} ${rows * 10}`, role: painted ? "group" : "img", "aria-label": title });
    const rects = cells.flatMap((line, row) => [...line].map((_, column) => {
      const s = row * columns + column;
      const rect = svg("rect", { x: 10 * column + 0.3, y: 10 * row + 0.3, width: 9.4, height: 9.4, rx: 1.2, "data-cell": s });
      if (painted) rect.setAttribute("role", "button");
      return rect;
    }));
    const marks = svg("g", { "pointer-events": "none" });
    const above = svg("g", { "pointer-events": "none" }); // for what moves
    picture.append(...rects, marks, above);
    return { picture, rects, marks, above, columns };
  }

  function ground(shown, cells, focus = 0) {
    const flat = cells.join("");
    const words = { S: "the start", G: "the goal", "#": "cliff", ".": "ground" };
    shown.rects.forEach((rect, s) => {
      rect.setAttribute("fill", flat[s] === "#" ? "var(--pg-rock)" : "var(--pg-ground)");
      if (rect.getAttribute("role") !== "button") return;
      rect.setAttribute("aria-label", `row ${Math.floor(s / shown.columns) + 1}, column ${(s % shown.columns) + 1}: ${words[flat[s]]}`);
      rect.setAttribute("tabindex", s === focus ? 0 : -1);
    });
    return [...flat].flatMap((kind, s) => (kind === "S" || kind === "G" ? [disc(kind, s, shown.columns)] : []));
  }

  const corner = (s, columns) => [10 * (s % columns), 10 * Math.floor(s / columns)];

  function disc(kind, s, columns) {
    const [x, y] = corner(s, columns);
    return svg("g", {},
      svg("circle", { cx: x + 5, cy: y + 5, r: 4, fill: kind === "S" ? "#0072b2" : "#00724f" }),
      svg("text", { x: x + 5, y: y + 7, "font-size": 5.5, "text-anchor": "middle", "font-weight": 700, fill: "#fff" }, kind));
  }

  // Where a try goes: an arrow in each cell that it comes to, with a bar at its tip where it leads against the edge.
  function arrows(shown, cells, visits) {
    const flat = cells.join("");
    const [rows, columns] = [cells.length, shown.columns];
    const made = ground(shown, cells);
    const waits = [];
    visits.forEach((row, s) => {
      const total = row.reduce((sum, n) => sum + n, 0);
      if (total <= 0.005 || flat[s] === "#" || flat[s] === "G") return;
      const action = row.indexOf(Math.max(...row));
      const [right, down] = SIGNS[action];
      const [to, line] = [(s % columns) + right, Math.floor(s / columns) + down];
      const stays = to < 0 || to >= columns || line < 0 || line >= rows;
      if (stays) waits.push({ s, action, total });
      const [x, y] = corner(s, columns);
      made.push(svg("g", {
        opacity: Math.min(0.3 + 0.7 * Math.sqrt(total), 1).toFixed(2),
        transform: `translate(${x + 5} ${y + 5}) rotate(${(Math.atan2(down, right) * 180) / Math.PI})`,
      }, svg("path", { d: ARROW, fill: COLOURS[action], stroke: flat[s] === "S" ? "#fff" : "var(--pg-arrow)", "stroke-width": 0.35 }),
      ...(stays ? [svg("path", { d: "M4.1,-3.2 V3.2", stroke: "var(--pg-arrow)", "stroke-width": 1.1 })] : [])));
    });
    shown.marks.replaceChildren(...made);
    return waits;
  }

  return { make, svg, number, axis, board, ground, arrows, corner, SIGNS, NAMES };
})();
