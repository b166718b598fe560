// The checker: good answers pass, and for each check there is a wrong answer that it, and no other way out, calls wrong.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { checksOf, examine } from "../../../src/pplx_gateway/web/static/checks.js";
import { EventReader } from "../../../src/pplx_gateway/web/static/sse.js";
import en from "../../../src/pplx_gateway/web/static/chat-en.js";

const RECORDED = JSON.parse(readFileSync(process.env.EXCHANGES ?? new URL("exchanges.json", import.meta.url)));

const recorded = (form, question = "sources") => heard(structuredClone(RECORDED[`${form} ${question}`]));

/** With the events that its text holds. */
const heard = (exchange) => {
  const reader = new EventReader();
  const events = exchange.stream ? reader.feed(exchange.text).map((event) => ({ at: 0, ...event })) : [];
  return { ...exchange, events, rest: reader.rest };
};

const body = (edit) => (exchange) => {
  const found = JSON.parse(exchange.text);
  edit(found, exchange);
  return { ...exchange, text: JSON.stringify(found) };
};

/** `edit` sees the events' data, parsed, and changes the list or gives a new one. */
const stream = (edit) => (exchange) => {
  const data = exchange.events.map((event) => (event.data === "[DONE]" ? event.data : JSON.parse(event.data)));
  const list = edit(data, exchange) ?? data;
  return heard({ ...exchange, text: list.map((entry) => frame(entry, exchange.api)).join("") });
};

const frame = (entry, api) => {
  if (typeof entry === "string") return `data: ${entry}\n\n`;
  return `${api === "responses" ? `event: ${entry.type}\n` : ""}data: ${JSON.stringify(entry)}\n\n`;
};

const header = (name, value) => (exchange) => ({ ...exchange, headers: { ...exchange.headers, [name]: value } });
const refused = (error) => (exchange) => ({
  ...heard({ ...exchange, text: JSON.stringify({ error }), stream: false }),
  stream: exchange.stream,
  status: 400,
  headers: { "content-type": "application/json", "x-request-id": "req_1" },
});
const calls = (edit) => ({ question: "calls", edit });

const AROUND = {
  status: refused({ message: "No", type: "t", param: null, code: "c" }),
  "request-id": header("x-request-id", undefined),
  "error-shape": { before: refused({ message: "No", type: "t", param: null, code: "c" }), edit: refused({ message: "No" }) },
  upstream: header("x-pplx-upstream", "elsewhere"),
  "dropped-told": header("x-pplx-dropped", "seed"),
};

const PLAIN_WIRE = {
  ...AROUND,
  "content-type": header("content-type", "text/html"),
  json: (exchange) => ({ ...exchange, text: "<html>" }),
};

const STREAM_WIRE = {
  ...AROUND,
  "content-type": header("content-type", "application/json"),
  unbuffered: header("x-accel-buffering", "yes"),
  "line-ends": (exchange) => heard({ ...exchange, text: exchange.text.replaceAll("\n", "\r\n") }),
  terminated: (exchange) => heard({ ...exchange, text: exchange.text.trimEnd() }),
  frames: (exchange) => heard({ ...exchange, text: `data: {"cut\n\n${exchange.text}` }),
  comments: (exchange) => heard({ ...exchange, text: `: ping\n\n${exchange.text}` }),
  "no-error-event": stream((data) => [...data.slice(0, -1), { error: { message: "Broken", code: "c" } }]),
  done: stream((data) => data.slice(0, -1)),
};

// What is wrong with any answer, whether it came in one piece (`set` edits the body) or in parts.
const sources = (set) => ({
  "search-results": set((answer) => (answer.search_results[0].id = "1")),
  "citations-list": set((answer) => (answer.citations[0] = "https://elsewhere.example/")),
  "source-addresses": set((answer) => (answer.search_results[0].url = "javascript:alert(1)")),
});

