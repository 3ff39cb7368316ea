// Each detour as a mark: a panel a CPU, on one axis of time.
"use strict";

(() => {
  const { json, color, variable, whenSeen, story } = anechoic;
  const FONT = "12px system-ui, sans-serif";
  const SCALE = 2 ** 32;
  // Marks of all panels that keep their shape; of more only place and colour can be told.
  const SHAPED = 5000;
  // Marks that the arrow keys go through.
  const STOPS = 60;
  // How near the pointer must be, in pixels.
  const REACH = 14;
  // Room around the data of a panel, in pixels: for texts on the left, for half of one on the right, and for the axis
  // of time below the last.
  const LEFT = 68, RIGHT = 24, TOP = 8, BOTTOM = 8, AXIS = 44;
  // Texts of the axis of time are as far apart, in pixels.
  const APART = 95;

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
    state.lengths = [picture.lengths.low, picture.lengths.high];
    panels(state, "worst");
    tools(state);
    return {
      redraw: () => state.panels.forEach((panel) => panel.plot.redraw()),
      resize: () => {
        unmark(state);
        state.panels.forEach((panel) => panel.plot.redraw());
      },
    };
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
    made.ring = document.createElement("div");
    made.ring.className = "ring";
    made.ring.hidden = true;
    made.plot = plot(state, made, last);
    state.panels.push(made);
    pointer(state, made);
    keys(state, made);
    return made;
  }

  // The canvas of a panel, and over its data what takes the pointer; from values to places there and back.
  function plot(state, panel, last) {
    const bottom = last ? AXIS : BOTTOM;
    const canvas = document.createElement("canvas");
    const over = document.createElement("div");
    over.className = "over";
    over.style.inset = `${TOP}px ${RIGHT}px ${bottom}px ${LEFT}px`;
    over.append(panel.ring);
    panel.div.style.height = `${panel.height}px`;
    panel.div.append(canvas, over);
    const size = () => ({ width: Math.max(1, panel.div.clientWidth - LEFT - RIGHT), height: panel.height - TOP - bottom });
    const [low, high] = state.lengths.map(Math.log);
    const made = {
      over, canvas, size,
      x: {
        at: (value) => ((value - state.view[0]) / (state.view[1] - state.view[0])) * size().width,
        value: (at) => state.view[0] + (at / size().width) * (state.view[1] - state.view[0]),
      },
      y: { at: (value) => (1 - (Math.log(Math.max(value, 1)) - low) / (high - low)) * size().height },
    };
    made.redraw = () => {
      const ratio = devicePixelRatio;
      canvas.width = Math.round(panel.div.clientWidth * ratio);
      canvas.height = Math.round(panel.height * ratio);
      const ctx = canvas.getContext("2d");
      ctx.scale(ratio, ratio);
      ctx.translate(LEFT, TOP);
      axes(ctx, state, panel, made, last);
      draw(ctx, state, panel, made);
    };
    made.redraw();
    return made;
  }

  // Grid, marks and texts of both axes.
  function axes(ctx, state, panel, plot, last) {
    const { width, height } = plot.size();
    const line = (x, y, toX, toY) => {
      ctx.moveTo(Math.round(x) + 0.5, Math.round(y) + 0.5);
      ctx.lineTo(Math.round(toX) + 0.5, Math.round(toY) + 0.5);
    };
    ctx.font = FONT;
    ctx.fillStyle = variable("muted");
    ctx.strokeStyle = variable("rule");
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const [value, label] of state.picture.lengths.ticks) {
      const y = plot.y.at(value);
      line(-4, y, width, y);
      ctx.fillText(label, -8, y);
    }
    ctx.textAlign = "center";
    ctx.textBaseline = "top";
    const { step, digits } = steps(state.view, width);
    for (let number = Math.ceil(state.view[0] / step); number * step <= state.view[1]; number++) {
      const x = plot.x.at(number * step);
      line(x, 0, x, height + (last ? 4 : 0));
      const text = `${((number * step) / 1e9).toFixed(digits)} s`;
      // A text that would go over the edge on the right is left out.
      if (last && x + ctx.measureText(text).width / 2 <= width + RIGHT) ctx.fillText(text, x, height + 8);
    }
    if (last) ctx.fillText("since the start", width / 2, height + 26);
    ctx.stroke();
    ctx.save();
    ctx.translate(-LEFT + 2, height / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.fillText(`length, CPU ${state.picture.cpus[panel.place].cpu}`, 0, 0);
    ctx.restore();
  }

  // A round step between instants, of 1, 2 or 5, and the digits in which two of them differ.
  function steps([from, to], width) {
    const least = ((to - from) * APART) / width;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
    return { step, digits: Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9))) };
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
      state.panels.forEach((panel) => panel.plot.redraw()),
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

  function draw(ctx, state, panel, plot) {
    const { starts, lengths, packed, groups } = state.cpus[panel.place];
    const { sources, more } = state.picture;
    const look = (rank) => (rank < state.picture.legend ? sources[rank] : more);
    const [from, to] = state.view;
    const { width, height } = plot.size();
    const shapes = state.shapes;
    const paints = new Map([...sources, more].map((source) => [source.color, ""]));
    for (const name of paints.keys()) paints.set(name, color(name));
    ctx.save();
    ctx.beginPath();
    ctx.rect(0, 0, width, height);
    ctx.clip();
    groups.forEach((group, legend) => {
      if (state.hidden.has(legend)) return;
      let painted = -1;
      for (let at = firstOf(group.length, (place) => starts[group[place]], from); at < group.length; at++) {
        const cell = group[at], rank = packed[cell] >>> 22;
        if (starts[cell] > to) break;
        if (rank !== painted) ctx.fillStyle = ctx.strokeStyle = paints.get(look(rank).color);
        painted = rank;
        const x = ((starts[cell] - from) / (to - from)) * width;
        const y = plot.y.at(lengths[cell]);
        const r = (shapes ? 2.6 : 1.1) * (1 + 0.35 * Math.log10(packed[cell] & 0x3fffff));
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
  function nearest(state, panel, left, top) {
    const { x, y } = panel.plot;
    const { starts, lengths, packed } = state.cpus[panel.place];
    const from = firstNotBefore(starts, x.value(left - REACH));
    const end = x.value(left + REACH);
    let best = null, least = REACH * REACH;
    for (let at = from; at < starts.length && starts[at] <= end; at++) {
      if (state.hidden.has(Math.min(packed[at] >>> 22, state.picture.legend))) continue;
      const dx = x.at(starts[at]) - left, dy = y.at(lengths[at]) - top;
      const distance = dx * dx + dy * dy;
      if (distance < least) [best, least] = [at, distance];
    }
    return best;
  }

  function hover(state, panel, left, top) {
    if (state.pinned) return;
    cancelAnimationFrame(panel.frame);
    panel.frame = requestAnimationFrame(() => {
      const at = nearest(state, panel, left, top);
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
    panel.ring.style.left = `${panel.plot.x.at(cell.start)}px`;
    panel.ring.style.top = `${panel.plot.y.at(cell.length)}px`;
    state.box.replaceChildren(...story.tell(state.picture, state.index, panel.place, at, cell).filter((part) => part !== ""));
  }

  function pin(state, on) {
    state.pinned = on;
    state.box.classList.toggle("pinned", on);
  }

  // A drag chooses a stretch, with Shift it moves; fingers move and pinch; a click keeps the story.
  function pointer(state, panel) {
    const over = panel.plot.over;
    const down = new Map();
    const place = (event) => {
      const box = over.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const choose = choosing(state, panel);
    over.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      over.setPointerCapture(event.pointerId);
      if (event.pointerType === "mouse" && !event.shiftKey) return choose.begin(place(event)[0]);
      down.set(event.pointerId, event.clientX);
    });
    over.addEventListener("pointermove", (event) => {
      if (choose.goesOn()) return choose.to(place(event)[0]);
      if (!down.has(event.pointerId)) return hover(state, panel, ...place(event));
      const before = [...down.values()];
      down.set(event.pointerId, event.clientX);
      const after = [...down.values()];
      const width = over.clientWidth;
      if (after.length === 1) return move(state, (before[0] - after[0]) / width);
      const [was, is] = [Math.abs(before[0] - before[1]), Math.abs(after[0] - after[1])];
      if (was > 10 && is > 10) zoom(state, was / is);
    });
    over.addEventListener("pointerup", () => choose.end());
    over.addEventListener("pointercancel", () => choose.leave());
    for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (event) => down.delete(event.pointerId));
    over.addEventListener("dblclick", () => view(state, 0, state.picture.span_ns));
    over.addEventListener("click", (event) => {
      if (choose.wasOne()) return;
      const at = nearest(state, panel, ...place(event));
      pin(state, at !== null && !(state.pinned && at === panel.at));
      if (at !== null) show(state, panel, at);
    });
    over.addEventListener("wheel", (event) => {
      const box = over.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey) zoom(state, 1.0015 ** event.deltaY, panel.plot.x.value(event.clientX - box.left));
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(state, event.deltaX / box.width);
      else return;
      event.preventDefault();
    }, { passive: false });
  }

  // The stretch that is being chosen, from where the button was pressed. Less than some pixels is a click.
  function choosing(state, panel) {
    const box = document.createElement("div");
    box.className = "chosen";
    box.hidden = true;
    panel.plot.over.append(box);
    let from = null, to = null, chosen = false;
    const leave = () => {
      from = null;
      box.hidden = true;
    };
    return {
      begin: (x) => {
        [from, to, chosen] = [x, x, false];
      },
      goesOn: () => from !== null,
      to: (x) => {
        to = Math.min(panel.plot.size().width, Math.max(0, x));
        box.hidden = false;
        box.style.left = `${Math.min(from, to)}px`;
        box.style.width = `${Math.abs(to - from)}px`;
      },
      end: () => {
        if (from === null) return;
        const [left, right] = [Math.min(from, to), Math.max(from, to)];
        chosen = right - left >= 4;
        leave();
        if (chosen) view(state, panel.plot.x.value(left), panel.plot.x.value(right));
      },
      leave,
      wasOne: () => chosen,
    };
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
        state.panels.forEach((panel) => panel.plot.redraw());
      }),
    );
  }
})();
