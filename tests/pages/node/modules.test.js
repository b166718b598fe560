// The pages' modules that need no page: event streams, requests, answers, copies, tools, words.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { calculate } from "../../../src/pplx_gateway/web/static/calculator.js";
import { costOf, newAnswer, readBody, readEvent, steps } from "../../../src/pplx_gateway/web/static/chat-answers.js";
import { requestBody } from "../../../src/pplx_gateway/web/static/chat-requests.js";
import { asCurl, asPython } from "../../../src/pplx_gateway/web/static/chat-snippets.js";
import { definitions, run } from "../../../src/pplx_gateway/web/static/chat-tools.js";
import { choose } from "../../../src/pplx_gateway/web/static/i18n.js";
import { EventReader } from "../../../src/pplx_gateway/web/static/sse.js";

const STATIC = new URL("../../../src/pplx_gateway/web/static/", import.meta.url);
const RECORDED = JSON.parse(readFileSync(new URL("exchanges.json", import.meta.url)));

test("a stream reads the same wherever it is cut, and in every line ending", () => {
  const stream = ': hello\n\nevent: a\ndata: {"x":1}\n\ndata: one\ndata: two\n\ndata:three\n\n';
  const due = [[null, null, "hello"], ["a", '{"x":1}', null], [null, "one\ntwo", null], [null, "three", null]];
  for (const text of [stream, stream.replaceAll("\n", "\r\n")]) {
    for (let size = 1; size <= text.length; size += 1) {
      const reader = new EventReader();
      const events = [];
      for (let at = 0; at < text.length; at += size) events.push(...reader.feed(text.slice(at, at + size)));
      assert.deepEqual(events.map(({ name, data, comment }) => [name, data, comment]), due, `${size}`);
      assert.equal(reader.rest, "");
    }
  }
});

test("what no blank line has ended is kept apart", () => {
  const reader = new EventReader();
  assert.equal(reader.feed("data: 1\n\ndata: 2\n").length, 1);
  assert.equal(reader.rest, "data: 2\n");
});

const heard = (name) => {
  const exchange = RECORDED[name];
  const answer = newAnswer();
  if (!exchange.stream) readBody(exchange.api, answer, JSON.parse(exchange.text));
  else {
    for (const { data } of new EventReader().feed(exchange.text)) {
      if (data !== "[DONE]") readEvent(exchange.api, answer, JSON.parse(data));
    }
  }
  return answer;
};

test("all four forms of an answer come to the same", () => {
  const answers = ["chat plain", "chat streamed", "responses plain", "responses streamed"].map((form) => heard(`${form} sources`));
  for (const answer of answers) {
    assert.match(answer.text, /Leie.*Scheldt/);
    assert.equal(answer.text, answers[0].text);
    assert.deepEqual(answer.annotations.map((found) => found.start_index), answers[0].annotations.map((found) => found.start_index));
    assert.deepEqual([...answer.sources.keys()], [1, 2, 3]);
    assert.equal(answer.error, null);
    assert.ok(["stop", "completed"].includes(answer.finish));
    assert.ok(costOf(answer.usage).tokens > 0);
  }
});

test("calls are put together from their parts in all four forms", () => {
  for (const form of ["chat plain", "chat streamed", "responses plain", "responses streamed"]) {
    const { calls } = heard(`${form} calls`);
    assert.deepEqual(calls.map((call) => [call.name, JSON.parse(call.arguments)]), [["calculate", { expression: "17 * 23" }]], form);
    assert.match(calls[0].id, /^call_/);
  }
});

test("errors are found in every place where they can stand", () => {
  const error = { message: "Broken", type: "t", code: "c", param: null };
  for (const [api, data] of [["chat", { error }], ["responses", { type: "error", error, code: "c", message: "Broken" }], ["responses", { type: "response.failed", response: { output: [], error, status: "failed" } }]]) {
    const answer = newAnswer();
    readEvent(api, answer, data);
    assert.equal(answer.error.message, "Broken");
    assert.equal(answer.error.code, "c");
  }
});

test("a failed response leaves what was heard before", () => {
  const answer = newAnswer();
  readEvent("responses", answer, { type: "response.output_text.delta", delta: "Two" });
  readEvent("responses", answer, { type: "response.failed", response: { output: [], error: { message: "m" }, status: "failed" } });
  assert.equal(answer.text, "Two");
});