const message = (edit) => body((answer) => edit(answer.choices[0].message, answer.choices[0]));
const cite = (edit) => message((said) => edit(said.annotations[0].url_citation));

const CHAT_PLAIN = {
  ...PLAIN_WIRE,
  ...sources(body),
  object: body((answer) => (answer.object = "text_completion")),
  id: body((answer) => (answer.id = "resp_1")),
  created: body((answer) => (answer.created *= 1000)),
  model: body((answer) => (answer.model = "")),
  "system-fingerprint": body((answer) => delete answer.system_fingerprint),
  choices: body((answer) => answer.choices.push(answer.choices[0])),
  "choice-index": body((answer) => (answer.choices[0].index = 1)),
  logprobs: body((answer) => delete answer.choices[0].logprobs),
  "finish-reason": body((answer) => (answer.choices[0].finish_reason = "done")),
  role: message((said) => (said.role = "bot")),
  content: message((said) => (said.content = null)),
  "not-empty": message((said) => (said.content = " ")),
  refusal: message((said) => delete said.refusal),
  reasoning: message((said) => (said.reasoning_content = {})),
  "clean-text": message((said) => (said.content += "<think>")),
  "whole-characters": message((said) => (said.content += "\uFFFD")),
  annotations: message((said) => (said.annotations = null)),
  "citation-form": cite((citation) => delete citation.title),
  "citation-place": cite((citation) => (citation.end_index = 9999)),
  "citation-source": cite((citation) => (citation.url = "https://elsewhere.example/")),
  "call-type": calls(message((said) => (said.tool_calls[0].type = "tool"))),
  "calls-not-empty": message((said) => (said.tool_calls = [])),
  "call-form": calls(message((said) => delete said.tool_calls[0].id)),
  "call-arguments": calls(message((said) => (said.tool_calls[0].function.arguments = "{"))),
  "call-offered": calls(message((said) => (said.tool_calls[0].function.name = "erase"))),
  "finish-agrees": message((said, choice) => (choice.finish_reason = "tool_calls")),
  usage: body((answer) => (answer.usage = null)),
  "usage-sum": body((answer) => (answer.usage.total_tokens += 1)),
  "usage-details": body((answer) => (answer.usage.prompt_tokens_details.cached_tokens = 1e6)),
  "usage-cost": calls(body((answer) => (answer.usage.cost.total_cost = "free"))),
  extension: body((answer) => (answer.pplx.upstream = "elsewhere")),
};

const chunk = (edit) => stream((data) => void edit(data.find((entry) => entry.choices?.[0]?.delta.content)));
const finish = (edit) => stream((data) => void edit(data.find((entry) => entry.choices?.[0]?.finish_reason)));
const lastUsage = (edit) => stream((data) => void edit(data.find((entry) => entry.usage)));
const citation = (edit) =>
  stream((data) => void edit(data.find((entry) => entry.choices?.[0]?.delta.annotations).choices[0].delta.annotations[0].url_citation));
const called = (edit) => calls(stream((data) => void edit(data.filter((entry) => entry.choices?.[0]?.delta.tool_calls).map((entry) => entry.choices[0].delta.tool_calls[0]))));

