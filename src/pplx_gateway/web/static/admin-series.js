// What a chart shows, made of the rows of /admin/usage. No document is needed here.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const MOST_SERIES = 6;

export const MEASURES = {
  cost: (sums) => sums.cost,
  requests: (sums) => sums.requests,
  tokens: (sums) => sums.input_tokens + sums.output_tokens,
};

/** A span that ends now: {unit: "hour" | "day", from, steps}; `from` is a Date at the begin of an hour or day of UTC. */
export const spanOf = (days, now = Date.now()) => {
  const [unit, size] = days <= 1 ? ["hour", HOUR] : ["day", DAY];
  const steps = days <= 1 ? 24 : days;
  const last = Math.floor(now / size) * size;
  return { unit, steps, from: new Date(last - (steps - 1) * size) };
};

/** The names that SQL gives to the steps of a span, with the moments they begin. */
export const stepsOf = ({ unit, from, steps }) =>
  Array.from({ length: steps }, (_, at) => {
    const date = new Date(from.getTime() + at * (unit === "hour" ? HOUR : DAY));
    const iso = date.toISOString();
    return { date, name: unit === "hour" ? `${iso.slice(0, 13)}:00:00Z` : iso.slice(0, 10) };
  });

/** {names, others, columns}: those with the greatest sums. Each column has a part a name, and where there are `others` one
 *  more, for all of them together. What adds up to nothing is left out. */
export const seriesOf = (rows, span, by, measure, most = MOST_SERIES) => {
  const value = MEASURES[measure];
  const sums = new Map();
  for (const { by: names, sums: found } of rows) sums.set(names[by], (sums.get(names[by]) ?? 0) + value(found));
  const order = [...sums].filter(([, sum]) => sum > 0).sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const shown = order.length > most ? order.slice(0, most - 1) : order;
  const place = new Map(shown.map((name, at) => [name, at]));
  const width = shown.length + (order.length > shown.length ? 1 : 0);
  const columns = stepsOf(span).map((step) => ({ ...step, parts: Array(width).fill(0) }));
  const column = new Map(columns.map((step) => [step.name, step]));
  for (const { by: names, sums: found } of rows) {
    const parts = column.get(names[span.unit])?.parts;
    if (parts && value(found) > 0) parts[place.get(names[by]) ?? width - 1] += value(found);
  }
  return { names: shown, others: width > shown.length, columns };
};

/** A scale from 0 to a round number that holds `most`: {top, ticks}. `whole`: only whole steps. */
export const scaleOf = (most, whole = false) => {
  if (!(most > 0)) return { top: 1, ticks: [0, 1] };
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((found) => found >= rough && (!whole || Number.isInteger(found))) ?? 1;
  const count = Math.ceil(most / step - 1e-9);
  return { top: count * step, ticks: Array.from({ length: count + 1 }, (_, at) => at * step) };
};
