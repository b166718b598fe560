// What was used and what it cost, over time, by model, caller, upstream or key.

import { bars, legend, noData } from "./admin-chart.js";
import { axisDollars, dayOf, hourOf, short } from "./admin-format.js";
import { ask, facts, panel, redraw, segments, table } from "./admin-kit.js";
import { MEASURES, seriesOf, spanOf } from "./admin-series.js";
import { make } from "./dom.js";
import { dollars, milliseconds, number, t } from "./i18n.js";

const DAYS = [1, 7, 30, 90];
const BY = ["model", "caller", "upstream", "key"];

export const usage = (place) => {
  const chosen = { days: "7", measure: "cost", by: "model" };
  const shown = make("div");
  const set = (name) => (value) => {
    chosen[name] = value;
    load().catch(failed);
  };
  let failed = () => {};
  place.replaceChildren(
    make("div", { class: "choices" },
      segments("days", t("usage.span"), DAYS.map((days) => [String(days), t(`usage.${days}`)]), chosen.days, set("days")),
      segments("measure", t("usage.measure"), Object.keys(MEASURES).map((name) => [name, t(name)]), chosen.measure, set("measure")),
      segments("by", t("usage.by"), BY.map((name) => [name, t(`by.${name}`)]), chosen.by, set("by"))),
    shown);

  const load = async () => {
    const { days, measure, by } = { ...chosen };
    const span = spanOf(Number(days));
    const from = span.from.getTime() / 1000;
    const [series, groups] = await Promise.all([
      ask(`/admin/usage?group_by=${span.unit},${by}&from=${from}`),
      ask(`/admin/usage?group_by=${by}&from=${from}`),
    ]);
    if (days !== chosen.days || measure !== chosen.measure || by !== chosen.by) return; // another choice was made since
    const called = new Map([...series.rows, ...groups.rows].filter((row) => row.caller_name).map((row) => [row.by.caller, row.caller_name]));
    const nameOf = (name) => called.get(name) ?? (by === "caller" && ["owner", "open"].includes(name) ? t(`caller.${name}`) : name ?? t("noName"));
    redraw(shown,
      panel(t("usage.title", t(measure), t(`usage.${days}`)), { id: "usage-panel" }, totals(series.total), chart(series, span, chosen, nameOf)),
      groups.rows.length ? panel(t("usage.groups", t(`by.${by}`).toLowerCase()), { id: "usage-groups" }, groupsTable(groups.rows, by, measure, nameOf)) : null);
  };

  return { load, every: 20, failing: (handler) => (failed = handler) };
};

const totals = (total) => facts([
  [t("cost"), dollars(total.cost)],
  [t("requests"), number(total.requests)],
  [t("errors"), number(total.errors)],
  [t("tokens.in"), short(total.input_tokens)],
  [t("tokens.out"), short(total.output_tokens)],
  [t("searches.pro"), number(total.pro_searches)],
  [t("searches.api"), number(total.searches)],
  [t("cost.unknown"), total.unknown_costs ? number(total.unknown_costs) : null],
], "tiles");

const chart = ({ rows }, span, { measure, by }, nameOf) => {
  const { names, others, columns } = seriesOf(rows, span, by, measure);
  const sum = columns.reduce((all, { parts }) => all + parts.reduce((one, part) => one + part, 0), 0);
  if (!sum) return noData();
  const words = [...names.map(nameOf), ...(others ? [t("others")] : [])];
  const format = measure === "cost" ? axisDollars : short;
  const told = measure === "cost" ? dollars : number;
  const totalOf = (at) => columns.reduce((all, { parts }) => all + parts[at], 0);
  const reading = make("div", { class: "reading", "aria-live": "polite" });
  const read = (column) => reading.replaceChildren(
    make("p", { class: "when" }, column ? column.full : t("usage.whole")),
    legend(words, (at) => told(column ? column.parts[at] : totalOf(at))));
  read(null);
  const labelled = columns.map((column) => ({
    ...column,
    label: span.unit === "hour" ? hourOf(column.date) : dayOf(column.date),
    full: `${dayOf(column.date)}${span.unit === "hour" ? ` ${hourOf(column.date)}` : ""}`,
  }));
  return [bars({ columns: labelled, label: t("usage.chart", t(measure), t(`by.${by}`).toLowerCase(), told(sum)), format, whole: measure !== "cost", height: 280, pick: read }), reading, make("p", { class: "note" }, t("utc"))];
};

/** What the plan answers has no price, and that is not a price of nothing. */
const priceOf = ({ cost, unknown_costs: unknown }) => (cost ? `${dollars(cost)}${unknown ? "+" : ""}` : unknown ? t("unknown") : "–");

const groupsTable = (rows, by, measure, nameOf) => {
  const value = MEASURES[measure];
  const order = [...rows].sort((one, other) => value(other.sums) - value(one.sums));
  return table(t(`by.${by}`), [[t(`by.${by}`)], [t("cost"), "number"], [t("requests"), "number"], [t("errors"), "number"], [t("tokens"), "number"], [t("latency"), "number"]],
    order.map(({ by: names, sums }) => [make("b", {}, nameOf(names[by])), priceOf(sums), number(sums.requests), number(sums.errors), short(sums.input_tokens + sums.output_tokens), milliseconds(sums.mean_milliseconds)]));
};