const CHAT_STREAMED = {
  ...STREAM_WIRE,
  ...sources(finish),
  "chunk-object": chunk((entry) => (entry.object = "chat.completion")),
  id: stream((data) => data.slice(0, -1).forEach((entry) => (entry.id = "x"))),
  "one-id": chunk((entry) => (entry.id = "chatcmpl-other")),
  "one-created": chunk((entry) => (entry.created += 1)),
  "one-model": chunk((entry) => (entry.model = "other")),
  "one-system_fingerprint": chunk((entry) => delete entry.system_fingerprint),
  created: stream((data) => data.slice(0, -1).forEach((entry) => (entry.created = 0))),
  "no-event-names": (exchange) => heard({ ...exchange, text: `event: message\n${exchange.text}` }),
  "one-choice": chunk((entry) => (entry.choices[0].index = 1)),
  logprobs: chunk((entry) => delete entry.choices[0].logprobs),
  "no-message": chunk((entry) => (entry.choices[0].message = {})),
  "role-first": chunk((entry) => (entry.choices[0].delta.role = "assistant")),
  "one-finish": stream((data) => data.filter((entry) => !entry.choices?.[0]?.finish_reason)),
  "finish-reason": finish((entry) => (entry.choices[0].finish_reason = "done")),
  "nothing-after-finish": stream((data) => [...data.slice(0, -1), data.find((entry) => entry.choices?.[0]?.delta.content), "[DONE]"]),
  content: chunk((entry) => (entry.choices[0].delta.content = ["a"])),
  "not-empty": stream((data) => data.filter((entry) => !entry.choices?.[0]?.delta.content)),
  "reasoning-first": finish((entry) => (entry.choices[0].delta.reasoning_content = "Hm.")),
  "clean-text": chunk((entry) => (entry.choices[0].delta.content = "<?xml version='1.0'?>")),
  "whole-characters": chunk((entry) => (entry.choices[0].delta.content = "\uFFFD")),
  annotations: finish((entry) => (entry.choices[0].delta.annotations = [{ type: "file_citation" }])),
  "annotations-once": chunk((entry) => (entry.choices[0].delta.annotations = [])),
  "citation-form": citation((found) => (found.url = 7)),
  "citation-place": citation((found) => (found.start_index = found.end_index + 1)),
  "citation-source": citation((found) => (found.url = "https://elsewhere.example/")),
  "sources-first-and-last": finish((entry) => delete entry.search_results),
  "call-parts": called(([first]) => delete first.id),
  "call-form": called(([first]) => (first.function.name = "")),
  "call-arguments": called((parts) => (parts.at(-1).function.arguments += "}")),
  "call-offered": called(([first]) => (first.function.name = "erase")),
  "finish-agrees": finish((entry) => (entry.choices[0].finish_reason = "tool_calls")),
  "usage-place": stream((data) => [...data.slice(0, -2), "[DONE]"]),
  "usage-null-before": chunk((entry) => delete entry.usage),
  usage: lastUsage((entry) => (entry.usage.prompt_tokens = "8")),
  "usage-sum": lastUsage((entry) => (entry.usage.total_tokens += 1)),
  "usage-details": lastUsage((entry) => delete entry.usage.completion_tokens_details.reasoning_tokens),
  "usage-cost": calls(lastUsage((entry) => (entry.usage.cost.total_cost = -1))),
  extension: stream((data) => data.forEach((entry) => delete entry.pplx)),
};

