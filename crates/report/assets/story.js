// The parts of one detour: entry gap, each activity with its function and sender, exit gap, steal.
"use strict";

anechoic.story = (() => {
  const { count, time, instant } = anechoic;

  function element(tag, className, ...content) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...content.filter((part) => part !== null && part !== ""));
    return made;
  }

  // Index of stories by place: of a cell its own; of a source all, by length.
  function index(picture) {
    const own = new Map();
    const bySource = new Map();
    for (const story of picture.stories) {
      const [cpu, cell, , , rank] = story;
      if (cell >= 0) own.set(`${cpu}/${cell}`, story);
      if (!bySource.has(rank)) bySource.set(rank, []);
      bySource.get(rank).push(story);
    }
    return { own, bySource };
  }

  // A story of the same source, as near in length as there is one, of the same CPU if that is as good.
  function example(index, cpu, rank, length) {
    const far = (story) => Math.abs(Math.log((story[3] + 1) / (length + 1))) + (story[0] === cpu ? 0 : 0.05);
    let best = null;
    for (const story of index.bySource.get(rank) ?? []) if (!best || far(story) < far(best)) best = story;
    return best;
  }

  function what(picture, [kind, , rank, func, sender]) {
    const label = picture.sources[rank].label;
    const gap = kind <= 2;
    const name = element("span", "what", gap ? `${picture.kinds[kind]}` : label);
    const about = [];
    if (gap) about.push(`charged to ${label}`);
    else if (picture.kinds[kind]) about.push(picture.kinds[kind]);
    if (func !== null && picture.words[func] !== label) about.push(`in ${picture.words[func]}`);
    if (sender !== null) about.push(`sent by ${picture.words[sender]}`);
    return [name, about.length ? element("span", "about", about.join(" · ")) : ""];
  }

  function rows(picture, story) {
    const [, , , length, , , list, more, moreNs] = story;
    const items = list.map((row) => {
      const [kind, depth, rank, , , start, own] = row;
      const item = element("li", kind <= 2 ? "gap" : "");
      item.style.setProperty("--depth", Math.min(depth, 6));
      const mark = element("i");
      mark.style.background = `var(--c-${picture.sources[rank].color})`;
      const [name, about] = what(picture, row);
      item.append(element("span", "when", `+${time(start)}`), mark, element("span", "text", name, about), element("span", "took", time(own)));
      return item;
    });
    if (more > 0) items.push(element("li", "gap", element("span", "when"), element("i"), element("span", "text", `and ${count(more)} shorter ones`), element("span", "took", time(moreNs))));
    return element("ol", "", ...items);
  }

  // The detour as one bar: what took which part of it.
  function bar(picture, story) {
    const [, , , length, , , list] = story;
    const parts = list.filter((row) => row[6] > 0).map((row) => {
      const part = element("span", row[0] <= 2 ? "gap" : "");
      part.style.flexGrow = row[6] / Math.max(length, 1);
      part.style.setProperty("--color", `var(--c-${picture.sources[row[2]].color})`);
      return part;
    });
    const made = element("div", "strip", ...parts);
    made.setAttribute("aria-hidden", "true");
    return made;
  }

  function whole(picture, story) {
    if (story[6].length === 0) return [element("p", "hint", "The cause is unknown: no kernel events were recorded or attributed.")];
    const steal = story[5];
    const end = steal === null ? "" : element("p", "steal", steal === 0 ? "The hypervisor reported no steal." : `The hypervisor gave ${time(steal)} of it to others (steal).`);
    return [bar(picture, story), rows(picture, story), end];
  }

  // All that there is to say of a cell. `cell`: its start, length, count and rank.
  function tell(picture, index, place, at, cell) {
    const cpu = picture.cpus[place].cpu;
    const source = picture.sources[cell.rank];
    const head = element("p", "title", element("b", "", `${time(cell.length)} ${source.label}`), ` on CPU ${cpu} at ${instant(cell.start, picture.span_ns)}`);
    if (cell.count > 1) head.append(`, the longest of ${count(cell.count)} detours in this mark`);
    const own = index.own.get(`${place}/${at}`);
    if (own) return [head, ...whole(picture, own)];
    const like = example(index, place, cell.rank, cell.length);
    if (!like) return [head, element("p", "hint", "Its parts are not in this file, only in the recording.")];
    const intro = `Its parts are not in this file. A similar detour, ${time(like[3])} on CPU ${picture.cpus[like[0]].cpu} at ${instant(like[2], picture.span_ns)}:`;
    return [head, element("p", "hint", intro), ...whole(picture, like)];
  }

  return { index, tell };
})();