test("steps are told apart from thoughts", () => {
  assert.deepEqual(steps("Searching: a\nHm.\n\nReading: b\nFound: c"), [
    { kind: "query", text: "a" }, { kind: "thought", text: "Hm." }, { kind: "page", text: "b" }, { kind: "found", text: "c" },
  ]);
});

const TURNS = [
  { role: "user", text: "Look", attachments: [{ kind: "image", name: "a.png", dataUrl: "data:image/png;base64,AA==" }, { kind: "file", name: "b.txt", fileId: "file-1" }] },
  { role: "assistant", text: "", calls: [{ id: "call_1", name: "calculate", arguments: "{}", signature: "s" }] },
  { role: "tool", callId: "call_1", output: "{}" },
  { role: "assistant", text: "Done.", calls: [] },
  { role: "user", text: "Thanks", attachments: [] },
];

test("turns become messages", () => {
  const { messages } = requestBody("chat", TURNS, { model: "gpt", stream: false });
  assert.deepEqual(messages, [
    { role: "user", content: [{ type: "text", text: "Look" }, { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }, { type: "file", file: { file_id: "file-1" } }] },
    { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "calculate", arguments: "{}" }, thought_signature: "s" }] },
    { role: "tool", tool_call_id: "call_1", content: "{}" },
    { role: "assistant", content: "Done." },
    { role: "user", content: "Thanks" },
  ]);
});

test("turns become items", () => {
  const { input } = requestBody("responses", TURNS, { model: "gpt", stream: false });
  assert.deepEqual(input, [
    { role: "user", content: [{ type: "input_text", text: "Look" }, { type: "input_image", image_url: "data:image/png;base64,AA==" }, { type: "input_file", file_id: "file-1" }] },
    { type: "function_call", call_id: "call_1", name: "calculate", arguments: "{}", thought_signature: "s" },
    { type: "function_call_output", call_id: "call_1", output: "{}" },
    { role: "assistant", content: "Done." },
    { role: "user", content: "Thanks" },
  ]);
});

test("pictures are asked for on both interfaces", () => {
  for (const api of ["chat", "responses"]) assert.equal(requestBody(api, [], { model: "gpt", pictures: true }).return_images, true);
});

test("what is not asked for is not sent", () => {
  assert.deepEqual(Object.keys(requestBody("chat", [], { model: "gpt", stream: false })), ["model", "messages", "stream"]);
  assert.deepEqual(Object.keys(requestBody("responses", [], { model: "gpt", stream: true })), ["model", "input", "stream", "store", "reasoning"]);
});

const exchange = (text) => ({ api: "chat", stream: false, path: "/v1/chat/completions", request: { text }, body: JSON.stringify({ text }) });