/** Edits the response's object, wherever `put` finds it. */
const object = (put) => {
  const item = (type, edit) => put((answer) => edit(answer.output.find((found) => found.type === type)));
  const said = (edit) => item("message", (found) => edit(found.content[0], found));
  const cited = (edit) => said((part) => edit(part.annotations[0]));
  const call = (edit) => calls(item("function_call", edit));
  return {
    ...sources(put),
    object: put((answer) => (answer.object = "chat.completion")),
    id: put((answer) => (answer.id = "chatcmpl-1")),
    created: put((answer) => (answer.created_at = 0.5)),
    "completed-at": put((answer) => (answer.completed_at = null)),
    "response-status": put((answer) => (answer.status = "failed")),
    "error-null": put((answer) => (answer.error = { code: "server_error", message: "Broken" })),
    "incomplete-details": put((answer) => (answer.incomplete_details = { reason: "max_output_tokens" })),
    model: put((answer) => (answer.model = null)),
    flags: put((answer) => delete answer.background),
    "store-echo": put((answer) => (answer.store = true)),
    sampling: put((answer) => (answer.temperature = null)),
    limits: put((answer) => delete answer.max_output_tokens),
    metadata: put((answer) => (answer.metadata = null)),
    words: put((answer) => (answer.service_tier = null)),
    "text-format": put((answer) => (answer.text = null)),
    "reasoning-echo": put((answer) => (answer.reasoning = {})),
    "instructions-echo": put((answer) => (answer.instructions = "Be brief.")),
    previous: put((answer) => (answer.previous_response_id = "resp_0")),
    "tools-echo": put((answer) => (answer.tools = [{ type: "file_search" }])),
    "tool-choice": put((answer) => (answer.tool_choice = "maybe")),
    output: put((answer) => (answer.output = [])),
    "item-types": put((answer) => answer.output.push({ type: "search_results", id: "sr_1" })),
    "item-ids": put((answer) => (answer.output[0].id = answer.output[1].id)),
    "item-status": item("message", (found) => (found.status = "in_progress")),
    "message-role": item("message", (found) => (found.role = "user")),
    "part-form": said((part) => (part.annotations = null)),
    "not-empty": said((part) => (part.text = "")),
    "reasoning-form": item("reasoning", (found) => (found.summary[0].type = "text")),
    "reasoning-before-message": put((answer) => answer.output.push({ ...answer.output[0], id: "rs_late" })),
    "search-unasked": (exchange) => put(() => {})({ ...exchange, request: { ...exchange.request, tools: [] } }),
    "search-form": item("web_search_call", (found) => delete found.action),
    "clean-text": said((part) => (part.text += "<grok:render>")),
    "whole-characters": said((part) => (part.text += "\uFFFD")),
    annotations: cited((found) => (found.type = "file_citation")),
    "citation-form": cited((found) => delete found.start_index),
    "citation-place": cited((found) => (found.end_index = 1e6)),
    "citation-source": cited((found) => (found.url = "https://elsewhere.example/")),
    "call-ids": call((found) => (found.call_id = found.id)),
    "call-form": call((found) => delete found.name),
    "call-arguments": call((found) => (found.arguments = "17 * 23")),
    "call-offered": call((found) => (found.name = "erase")),
    usage: put((answer) => (answer.usage = null)),
    "usage-sum": put((answer) => (answer.usage.total_tokens -= 1)),
    "usage-details": put((answer) => delete answer.usage.input_tokens_details.cached_tokens),
    "usage-cost": calls(put((answer) => (answer.usage.cost.total_cost = null))),
    "cache-write": put((answer) => delete answer.usage.input_tokens_details.cache_write_tokens),
    extension: put((answer) => delete answer.pplx),
  };
};

const terminal = (edit) => stream((data) => void edit(data.find((event) => event.type === "response.completed").response));
const one = (type, edit) => stream((data) => void edit(data.find((event) => event.type === type), data));
const without = (type) => stream((data) => data.filter((event) => event.type !== type));

const RESPONSES_STREAMED = {
  ...object(terminal),
  ...STREAM_WIRE,
  "event-names": (exchange) => heard({ ...exchange, text: exchange.text.replace("event: response.created\n", "") }),
  sequence: one("response.in_progress", (event) => (event.sequence_number = 7)),
  "created-first": without("response.created"),
  "in-progress-second": without("response.in_progress"),
  "created-empty": one("response.created", (event) => (event.response.usage = {})),
  "one-response": one("response.created", (event) => (event.response.id = "resp_other")),
  "one-terminal": without("response.completed"),
  "terminal-last": stream((data) => [...data.slice(0, -1), data[1], "[DONE]"]),
  "terminal-good": one("response.completed", (event) => (event.type = "response.failed")),
  "inside-items": one("response.output_text.delta", (event) => (event.item_id = "msg_other")),
  "one-open": stream((data) => data.forEach((event) => event.output_index !== undefined && (event.output_index += 1))),
  "added-empty": one("response.output_item.added", (event) => (event.item.status = "completed")),
  "added-done": one("response.output_item.done", (event) => (event.item.type = "message")),
  "output-is-items": terminal((response) => response.output.reverse()),
  "text-adds-up": one("response.output_text.delta", (event) => (event.delta += "!")),
  "reasoning-adds-up": without("response.reasoning_summary_text.delta"),
  "arguments-add-up": calls(without("response.function_call_arguments.delta")),
  "arguments-name": calls(one("response.function_call_arguments.done", (event) => delete event.name)),
  "delta-logprobs": one("response.output_text.done", (event) => delete event.logprobs),
  "part-is-text": one("response.content_part.done", (event) => (event.part.text = "")),
  "annotations-told": without("response.output_text.annotation.added"),
  "annotation-index": one("response.output_text.annotation.added", (event) => (event.annotation_index = 1)),
  "search-order": without("response.web_search_call.searching"),
};

