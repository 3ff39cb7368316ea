// What all of the page uses: numbers as the text writes them, colours, theme, print, tables that sort.
"use strict";

const anechoic = (() => {
  const json = (id) => JSON.parse(document.getElementById(id).textContent);
  const formats = json("formats");
  const root = document.documentElement;

  const count = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");

  // A time as `units::time` writes it: the same table.
  function time(ns) {
    if (ns === 0) return "0 ns";
    const row = formats.times.find((row) => Math.abs(ns) < row.below_ns);
    if (!row) return `${count(ns / 1e9)} s`;
    return `${(ns / row.unit_ns).toFixed(row.decimals)} ${row.unit}`;
  }

  // Seconds since the start, with digits enough for a span.
  function instant(ns, span) {
    const digits = Math.min(9, Math.max(3, Math.ceil(3 - Math.log10(Math.max(span, 1) / 1e9))));
    return `${(ns / 1e9).toFixed(digits)} s`;
  }

  // A plain number in three digits or so.
  function plain(value) {
    const size = Math.abs(value);
    if (size >= 9999.5) return count(value);
    if (size === 0) return "0";
    if (size < 1e-4) return value.toExponential(1);
    return String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
  }

  // Values that are pointed at, by what their axis measures.
  const words = {
    time,
    count: (value) => (value < 100 ? plain(value) : count(value)),
    share: (value) => `${Number((value * 100).toPrecision(3))} %`,
    frequency: (value) => (value >= 1000 ? `${plain(value / 1000)} kHz` : `${plain(value)} Hz`),
    number: (value) => plain(value),
  };

  const variable = (name) => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const color = (name) => variable(`c-${name}`) || variable("text");

  // Timelines: built when they come near the screen, drawn again when colours or sizes change.
  const waiting = new Map();
  const drawn = [];
  const near = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => build(entry.target)),
    { rootMargin: "600px" },
  );
  function build(element) {
    const make = waiting.get(element);
    if (!make) return;
    waiting.delete(element);
    near.unobserve(element);
    drawn.push(make());
  }
  function whenSeen(element, make) {
    waiting.set(element, make);
    // What is in view from the beginning waits for nobody: a page that is only photographed may have one frame.
    if (element.getBoundingClientRect().top < innerHeight + 600) queueMicrotask(() => build(element));
    else near.observe(element);
  }
  const buildAll = () => [...waiting.keys()].forEach(build);
  const redraw = () => drawn.forEach((chart) => chart.redraw());
  let resizing = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(() => drawn.forEach((chart) => chart.resize()));
  });

  // Light and dark: the system's, until the reader chooses.
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  function named() {
    button.textContent = isDark() ? "Light" : "Dark";
    redraw();
  }
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    named();
  });
  system.addEventListener("change", named);

  // Paper is white, and shows all charts and rows.
  let before = null;
  function toPaper(on) {
    if (on && before === null) {
      before = root.dataset.theme ?? "";
      root.dataset.theme = "light";
      document.querySelectorAll("details.for-paper").forEach((details) => (details.open = true));
      buildAll();
    } else if (!on && before !== null) {
      if (before) root.dataset.theme = before;
      else delete root.dataset.theme;
      before = null;
    } else return;
    drawn.forEach((chart) => chart.resize());
    named();
  }
  addEventListener("beforeprint", () => toPaper(true));
  addEventListener("afterprint", () => toPaper(false));
  matchMedia("print").addEventListener("change", (media) => toPaper(media.matches));

  // Tables that sort by the heading that is pressed; the running total follows.
  function rowsOf(table) {
    const body = table.tBodies[0];
    const column = Number(table.dataset.total);
    const most = table.dataset.all ? Infinity : Number(table.dataset.rows ?? Infinity);
    let sum = 0;
    [...body.rows].forEach((row, at) => {
      row.classList.toggle("folded", at >= most);
      if (!table.dataset.total) return;
      sum += Number(row.cells[column - 1].dataset.v);
      row.cells[column].textContent = `${(sum * 100).toFixed(1)} %`;
    });
  }
  function sort(table, head) {
    const column = head.cellIndex;
    const numeric = head.classList.contains("n");
    const now = head.getAttribute("aria-sort");
    const rising = now ? now === "descending" : !numeric;
    const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const order = numeric ? (a, b) => Number(value(a)) - Number(value(b)) : (a, b) => value(a).localeCompare(value(b));
    const rows = [...table.tBodies[0].rows].sort((a, b) => (rising ? order(a, b) : order(b, a)));
    table.tBodies[0].append(...rows);
    [...table.tHead.rows[0].cells].forEach((cell) => cell.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    rowsOf(table);
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    rowsOf(table);
    table.tHead.addEventListener("click", (event) => {
      const pressed = event.target.closest("button");
      if (pressed) sort(table, pressed.closest("th"));
    });
    const more = table.closest(".wide").nextElementSibling?.querySelector("[data-more]");
    more?.addEventListener("click", () => {
      table.dataset.all = "1";
      rowsOf(table);
      more.remove();
    });
  }
  // Regions that have nothing to scroll need no stop of the keyboard.
  const scrolls = () =>
    document.querySelectorAll("div.wide").forEach((wide) => {
      if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
      else wide.removeAttribute("tabindex");
    });
  scrolls();
  addEventListener("resize", scrolls);
  named();

  return { json, count, time, instant, words, color, variable, whenSeen };
})();
