// Charts: the values that are pointed at, and a legend that hides curves. The drawings are in the page already, one for
// each width of their place; of these the style sheet shows one.
"use strict";

(() => {
  const { json, words } = anechoic;
  const SVG = "http://www.w3.org/2000/svg";

  for (const plot of document.querySelectorAll("[data-chart]")) {
    let chart = null;
    // Values are read when they are first asked for.
    const get = () => (chart ??= { plot, spec: json(plot.dataset.chart), hidden: new Set(), box: tipOf(plot) });
    plot.addEventListener("pointermove", (event) => point(get(), event.clientX, event.clientY));
    plot.addEventListener("pointerleave", () => hide(get()));
    plot.addEventListener("blur", () => hide(get()));
    plot.addEventListener("keydown", (event) => step(get(), event));
    for (const button of plot.parentElement.querySelectorAll("button[data-curve]"))
      button.addEventListener("click", () => toggle(get(), button));
  }

  function tipOf(plot) {
    const box = document.createElement("div");
    box.className = "tip";
    box.hidden = true;
    plot.append(box);
    return box;
  }

  function toggle(chart, button) {
    const curve = Number(button.dataset.curve);
    const show = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", show);
    chart.hidden[show ? "delete" : "add"](curve);
    for (const group of chart.plot.querySelectorAll(`[data-curve="${curve}"]`)) group.classList.toggle("gone", !show);
  }

  // The drawing that is shown: where its frame lies in it and on the screen, and from values to places and back.
  function drawing(chart) {
    const svg = [...chart.plot.querySelectorAll("svg")].find((svg) => svg.getClientRects().length > 0);
    if (!svg) return null;
    const numbers = (name) => svg.dataset[name].split(" ").map(Number);
    const [left, top, right, bottom] = numbers("frame");
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const axis = ([low, high], log, from, to) => {
      const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
      return {
        at: (value) => from + Math.min(1, Math.max(0, ((log ? Math.log(Math.max(value, low)) : value) - a) / (b - a))) * (to - from),
        value: (at) => ((of) => (log ? Math.exp(of) : of))(a + ((at - from) / (to - from)) * (b - a)),
      };
    };
    const { x, y } = chart.spec;
    return {
      svg, scale, left, top, right, bottom, box,
      x: axis(numbers("across"), x.log, left, right),
      y: axis(numbers("along"), y.log, bottom, top),
    };
  }

  function point(chart, clientX, clientY) {
    const of = drawing(chart);
    if (!of) return;
    const [x, y] = [(clientX - of.box.left) / of.scale, (clientY - of.box.top) / of.scale];
    const margin = 4;
    if (x < of.left - margin || x > of.right + margin || y < of.top - margin || y > of.bottom + margin) return hide(chart);
    show(chart, of, Math.min(of.right, Math.max(of.left, x)), y);
  }

  const lastNotAfter = (values, x) => {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] <= x) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };

  // The place in a curve's list of what it is at a value: of steps that which holds there, else the nearest.
  function placeAt(curve, x, log) {
    const at = lastNotAfter(curve.x, x);
    if (curve.draw === "steps") return at < 0 || (at === curve.x.length - 1 && x > curve.x[at]) ? null : at;
    const far = (other) => (other < 0 || other >= curve.x.length ? Infinity : log ? Math.abs(Math.log(curve.x[other] / x)) : Math.abs(curve.x[other] - x));
    const near = far(at) <= far(at + 1) ? at : at + 1;
    return near < curve.x.length ? near : null;
  }

  const shown = (chart) => chart.spec.curves.map((curve, number) => ({ curve, number })).filter(({ number }) => !chart.hidden.has(number));

  // What the curves are at a place: a heading, a row for each, and the points that are meant.
  function across(chart, of, x) {
    const { spec } = chart;
    const value = of.x.value(x);
    let found = shown(chart).filter(({ curve }) => curve.draw !== "segments").map(({ curve }) => ({ curve, place: placeAt(curve, value, spec.x.log) })).filter(({ place }) => place !== null);
    const far = ({ curve, place }) => Math.abs(of.x.at(curve.x[place]) - x);
    // Of points with names only that which is pointed at.
    const named = found.filter(({ curve }) => curve.labels);
    if (named.length > 0) found = [named.reduce((best, other) => (far(other) < far(best) ? other : best))];
    if (found.length === 0) return null;
    const [first] = found;
    const steps = first.curve.draw === "steps";
    const title = first.curve.labels?.[first.place] ?? `${spec.x.label} ${words[spec.x.quantity](steps ? value : first.curve.x[first.place])}`;
    const rows = found.map(({ curve, place }) => [curve, words[spec.y.quantity](curve.y[place])]);
    const points = found.map(({ curve, place }) => [curve, curve.draw === "steps" ? x : of.x.at(curve.x[place]), of.y.at(curve.y[place])]);
    return { title, rows, points };
  }

  // The same where things with names stand below each other: what all curves are of the thing that is pointed at.
  function along(chart, of, y) {
    const { spec } = chart;
    const value = of.y.value(y);
    const far = ({ at }) => Math.abs(at - value);
    const thing = spec.y.names.reduce((best, other) => (far(other) < far(best) ? other : best));
    const found = shown(chart).map(({ curve }) => [curve, curve.x.filter((_, at) => Math.abs(curve.y[at] - thing.at) < 0.5)]).filter(([, values]) => values.length > 0);
    const rows = found.map(([curve, values]) => [curve, values.map((x) => words[spec.x.quantity](x)).join(" to ")]);
    return { title: thing.name, rows, points: [], y: of.y.at(thing.at) };
  }

  function show(chart, of, x, y) {
    const found = chart.spec.y.names ? along(chart, of, y) : across(chart, of, x);
    if (!found || found.rows.length === 0) return hide(chart);
    chart.box.replaceChildren(Object.assign(document.createElement("b"), { textContent: found.title }));
    for (const [curve, value] of found.rows) {
      const row = document.createElement("div");
      const mark = document.createElement("i");
      mark.style.background = `var(--c-${curve.color})`;
      row.append(mark, `${curve.name}: ${value}`);
      chart.box.append(row);
    }
    chart.box.hidden = false;
    const at = x * of.scale, right = x > (of.left + of.right) / 2;
    chart.box.style.left = right ? "auto" : `${at + 14}px`;
    chart.box.style.right = right ? `${of.box.width - at + 14}px` : "auto";
    mark(of, found, x);
  }

  // A line through what is pointed at, and rings around the points.
  function mark(of, found, x) {
    of.svg.querySelector(".cursor")?.remove();
    const group = document.createElementNS(SVG, "g");
    group.classList.add("cursor");
    const add = (name, attributes) => {
      const made = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      group.append(made);
    };
    if (found.y !== undefined) add("line", { x1: of.left, x2: of.right, y1: found.y, y2: found.y });
    else add("line", { x1: found.points[0]?.[1] ?? x, x2: found.points[0]?.[1] ?? x, y1: of.top, y2: of.bottom });
    for (const [curve, cx, cy] of found.points) add("circle", { cx, cy, r: 2.6, style: `stroke:var(--c-${curve.color})` });
    of.svg.append(group);
  }

  function hide(chart) {
    chart.box.hidden = true;
    chart.plot.querySelectorAll(".cursor").forEach((group) => group.remove());
  }

  // The arrow keys go from point to point; down and up where things stand below each other.
  function step(chart, event) {
    const { spec } = chart;
    const rows = spec.y.names && [...spec.y.names].map((place) => place.at).reverse();
    const by = { ArrowRight: 1, ArrowLeft: -1, ...(rows ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
    const of = by && drawing(chart);
    if (!of) return;
    event.preventDefault();
    chart.stops ??= rows ?? [...new Set(spec.curves.flatMap((curve) => curve.x))].sort((a, b) => a - b);
    chart.at = Math.min(chart.stops.length - 1, Math.max(0, (chart.at ?? -1) + by));
    const stop = chart.stops[chart.at];
    if (rows) show(chart, of, of.left + 8, of.y.at(stop));
    // A step begins at its point.
    else show(chart, of, of.x.at(stop) + (spec.curves[0].draw === "steps" ? 0.02 : 0), of.top);
  }
})();
