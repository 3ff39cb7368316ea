// Each detour as a mark: a panel a CPU, on one axis of time.
"use strict";

(() => {
  const { json, ticks, powers, color, variable, whenSeen, story } = anechoic;
  const FONT = "12px system-ui, sans-serif";
  const SCALE = 2 ** 32;
  // Marks of all panels that keep their shape; of more only place and colour can be told.
  const SHAPED = 5000;
  // Marks that the arrow keys go through.
  const STOPS = 60;
  // How near the pointer must be, in pixels.
  const REACH = 14;
  // Room beside a panel: of texts on the left, and for half of one on the right.
  const LEFT = 80, RIGHT = 24;

  for (const figure of document.querySelectorAll("[data-timeline]")) whenSeen(figure, () => timeline(figure));

  function bytes(text) {
    const binary = atob(text);
    const array = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at++) array[at] = binary.charCodeAt(at);
    return array.buffer;
  }

  // The cells of a CPU as arrays; `groups` are their places by source, as the legend has them.
  function cells(cpu, picture) {
    const starts = Float64Array.from(new Uint32Array(bytes(cpu.starts)), (part) => (part / SCALE) * picture.span_ns);
    const lengths = new Float32Array(bytes(cpu.lengths));
    const packed = new Uint32Array(bytes(cpu.packed));
    const groups = Array.from({ length: picture.legend + 1 }, () => []);
    packed.forEach((word, at) => groups[Math.min(word >>> 22, picture.legend)].push(at));
    const cell = (at) => ({ start: starts[at], length: lengths[at], rank: packed[at] >>> 22, count: packed[at] & 0x3fffff });
    return { starts, lengths, packed, groups, cell };
  }

  // The first place of a rising list, given by a function, that is not before x.
  function firstOf(length, valueOf, x) {
    let low = 0, high = length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (valueOf(middle) < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }
  const firstNotBefore = (values, x) => firstOf(values.length, (at) => values[at], x);

  function timeline(figure) {
    const picture = json(figure.dataset.timeline);
    const state = {
      picture,
      figure,
      index: story.index(picture),
      cpus: picture.cpus.map((cpu) => cells(cpu, picture)),
      view: [0, picture.span_ns],
      hidden: new Set(),
      panels: [],
      pinned: false,
      box: figure.querySelector(".story"),
    };
    state.lengths = limits(state.cpus);
    panels(state, "worst");
    tools(state);
    return {
      redraw: () => state.panels.forEach((panel) => panel.u.redraw(false, true)),
      resize: () => state.panels.forEach((panel) => panel.u.setSize({ width: panel.div.clientWidth, height: panel.height })),
    };
  }

  // Shortest and longest of all, to whole factors of ten where there is room.
  function limits(cpus) {
    let low = Infinity, high = 1;
    for (const { lengths } of cpus) for (const length of lengths) {
      if (length > 0 && length < low) low = length;
      if (length > high) high = length;
    }
    if (!isFinite(low)) low = 1;
    return [Math.max(1, low / 1.5), high * 1.8];
  }

  // Which CPUs have a panel: one, or the four with the most lost time.
  function chosen(state, which) {
    if (which !== "worst") return [Number(which)];
    const lost = (place) => {
      const { lengths, packed } = state.cpus[place];
      return lengths.reduce((sum, length, at) => sum + length * (packed[at] & 0x3fffff), 0);
    };
    const order = state.cpus.map((_, place) => [lost(place), place]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    return order.slice(0, 4).map((pair) => pair[1]).sort((a, b) => a - b);
  }

  // Whether marks have their shapes: all panels or none, and the legend as they do.
  function shaped(state) {
    const [from, to] = state.view;
    const visible = ({ starts }) => firstNotBefore(starts, to) - firstNotBefore(starts, from);
    state.shapes = state.places.reduce((sum, place) => sum + visible(state.cpus[place]), 0) <= SHAPED;
    state.figure.classList.toggle("shapeless", !state.shapes);
  }

  function panels(state, which) {
    const places = chosen(state, which);
    state.places = places;
    shaped(state);
    const holder = state.figure.querySelector(".panels");
    state.panels.forEach((panel) => panel.u.destroy());
    holder.replaceChildren();
    state.panels = [];
    const height = places.length === 1 ? 360 : places.length === 2 ? 250 : 190;
    places.forEach((place, at) => panel(state, place, holder, height + (at === places.length - 1 ? 30 : 0), at === places.length - 1));
  }

  function panel(state, place, holder, height, last) {
    const div = document.createElement("div");
    div.className = "plot panel";
    div.tabIndex = 0;
    div.setAttribute("role", "application");
    div.setAttribute("aria-label", `Detours of CPU ${state.picture.cpus[place].cpu}. Arrow keys: next detour, longer, shorter. Plus and minus zoom, Shift with arrows moves, 0 shows all, Enter keeps the story.`);
    holder.append(div);
    const made = { place, div, height, at: null };
    made.u = plot(state, made, last);
    made.ring = document.createElement("div");
    made.ring.className = "ring";
    made.ring.hidden = true;
    made.u.over.append(made.ring);
    state.panels.push(made);
    pointer(state, made);
    keys(state, made);
    return made;
  }

  function axes(state, last, cpu) {
    const line = { stroke: () => variable("rule"), width: 1 };
    const both = { stroke: () => variable("muted"), font: FONT, labelFont: FONT, grid: line, ticks: { ...line, size: 4 }, labelGap: 2, labelSize: 18 };
    return [
      { ...both, show: true, size: last ? 34 : 8, label: last ? "since the start" : undefined, space: 90,
        values: (u, splits) => splits.map((value) => (last ? fitting(u, state, value, when(value, splits)) : "")) },
      { ...both, size: 62, label: `CPU ${cpu}`, space: 26, splits: (u, at, low, high) => powers(low, high), filter: (u, splits) => splits, values: (u, splits) => splits.map((value) => (value === null ? "" : ticks.time(value))) },
    ];
  }

  // An instant with the digits that its neighbours differ in.
  function when(value, splits) {
    const step = splits.length > 1 ? Math.abs(splits[1] - splits[0]) / 1e9 : 1;
    let digits = 0;
    while (digits < 9 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
    return `${(value / 1e9).toFixed(digits)} s`;
  }

  // The text of an instant, unless it would go over the edge on the right.
  function fitting(u, state, value, text) {
    const [from, to] = state.view;
    const after = ((to - value) / (to - from)) * (u.width - LEFT - RIGHT) + RIGHT;
    return text.length * 3.5 > after ? "" : text;
  }

  function plot(state, panel, last) {
    const cpu = state.picture.cpus[panel.place].cpu;
    const onlyPlain = (u, target, handler) => (event) => {
      if (event.button === 0 && !event.shiftKey) return handler(event);
    };
    return new uPlot(
      {
        width: panel.div.clientWidth,
        height: panel.height,
        legend: { show: false },
        padding: [8, RIGHT, 0, 0],
        scales: {
          x: { time: false, range: () => state.view },
          y: { distr: 3, range: () => state.lengths },
        },
        axes: axes(state, last, cpu),
        series: [{}, { paths: () => null, points: { show: false } }],
        cursor: {
          points: { show: false },
          drag: { x: true, y: false, setScale: false },
          bind: { mousedown: onlyPlain, dblclick: () => () => view(state, 0, state.picture.span_ns) },
        },
        hooks: {
          draw: [(u) => draw(u, state, panel)],
          setCursor: [(u) => hover(u, state, panel)],
          setSelect: [(u) => selected(u, state)],
        },
      },
      [[0, state.picture.span_ns], [state.lengths[0], state.lengths[1]]],
      panel.div,
    );
  }

  function selected(u, state) {
    const { left, width } = u.select;
    if (width < 4) return;
    const [from, to] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    view(state, from, to);
  }

  // Shows a stretch of time, within the run and at least 100 ns.
  function view(state, from, to) {
    const span = state.picture.span_ns;
    const width = Math.min(span, Math.max(100, to - from));
    const start = Math.min(span - width, Math.max(0, from + (to - from - width) / 2));
    state.view = [start, start + width];
    state.figure.dataset.view = state.view.map(Math.round).join(" ");
    shaped(state);
    unmark(state);
    cancelAnimationFrame(state.frame);
    state.frame = requestAnimationFrame(() =>
      state.panels.forEach((panel) => panel.u.setScale("x", { min: state.view[0], max: state.view[1] })),
    );
  }
  function zoom(state, factor, middle = (state.view[0] + state.view[1]) / 2) {
    const [from, to] = state.view;
    view(state, middle - (middle - from) * factor, middle + (to - middle) * factor);
  }
  function move(state, part) {
    const by = (state.view[1] - state.view[0]) * part;
    view(state, state.view[0] + by, state.view[1] + by);
  }

  function draw(u, state, panel) {
    const { starts, lengths, packed, groups } = state.cpus[panel.place];
    const { sources, more } = state.picture;
    const look = (rank) => (rank < state.picture.legend ? sources[rank] : more);
    const [from, to] = state.view;
    const ratio = devicePixelRatio;
    const { left, top, width, height } = u.bbox;
    const ctx = u.ctx;
    const low = Math.log(state.lengths[0]), scale = height / (Math.log(state.lengths[1]) - low);
    const shapes = state.shapes;
    const paints = new Map([...sources, more].map((source) => [source.color, ""]));
    for (const name of paints.keys()) paints.set(name, color(name));
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    groups.forEach((group, legend) => {
      if (state.hidden.has(legend)) return;
      let painted = -1;
      for (let at = firstOf(group.length, (place) => starts[group[place]], from); at < group.length; at++) {
        const cell = group[at], rank = packed[cell] >>> 22;
        if (starts[cell] > to) break;
        if (rank !== painted) ctx.fillStyle = ctx.strokeStyle = paints.get(look(rank).color);
        painted = rank;
        const x = left + ((starts[cell] - from) / (to - from)) * width;
        const y = top + height - (Math.log(Math.max(lengths[cell], 1)) - low) * scale;
        const r = (shapes ? 2.6 : 1.1) * ratio * (1 + 0.35 * Math.log10(packed[cell] & 0x3fffff));
        if (shapes) shape(ctx, look(rank).shape, x, y, r);
        else ctx.fillRect(x - r, y - r, 2 * r, 2 * r);
      }
    });
    ctx.restore();
  }

  function shape(ctx, number, x, y, r) {
    ctx.beginPath();
    if (number === 1) ctx.rect(x - r, y - r, 2 * r, 2 * r);
    else if (number === 2) { ctx.moveTo(x, y - r); ctx.lineTo(x + r, y + r); ctx.lineTo(x - r, y + r); ctx.closePath(); }
    else if (number === 3) { ctx.moveTo(x, y - 1.3 * r); ctx.lineTo(x + 1.3 * r, y); ctx.lineTo(x, y + 1.3 * r); ctx.lineTo(x - 1.3 * r, y); ctx.closePath(); }
    else if (number >= 4) {
      ctx.lineWidth = Math.max(1, r / 2);
      if (number === 4) { ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x + r, y - r); ctx.lineTo(x - r, y + r); }
      else ctx.arc(x, y, r, 0, 7);
      ctx.stroke();
      return;
    } else ctx.arc(x, y, r, 0, 7);
    ctx.fill();
  }

  // The mark that is nearest to a place of the panel, in reach.
  function nearest(u, state, panel, left, top) {
    const { starts, lengths, packed } = state.cpus[panel.place];
    const from = firstNotBefore(starts, u.posToVal(left - REACH, "x"));
    const end = u.posToVal(left + REACH, "x");
    let best = null, least = REACH * REACH;
    for (let at = from; at < starts.length && starts[at] <= end; at++) {
      if (state.hidden.has(Math.min(packed[at] >>> 22, state.picture.legend))) continue;
      const dx = u.valToPos(starts[at], "x") - left, dy = u.valToPos(Math.max(lengths[at], 1), "y") - top;
      const distance = dx * dx + dy * dy;
      if (distance < least) [best, least] = [at, distance];
    }
    return best;
  }

  function hover(u, state, panel) {
    const { left, top } = u.cursor;
    if (state.pinned || left === null || left === undefined || left < 0) return;
    cancelAnimationFrame(panel.frame);
    panel.frame = requestAnimationFrame(() => {
      const at = nearest(u, state, panel, left, top);
      if (at !== null && at !== panel.at) show(state, panel, at);
    });
  }

  function unmark(state) {
    state.panels.forEach((panel) => {
      panel.ring.hidden = true;
      panel.at = null;
    });
  }

  // Tells a mark's story and rings it.
  function show(state, panel, at) {
    unmark(state);
    panel.at = at;
    const cell = state.cpus[panel.place].cell(at);
    panel.ring.hidden = false;
    panel.ring.style.left = `${panel.u.valToPos(cell.start, "x")}px`;
    panel.ring.style.top = `${panel.u.valToPos(Math.max(cell.length, 1), "y")}px`;
    state.box.replaceChildren(...story.tell(state.picture, state.index, panel.place, at, cell).filter((part) => part !== ""));
  }

  function pin(state, on) {
    state.pinned = on;
    state.box.classList.toggle("pinned", on);
  }

  // Shift and drag moves; fingers move and pinch; a click keeps the story.
  function pointer(state, panel) {
    const over = panel.u.over;
    const down = new Map();
    over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" && !event.shiftKey) return;
      down.set(event.pointerId, event.clientX);
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      if (!down.has(event.pointerId)) return;
      const before = [...down.values()];
      down.set(event.pointerId, event.clientX);
      const after = [...down.values()];
      const width = over.clientWidth;
      if (after.length === 1) return move(state, (before[0] - after[0]) / width);
      const [was, is] = [Math.abs(before[0] - before[1]), Math.abs(after[0] - after[1])];
      if (was > 10 && is > 10) zoom(state, was / is);
    });
    for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (event) => down.delete(event.pointerId));
    over.addEventListener("click", (event) => {
      const box = over.getBoundingClientRect();
      const at = nearest(panel.u, state, panel, event.clientX - box.left, event.clientY - box.top);
      pin(state, at !== null && !(state.pinned && at === panel.at));
      if (at !== null) show(state, panel, at);
    });
    over.addEventListener("wheel", (event) => {
      const box = over.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoom(state, 1.0015 ** event.deltaY, panel.u.posToVal(event.clientX - box.left, "x"));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(state, event.deltaX / box.width);
      else return;
      event.preventDefault();
    }, { passive: false });
  }

  // The longest marks in view, by time.
  function stops(state, panel) {
    const { starts, lengths, packed } = state.cpus[panel.place];
    const all = [];
    for (let at = firstNotBefore(starts, state.view[0]); at < starts.length && starts[at] <= state.view[1]; at++)
      if (!state.hidden.has(Math.min(packed[at] >>> 22, state.picture.legend))) all.push(at);
    return all.sort((a, b) => lengths[b] - lengths[a]).slice(0, STOPS);
  }

  function step(state, panel, key) {
    const byLength = stops(state, panel);
    if (!byLength.length) return;
    const vertical = key === "ArrowUp" || key === "ArrowDown";
    const order = vertical ? byLength : [...byLength].sort((a, b) => a - b);
    const by = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    const here = order.indexOf(panel.at);
    const next = here < 0 ? order.indexOf(byLength[0]) : here + by;
    show(state, panel, order[Math.min(order.length - 1, Math.max(0, next))]);
  }

  function keys(state, panel) {
    const act = {
      "+": () => zoom(state, 0.5), "=": () => zoom(state, 0.5), "-": () => zoom(state, 2), 0: () => view(state, 0, state.picture.span_ns), Home: () => view(state, 0, state.picture.span_ns),
      Enter: () => pin(state, !state.pinned), " ": () => pin(state, !state.pinned), Escape: () => pin(state, false),
    };
    panel.div.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const arrow = event.key.startsWith("Arrow");
      if (!arrow && !act[event.key]) return;
      event.preventDefault();
      if (!arrow) act[event.key]();
      else if (event.shiftKey) move(state, event.key === "ArrowRight" ? 0.25 : event.key === "ArrowLeft" ? -0.25 : 0);
      else step(state, panel, event.key);
    });
  }

  function tools(state) {
    const act = { in: () => zoom(state, 0.5), out: () => zoom(state, 2), left: () => move(state, -0.25), right: () => move(state, 0.25), reset: () => view(state, 0, state.picture.span_ns) };
    state.figure.querySelectorAll("button[data-do]").forEach((button) => button.addEventListener("click", act[button.dataset.do]));
    state.figure.querySelector("select")?.addEventListener("change", (event) => {
      pin(state, false);
      panels(state, event.target.value);
    });
    state.figure.querySelectorAll("[data-source]").forEach((button) =>
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", show);
        state.hidden[show ? "delete" : "add"](Number(button.dataset.source));
        unmark(state);
        state.panels.forEach((panel) => panel.u.redraw(false));
      }),
    );
  }
})();
