// Charts of curves: one for each element with data-chart.
"use strict";

(() => {
  const { json, ticks, words, color, variable, powers, whenSeen } = anechoic;
  const DASHES = [[], [7, 3], [2, 3], [7, 3, 2, 3], [12, 4], [4, 2]];
  const FONT = "12px system-ui, sans-serif";

  for (const plot of document.querySelectorAll("[data-chart]")) whenSeen(plot, () => chart(plot));

  function axis(spec, side) {
    return {
      side,
      stroke: () => variable("muted"),
      font: FONT,
      labelFont: FONT,
      label: spec.label || undefined,
      labelSize: 18,
      labelGap: 2,
      size: side === 2 ? 34 : (u, values) => Math.min(16 + 7 * Math.max(3, ...(values ?? []).map((text) => (text ?? "").length)), u.width * 0.45),
      grid: { stroke: () => variable("rule"), width: 1 },
      ticks: { stroke: () => variable("rule"), width: 1, size: 5 },
      space: side === 2 ? 64 : 32,
      ...(spec.log ? { splits: (u, at, low, high) => powers(low, high), filter: (u, splits) => splits } : {}),
      values: (u, splits) => splits.map((value) => (value === null ? "" : ticks[spec.quantity](value))),
      ...(spec.names ? named(spec, side) : {}),
    };
  }

  // Room on the right: half of the last text of the horizontal axis stands beside the frame.
  function halfOfLast(u) {
    const last = (u.axes[0]._values ?? []).filter((text) => text).at(-1) ?? "";
    return Math.max(12, Math.ceil(last.length * 3.5) + 3);
  }

  // Names in the place of numbers: below each other all of them, side by side those that have room.
  function named(spec, side) {
    const LETTER = 6.5;
    const half = (name) => (name.length * LETTER) / 2 + 6;
    const room = (u) => {
      let taken = -Infinity;
      return spec.names.filter(({ at, name }) => {
        const x = u.valToPos(at, "x");
        if (side !== 2) return true;
        if (x - half(name) < taken || u.bbox.left / devicePixelRatio + x + half(name) - 6 > u.width) return false;
        taken = x + half(name);
        return true;
      });
    };
    const most = (u) => Math.floor((u.width * 0.45 - 16) / LETTER);
    const clip = (name, letters) => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
    return {
      splits: (u) => room(u).map(({ at }) => at),
      values: (u, splits) => splits.map((at) => clip(spec.names.find((place) => place.at === at).name, side === 2 ? Infinity : most(u))),
      filter: (u, splits) => splits,
    };
  }

  // The ends of an axis: the data's, with a little room. The ends of segments are not all among the data that the
  // library has: it knows one value a place.
  // A count of one stands above the edge, where those of none are.
  function range(spec, ends) {
    return (u, low, high) => {
      if (spec.names && low !== null) return [Math.min(low, ...spec.names.map(({ at }) => at)) - 0.6, Math.max(high, ...spec.names.map(({ at }) => at)) + 0.6];
      for (const end of ends) {
        low = low === null ? end : Math.min(low, end);
        high = high === null ? end : Math.max(high, end);
      }
      if (low === null || high === null || !isFinite(low) || !isFinite(high)) return spec.log ? [1, 10] : [0, 1];
      if (spec.log) return low === high ? [low / 2, high * 2] : [low / (spec.quantity === "count" ? 1.5 : 1.15), high * 1.15];
      const room = (high - low) * 0.04 || Math.abs(high) || 1;
      return [low >= 0 && low <= 0.3 * high ? 0 : low - room, high + room];
    };
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

  // The value of a curve at a place: of steps that which holds there, else the nearest.
  function valueAt(curve, x, log) {
    const at = lastNotAfter(curve.x, x);
    if (curve.draw === "steps") return at < 0 || (at === curve.x.length - 1 && x > curve.x[at]) ? null : at;
    const far = (other) => (other < 0 || other >= curve.x.length ? Infinity : log ? Math.abs(Math.log(curve.x[other] / x)) : Math.abs(curve.x[other] - x));
    const near = far(at) <= far(at + 1) ? at : at + 1;
    return near < curve.x.length ? near : null;
  }

  function path(u, curve) {
    const line = new Path2D();
    const floor = u.scales.y.min;
    const px = (x) => u.valToPos(x, "x", true);
    const py = (y) => u.valToPos(Math.max(y, floor), "y", true);
    const base = py(floor);
    curve.x.forEach((x, at) => {
      const y = curve.y[at];
      if (curve.draw === "spikes") {
        line.moveTo(px(x), base);
        line.lineTo(px(x), py(y));
      } else if (curve.draw === "points") {
        const r = 4 * devicePixelRatio;
        shape(line, curve.shape, px(x), py(y), r);
      } else if (curve.draw === "segments") {
        if (at % 2 === 0) line.moveTo(px(x), py(y));
        else line.lineTo(px(x), py(y));
      } else {
        if (at > 0 && curve.draw === "steps") line.lineTo(px(x), py(curve.y[at - 1]));
        if (at === 0) line.moveTo(px(x), py(y));
        else line.lineTo(px(x), py(y));
      }
    });
    return line;
  }

  // A line closed along the edge below it.
  function under(u, curve, line) {
    const area = new Path2D(line);
    const base = u.bbox.top + u.bbox.height;
    area.lineTo(u.valToPos(curve.x[curve.x.length - 1], "x", true), base);
    area.lineTo(u.valToPos(curve.x[0], "x", true), base);
    area.closePath();
    return area;
  }

  function shape(line, number, x, y, r) {
    if (number === 1) line.rect(x - r, y - r, 2 * r, 2 * r);
    else if (number === 2) { line.moveTo(x, y - r); line.lineTo(x + r, y + r); line.lineTo(x - r, y + r); line.closePath(); }
    else if (number === 3) { line.moveTo(x, y - r); line.lineTo(x + r, y); line.lineTo(x, y + r); line.lineTo(x - r, y); line.closePath(); }
    else if (number === 4) { line.moveTo(x - r, y - r); line.lineTo(x + r, y + r); line.moveTo(x + r, y - r); line.lineTo(x - r, y + r); }
    else { line.moveTo(x + r, y); line.arc(x, y, r, 0, 7); }
  }

  // Labels of places, each moved down until it meets no other.
  function labels(u, spec) {
    const ctx = u.ctx, ratio = devicePixelRatio, taken = [];
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const mark of [...spec.marks].sort((a, b) => b.y - a.y)) {
      const x = u.valToPos(mark.x, "x", true);
      if (mark.x < u.scales.x.min || mark.x > u.scales.x.max) continue;
      const width = ctx.measureText(mark.label).width;
      const left = x + 6 * ratio + width > u.bbox.left + u.bbox.width ? x - 6 * ratio - width : x + 6 * ratio;
      let y = Math.max(u.valToPos(mark.y, "y", true), u.bbox.top + 8 * ratio);
      const meets = (box) => left < box.right && left + width > box.left && Math.abs(y - box.y) < 14 * ratio;
      for (let tries = 0; tries < 20 && taken.some(meets); tries++) y += 14 * ratio;
      taken.push({ left, right: left + width, y });
      ctx.strokeStyle = variable("paper");
      ctx.lineWidth = 4 * ratio;
      ctx.lineJoin = "round";
      ctx.strokeText(mark.label, left, y);
      ctx.fillStyle = variable("text");
      ctx.fillText(mark.label, left, y);
    }
    ctx.restore();
  }

  function straight(u, x0, y0, x1, y1) {
    const ctx = u.ctx;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.beginPath();
    ctx.strokeStyle = variable("muted");
    ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = devicePixelRatio;
    ctx.moveTo(u.valToPos(x0, "x", true), u.valToPos(y0, "y", true));
    ctx.lineTo(u.valToPos(x1, "x", true), u.valToPos(y1, "y", true));
    ctx.stroke();
    ctx.restore();
  }

  function extras(u, spec) {
    const { x, y } = u.scales;
    if (spec.level !== null) straight(u, x.min, spec.level, x.max, spec.level);
    if (spec.diagonal) {
      const low = Math.max(x.min, y.min), high = Math.min(x.max, y.max);
      straight(u, low, low, high, high);
    }
    labels(u, spec);
  }

  function series(curve) {
    const points = curve.draw === "points";
    return {
      label: curve.name,
      stroke: () => color(curve.color),
      fill: curve.area ? () => `${color(curve.color)}22` : points && curve.shape < 4 ? () => color(curve.color) : undefined,
      width: points ? 1.6 : curve.draw === "spikes" ? 1.4 : 2,
      dash: points || curve.draw === "spikes" || curve.draw === "segments" ? [] : DASHES[curve.shape % DASHES.length],
      spanGaps: true,
      points: { show: false },
      paths: (u) => {
        const line = path(u, curve);
        return { stroke: line, fill: curve.area ? under(u, curve, line) : points && curve.shape < 4 ? line : null };
      },
    };
  }

  const shown = (u, spec) => spec.curves.filter((curve, at) => u.series[at + 1].show);

  // What the curves are at a place: a heading, and a text for each.
  function across(u, spec) {
    const x = u.posToVal(u.cursor.left, "x");
    const rows = [];
    let head = null, label = null;
    for (const curve of shown(u, spec)) {
      const place = curve.draw === "segments" ? null : valueAt(curve, x, spec.x.log);
      // Of points with names only that which is pointed at.
      if (place === null || (curve.labels && label !== null && Math.abs(curve.x[place] - x) >= Math.abs(head - x))) continue;
      if (curve.labels && label !== null) rows.pop();
      if (head === null || curve.labels) head = curve.draw === "steps" ? x : curve.x[place];
      if (curve.labels) label = curve.labels[place];
      rows.push([curve, words[spec.y.quantity](curve.y[place])]);
    }
    return { title: label ?? `${spec.x.label} ${words[spec.x.quantity](head ?? x)}`, rows };
  }

  // The same where things with names stand below each other: what all curves are of the thing that is pointed at.
  function along(u, spec) {
    const y = u.posToVal(u.cursor.top, "y");
    const far = ({ at }) => Math.abs(at - y);
    const thing = spec.y.names.reduce((best, other) => (far(other) < far(best) ? other : best));
    const rows = [];
    for (const curve of shown(u, spec)) {
      const values = curve.x.filter((x, at) => Math.abs(curve.y[at] - thing.at) < 0.5).map((x) => words[spec.x.quantity](x));
      if (values.length > 0) rows.push([curve, values.join(" to ")]);
    }
    return { title: thing.name, rows };
  }

  // What is pointed at, beside the cursor.
  function tip(u, spec, box) {
    const { left } = u.cursor;
    if (left === undefined || left === null || left < 0) {
      box.hidden = true;
      return;
    }
    const { title: head, rows } = spec.y.names ? along(u, spec) : across(u, spec);
    box.hidden = rows.length === 0;
    box.replaceChildren();
    const title = document.createElement("b");
    title.textContent = head;
    box.append(title);
    for (const [curve, value] of rows) {
      const row = document.createElement("div");
      const mark = document.createElement("i");
      mark.style.background = color(curve.color);
      row.append(mark, `${curve.name}: ${value}`);
      box.append(row);
    }
    const right = left > u.over.clientWidth / 2;
    box.style.left = right ? "auto" : `${left + 14}px`;
    box.style.right = right ? `${u.over.clientWidth - left + 14}px` : "auto";
  }

  function chart(plot) {
    const spec = json(plot.dataset.chart);
    const data = spec.curves.length === 1 ? [spec.curves[0].x, spec.curves[0].y] : uPlot.join(spec.curves.map((curve) => [curve.x, curve.y]));
    const box = document.createElement("div");
    box.className = "tip";
    box.hidden = true;
    const height = spec.height || 280;
    const ends = (of) => spec.curves.filter((curve) => curve.draw === "segments").flatMap((curve) => curve[of]);
    const u = new uPlot(
      {
        width: plot.clientWidth,
        height,
        legend: { show: false },
        padding: [14, spec.x.names ? 12 : halfOfLast, 0, 0],
        scales: {
          x: { time: false, distr: spec.x.log ? 3 : 1, range: range(spec.x, ends("x")) },
          y: { distr: spec.y.log ? 3 : 1, range: range(spec.y, ends("y")) },
        },
        axes: [axis(spec.x, 2), axis(spec.y, 3)],
        series: [{}, ...spec.curves.map(series)],
        cursor: { points: { show: false }, y: false },
        hooks: { draw: [(u) => extras(u, spec)], setCursor: [(u) => tip(u, spec, box)] },
      },
      data,
      plot,
    );
    u.over.append(box);
    legend(plot, u);
    keys(plot, u, spec);
    return {
      redraw: () => u.redraw(false, true),
      resize: () => u.setSize({ width: plot.clientWidth, height }),
    };
  }

  function legend(plot, u) {
    plot.parentElement.querySelectorAll("[data-curve]").forEach((button) =>
      button.addEventListener("click", () => {
        const show = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", show);
        u.setSeries(Number(button.dataset.curve) + 1, { show });
      }),
    );
  }

  // The arrow keys go from point to point; down and up where things stand below each other.
  function keys(plot, u, spec) {
    const rows = spec.y.names?.map((place) => place.at).reverse();
    const xs = rows ?? u.data[0];
    let at = -1;
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, ...(rows ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
      if (!step) return;
      event.preventDefault();
      at = Math.min(xs.length - 1, Math.max(0, at + step));
      if (rows) u.setCursor({ left: 10, top: u.valToPos(xs[at], "y") });
      else u.setCursor({ left: u.valToPos(xs[at], "x") + (spec.curves[0].draw === "steps" ? 0.5 : 0), top: 10 });
    });
    plot.addEventListener("blur", () => u.setCursor({ left: -10, top: -10 }));
  }
})();
