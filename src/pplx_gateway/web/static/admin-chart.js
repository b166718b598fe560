// Charts, drawn by hand as SVG. They take the width that they are given, and are drawn anew when it changes.

import { scaleOf } from "./admin-series.js";
import { draw, make } from "./dom.js";
import { t } from "./i18n.js";

const LEFT = 46, RIGHT = 8, TOP = 10, BOTTOM = 22;

/** Calls `paint(width)` now and whenever the width of `place` is another one, as long as it is in the page. */
const fitting = (place, paint) => {
  let width = 0;
  new ResizeObserver(() => {
    const found = Math.floor(place.clientWidth);
    if (found && found !== width) paint((width = found));
  }).observe(place);
};

const axis = (width, height, { top, ticks }, format) => ticks.flatMap((tick) => {
  const y = height - BOTTOM - (tick / top) * (height - TOP - BOTTOM);
  return [
    draw("line", { class: tick ? "grid" : "base", x1: LEFT, x2: width - RIGHT, y1: y, y2: y }),
    draw("text", { class: "tick", x: LEFT - 8, y: y + 3.5, "text-anchor": "end" }, format(tick)),
  ];
});

/** Stacked bars. `columns`: [{label, full, parts}]; `format` is told each value; `whole`: only whole numbers occur.
 *  `pick(column or null)` is told where the pointer or the arrow keys are. */
export const bars = ({ columns, label, format, whole = false, height = 230, classes = [], pick = () => {} }) => {
  const place = make("div", { class: "chart", tabindex: "0", role: "img", "aria-label": label });
  const sums = columns.map(({ parts }) => parts.reduce((sum, part) => sum + part, 0));
  const scale = scaleOf(Math.max(...sums), whole);
  let picked = null;
  let groups = [];

  const choose = (at) => {
    if (picked === at) return;
    picked = at;
    groups.forEach((group, index) => group.classList.toggle("dim", at !== null && index !== at));
    pick(at === null ? null : columns[at]);
  };

  fitting(place, (width) => {
    const room = (width - LEFT - RIGHT) / columns.length;
    const thick = Math.max(1.5, Math.min(34, room * 0.7));
    const every = Math.max(1, Math.ceil(columns.length / Math.max(2, Math.floor((width - LEFT) / 64))));
    groups = columns.map((column, at) => {
      const x = LEFT + room * at + (room - thick) / 2;
      let y = height - BOTTOM;
      const parts = column.parts.map((part, index) => {
        const tall = (part / scale.top) * (height - TOP - BOTTOM);
        if (!tall) return null;
        y -= tall;
        return draw("rect", { class: classes[index] ?? `s${index}`, x: x.toFixed(2), y: y.toFixed(2), width: thick.toFixed(2), height: Math.max(0.75, tall - (index ? 1 : 0)).toFixed(2) });
      });
      return draw("g", {}, parts);
    });
    const labels = columns.map((column, at) => at % every ? null : draw("text", { class: "tick", x: LEFT + room * (at + 0.5), y: height - 6, "text-anchor": "middle" }, column.label));
    place.replaceChildren(draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, axis(width, height, scale, format), groups, labels));
    place.onpointermove = (event) => {
      const at = Math.floor((event.clientX - place.getBoundingClientRect().left - LEFT) / room);
      choose(at >= 0 && at < columns.length ? at : null);
    };
  });

  place.addEventListener("pointerleave", () => choose(null));
  place.addEventListener("blur", () => choose(null));
  place.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.min(columns.length - 1, Math.max(0, (picked ?? (step > 0 ? -1 : columns.length)) + step)));
  });
  return place;
};

/** A line of steps: a value holds until the next one. `points`: [[milliseconds, number or null]], in their order; null =
 *  not known, and the line has a gap. */
export const steps = ({ points, from, to, label, format, begin, end, height = 120, name = "s0" }) => {
  const place = make("div", { class: "chart", role: "img", "aria-label": label });
  const known = points.filter(([, value]) => value !== null);
  const scale = scaleOf(Math.max(0, ...known.map(([, value]) => value)), true);
  fitting(place, (width) => {
    const x = (at) => LEFT + ((Math.max(from, at) - from) / (to - from)) * (width - LEFT - RIGHT);
    const y = (value) => height - BOTTOM - (value / scale.top) * (height - TOP - BOTTOM);
    const runs = [];
    points.forEach(([at, value], index) => {
      const until = points[index + 1]?.[0] ?? to;
      if (value === null) return;
      const joined = index > 0 && points[index - 1][1] !== null;
      if (!joined) runs.push([]);
      runs.at(-1).push([x(at), y(value)], [x(until), y(value)]);
    });
    const path = (run) => run.map(([left, top], at) => `${at ? "L" : "M"}${left.toFixed(1)} ${top.toFixed(1)}`).join("");
    const ground = height - BOTTOM;
    const ticks = { top: scale.top, ticks: [0, scale.top] };
    place.replaceChildren(draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" },
      axis(width, height, ticks, format),
      runs.map((run) => draw("path", { class: `area ${name}`, d: `${path(run)}L${run.at(-1)[0].toFixed(1)} ${ground}L${run[0][0].toFixed(1)} ${ground}Z` })),
      runs.map((run) => draw("path", { class: `line ${name}`, d: path(run) })),
      known.length && points.at(-1)[1] !== null ? draw("circle", { class: name, cx: x(to), cy: y(points.at(-1)[1]), r: 3.5 }) : null,
      draw("text", { class: "tick", x: LEFT, y: height - 6 }, begin),
      draw("text", { class: "tick", x: width - RIGHT, y: height - 6, "text-anchor": "end" }, end)));
  });
  return place;
};

/** What the colours of `bars` stand for; `value(at)` may say more. */
export const legend = (names, value = () => null) =>
  make("ul", { class: "legend" }, names.map((name, at) => make("li", {}, make("span", { class: `swatch s${at}` }), make("span", { class: "name" }, name), value(at) === null ? null : make("b", {}, value(at)))));

export const noData = () => make("p", { class: "empty" }, t("chart.empty"));
