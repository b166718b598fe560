// What the charts of the owner's page are made of, without a document.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scaleOf, seriesOf, spanOf, stepsOf } from "../../../src/pplx_gateway/web/static/admin-series.js";

const NOW = Date.parse("2026-03-01T10:20:30Z");
const row = (by, cost, requests = 1) => ({ by, sums: { cost, requests, input_tokens: 10, output_tokens: 5 } });

test("a span of days ends today and goes over the end of a month", () => {
  const span = spanOf(7, NOW);
  assert.deepEqual(stepsOf(span).map(({ name }) => name), ["2026-02-23", "2026-02-24", "2026-02-25", "2026-02-26", "2026-02-27", "2026-02-28", "2026-03-01"]);
  assert.equal(span.from.toISOString(), "2026-02-23T00:00:00.000Z");
});

test("a day is 24 hours, the one that runs included", () => {
  const names = stepsOf(spanOf(1, NOW)).map(({ name }) => name);
  assert.equal(names.length, 24);
  assert.equal(names[0], "2026-02-28T11:00:00Z");
  assert.equal(names.at(-1), "2026-03-01T10:00:00Z");
});

test("columns hold each row once, and the greatest come first", () => {
  const span = spanOf(7, NOW);
  const rows = [row({ day: "2026-02-28", model: "small" }, 1), row({ day: "2026-03-01", model: "great" }, 5), row({ day: "2026-02-28", model: "great" }, 2)];
  const { names, others, columns } = seriesOf(rows, span, "model", "cost");
  assert.deepEqual(names, ["great", "small"]);
  assert.equal(others, false);
  assert.deepEqual(columns.slice(-2).map(({ parts }) => parts), [[2, 1], [5, 0]]);
  assert.deepEqual(columns[0].parts, [0, 0]);
});

test("what does not fit is added up as others, and nothing is lost", () => {
  const rows = Array.from({ length: 9 }, (_, at) => row({ day: "2026-03-01", model: `m${at}` }, at + 1));
  const { names, others, columns } = seriesOf(rows, spanOf(7, NOW), "model", "cost", 4);
  assert.deepEqual(names, ["m8", "m7", "m6"]);
  assert.equal(others, true);
  assert.deepEqual(columns.at(-1).parts, [9, 8, 7, 1 + 2 + 3 + 4 + 5 + 6]);
});

test("what cost nothing takes no colour, and a name that is null is one", () => {
  const rows = [row({ day: "2026-03-01", model: "free" }, 0), row({ day: "2026-03-01", model: null }, 3)];
  const { names, columns } = seriesOf(rows, spanOf(7, NOW), "model", "cost");
  assert.deepEqual(names, [null]);
  assert.deepEqual(columns.at(-1).parts, [3]);
  assert.deepEqual(seriesOf(rows, spanOf(7, NOW), "model", "tokens").columns.at(-1).parts, [15, 15]);
});

test("a row outside the span is left out", () => {
  const { columns } = seriesOf([row({ day: "2025-01-01", model: "old" }, 4)], spanOf(7, NOW), "model", "cost");
  assert.equal(columns.flatMap(({ parts }) => parts).reduce((sum, part) => sum + part, 0), 0);
});

test("a scale holds what it is made for, in round steps", () => {
  assert.deepEqual(scaleOf(3, true), { top: 3, ticks: [0, 1, 2, 3] });
  assert.deepEqual(scaleOf(0), { top: 1, ticks: [0, 1] });
  for (const most of [1e-7, 0.00503, 0.42, 1, 7, 12, 99, 1000, 123456]) {
    for (const whole of [false, true]) {
      const { top, ticks } = scaleOf(most, whole);
      assert.ok(top >= most * (1 - 1e-9) && ticks.length <= 7 && ticks.at(-1) === top, String(most));
      if (whole) assert.ok(ticks.every(Number.isInteger), String(most));
    }
  }
});