test("copies hold no key, and quote what a shell and Python would take for theirs", () => {
  const curl = asCurl(exchange("it's $HOME `x` \\"), "http://h");
  assert.match(curl, /-d '\{"text":"it'\\''s \$HOME `x` \\\\"\}'/);
  assert.match(curl, /Bearer \$PPLX_PROXY_API_KEY/);
  const python = asPython(exchange({ a: [null, true, false, 1.5, "\u2028 \\ \" '", {}], b: {} }), "http://h");
  assert.match(python, /None,\n.*True,\n.*False,\n.*1\.5,/);
});

test("the calculator works out, and refuses", () => {
  const due = { "1 + 2 * 3": 7, "(1 + 2) * 3": 9, "2 ^ 3 ^ 2": 512, "-2 ^ 2": -4, "2 ^ -1": 0.5, "7 % 4 - 1": 2, "1e3 / .5": 2000, "--1": 1, "2 * -3": -6 };
  for (const [expression, value] of Object.entries(due)) assert.equal(calculate(expression), value, expression);
  for (const wrong of ["", "1 +", "(1", "1)", "1 2", "alert(1)", "1 / 0", "1 % 0", "9 ^ 9 ^ 9", "this.constructor", "1; 2"]) {
    assert.throws(() => calculate(wrong), Error, wrong);
  }
});

test("tools answer with JSON, whatever they are called with", () => {
  assert.deepEqual(JSON.parse(run({ name: "count_text", arguments: '{"text": "two words 😀"}' })), { characters: 11, words: 3, lines: 1 });
  assert.equal(JSON.parse(run({ name: "current_time", arguments: '{"timezone": "Europe/Brussels"}' })).timezone, "Europe/Brussels");
  for (const call of [{ name: "erase", arguments: "{}" }, { name: "calculate", arguments: "{" }, { name: "constructor", arguments: "{}" }, { name: "current_time", arguments: '{"timezone": "Nowhere"}' }, { name: "count_text", arguments: "null" }, { name: "calculate", arguments: `{"expression": "${"(".repeat(1e5)}"}` }]) {
    assert.ok(JSON.parse(run(call)).error, JSON.stringify(call).slice(0, 60));
  }
  assert.ok(definitions().every((tool) => tool.name && tool.description && tool.parameters.type === "object"));
});

test("the language is the first that the browser names and the page knows", () => {
  assert.equal(choose(["zh-Hans-CN", "en"]), "zh");
  assert.equal(choose(["fr", "en-US", "zh"]), "en");
  assert.equal(choose(["nl"]), "en");
  assert.equal(choose([]), "en");
});

const words = async (name) => Object.keys((await import(new URL(name, STATIC))).default);

test("both languages have words for the same things, with the same blanks", async () => {
  for (const page of readdirSync(STATIC).filter((name) => name.endsWith("-en.js")).map((name) => name.slice(0, -6))) {
    const [en, zh] = (await Promise.all([`${page}-en.js`, `${page}-zh.js`].map((name) => import(new URL(name, STATIC))))).map((module) => module.default);
    assert.deepEqual(Object.keys(zh), Object.keys(en), page);
    for (const [key, text] of Object.entries(en)) {
      assert.ok(zh[key], key);
      const blanks = (found) => [...new Set(found.match(/\{\d\}/g) ?? [])].sort().join();
      assert.ok(blanks(text).startsWith(blanks(zh[key])) || blanks(zh[key]) === blanks(text), key);
    }
  }
});

const BUILT = /^(check\.|reason\.|on\.|can\.|upstream\.|lamp\.|dial\.|outcome\.|theme\.|starter\.|raw\.)/;
const OWN = { chat: /^(chat|check)/, admin: /^admin/ };

test("every word that a page or one of its modules asks for is there", async () => {
  const kit = await words("kit-en.js");
  const names = readdirSync(STATIC).filter((name) => /\.(js|html)$/.test(name) && !/\.min\.js$|-(en|zh)\.js$/.test(name));
  for (const [page, own] of Object.entries(OWN)) {
    if (!names.includes(`${page}.html`)) continue;
    const others = Object.values(OWN).filter((pattern) => pattern !== own);
    const texts = names.filter((name) => !others.some((pattern) => pattern.test(name))).map((name) => readFileSync(new URL(name, STATIC), "utf8"));
    const asked = texts.flatMap((text) => [...text.matchAll(/(?:\bt\(|data-t(?:-label|-hint)?=)"([^"]+)"/g)].map((found) => found[1]));
    const known = new Set([...kit, ...(await words(`${page}-en.js`))]);
    assert.deepEqual(asked.filter((key) => !known.has(key)), [], page);
  }
});

test("no word of the chat's is left over", async () => {
  const all = readdirSync(STATIC).filter((name) => /\.(js|html)$/.test(name) && !/\.min\.js$|-(en|zh)\.js$/.test(name)).map((name) => readFileSync(new URL(name, STATIC), "utf8")).join("\n");
  assert.deepEqual((await words("chat-en.js")).filter((key) => !BUILT.test(key) && !all.includes(`"${key}"`)), []);
});

test("every reason that a check gives has words", async () => {
  const known = new Set(await words("chat-en.js"));
  const checks = readdirSync(STATIC).filter((name) => /^check/.test(name)).map((name) => readFileSync(new URL(name, STATIC), "utf8")).join("\n");
  const reasons = new Set([...checks.matchAll(/"(reason\.\w+)"/g)].map((found) => found[1]));
  assert.deepEqual([...reasons].filter((key) => !known.has(key)), []);
  assert.deepEqual([...known].filter((key) => key.startsWith("reason.") && !reasons.has(key)), []);
});