const FORMS = {
  "chat plain": CHAT_PLAIN,
  "chat streamed": CHAT_STREAMED,
  "responses plain": { ...PLAIN_WIRE, ...object(body) },
  "responses streamed": RESPONSES_STREAMED,
};

const stateOf = (exchange, id) => examine(exchange).checks.find((found) => found.id === id);

for (const [form, wrongs] of Object.entries(FORMS)) {
  const [api, way] = form.split(" ");
  const ids = checksOf(api, way === "streamed").map((found) => found.id);

  test(`${form}: good answers pass, by 20 checks and more`, () => {
    for (const question of ["sources", "calls"]) {
      const { checks, counts } = examine(recorded(form, question));
      assert.deepEqual(checks.filter((found) => found.state === "fail"), [], question);
      assert.ok(counts.pass >= 20, `${counts.pass} of ${ids.length}`);
    }
  });

  test(`${form}: each check has an id of its own and is shown to fail`, () => {
    assert.equal(new Set(ids).size, ids.length);
    assert.deepEqual(Object.keys(wrongs).sort(), [...ids].sort());
  });

  for (const [id, wrong] of Object.entries(wrongs)) {
    const { question, before, edit } = typeof wrong === "function" ? { edit: wrong } : wrong;
    const change = typeof edit === "function" ? edit : edit.edit;
    test(`${form}: ${id} fails`, () => {
      const good = recorded(form, question);
      assert.equal(stateOf(before ? before(good) : good, id).state, "pass");
      const found = stateOf(change(recorded(form, question)), id);
      assert.equal(found.state, "fail", JSON.stringify(found));
      assert.ok(found.reason[0] in en, found.reason[0]);
    });
  }
}

test("an error leaves nothing of an answer to look at, and fails for its status", () => {
  for (const form of Object.keys(FORMS)) {
    const { checks } = examine(AROUND.status(recorded(form)));
    assert.deepEqual(checks.filter((found) => found.state === "fail").map((found) => found.id), ["status"], form);
    assert.equal(checks.find((found) => found.id === "not-empty").state, "idle");
  }
});

test("nothing came at all: that fails, and nothing throws", () => {
  for (const [api, streamed] of [["chat", false], ["chat", true], ["responses", false], ["responses", true]]) {
    const { counts } = examine({ api, stream: streamed, request: {}, status: null, headers: {}, text: "", events: [], rest: "" });
    assert.ok(counts.fail > 0);
  }
});

test("whatever is in a body, checks give a verdict and never throw", () => {
  for (const text of ["", "null", "[]", "{}", '{"choices":[]}', '{"choices":[null]}', '{"output":[null],"object":"response"}']) {
    for (const form of Object.keys(FORMS)) {
      const exchange = recorded(form);
      const { counts } = examine(heard({ ...exchange, text: exchange.stream ? `data: ${text}\n\n` : text }));
      assert.ok(counts.fail > 0, `${form} ${text}`);
    }
  }
});

test("every check and every reason has words", () => {
  const ids = Object.keys(FORMS).flatMap((form) => checksOf(form.split(" ")[0], form.endsWith("streamed")).map((found) => found.id));
  assert.deepEqual([...new Set(ids)].filter((id) => !(`check.${id}` in en)), []);
});
