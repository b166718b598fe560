// Checks of the Responses interface: of the object, wherever it stands, and of the events of a stream.

import { PASS, check, each, fail, idle, isTime, members, oneOf, passIf, same, shown, wrongMember } from "./check-kit.js";
import * as shared from "./check-shared.js";

const NAMES = ["input_tokens", "output_tokens"];
const TYPES = ["message", "function_call", "reasoning", "web_search_call"];

const output = (seen) => seen.answer.output;
const ofType = (seen, type) => output(seen).filter((item) => item.type === type);
const parts = (seen) => ofType(seen, "message").flatMap((item) => item.content);
const said = (seen) => parts(seen).map((part) => part.text ?? part.refusal ?? "").join("");
const calls = (seen) =>
  ofType(seen, "function_call").map((item) => ({ id: item.call_id, name: item.name, arguments: item.arguments, at: item.id }));
const cited = (seen) =>
  parts(seen).flatMap((part) => (part.annotations ?? []).map((citation, index) => ({ citation, text: part.text, at: `annotations[${index}]` })));

const OBJECT = [
  check("answer", "object", (seen) => same(seen.answer.object, "response", "object")),
  check("answer", "id", (seen) => passIf(/^resp_\w+/.test(seen.answer.id), "reason.wanted", "id", "resp_…", shown(seen.answer.id))),
  check("answer", "created", (seen) => passIf(isTime(seen.answer.created_at), "reason.time", "created_at", shown(seen.answer.created_at))),
  check("answer", "completed-at", (seen) => passIf(isTime(seen.answer.completed_at) && seen.answer.completed_at >= seen.answer.created_at, "reason.time", "completed_at", shown(seen.answer.completed_at))),
  check("answer", "response-status", (seen) => oneOf(seen.answer.status, ["completed", "incomplete"], "status")),
  check("answer", "error-null", (seen) => passIf(seen.answer.error === null, "reason.wanted", "error", "null", shown(seen.answer.error))),
  check("answer", "incomplete-details", (seen) => {
    const { status, incomplete_details: details } = seen.answer;
    return passIf((status === "incomplete") === Boolean(details) && details !== undefined, "reason.details", shown(status), shown(details));
  }),
  check("answer", "model", (seen) => members(seen.answer, { model: "words" })),
  check("answer", "flags", (seen) => members(seen.answer, { background: "flag", parallel_tool_calls: "flag", store: "flag" })),
  check("answer", "store-echo", (seen) => same(seen.answer.store, seen.request.store ?? true, "store")),
  check("answer", "sampling", (seen) => members(seen.answer, { temperature: "number", top_p: "number", presence_penalty: "number", frequency_penalty: "number", top_logprobs: "whole" })),
  check("answer", "limits", (seen) => members(seen.answer, { max_output_tokens: "wholeOrNull", max_tool_calls: "wholeOrNull" })),
  check("answer", "metadata", (seen) => members(seen.answer, { metadata: "object" })),
  check("answer", "words", (seen) => members(seen.answer, { service_tier: "words", truncation: "words" })),
  check("answer", "text-format", (seen) => members(seen.answer.text?.format, { type: "words" }, "text.format.")),
  check("answer", "reasoning-echo", (seen) => {
    const found = seen.answer.reasoning;
    return found === null ? PASS : members(found, { effort: "textOrNull", summary: "textOrNull" }, "reasoning.");
  }),
  check("answer", "instructions-echo", (seen) => same(seen.answer.instructions, seen.request.instructions ?? null, "instructions")),
  check("answer", "previous", (seen) => same(seen.answer.previous_response_id, seen.request.previous_response_id ?? null, "previous_response_id")),
  check("answer", "tools-echo", (seen) => {
    const types = (list) => (list ?? []).map((tool) => tool.type);
    if (!Array.isArray(seen.answer.tools)) return fail("reason.kind", "tools", "list", shown(seen.answer.tools));
    return same(types(seen.answer.tools).join(), types(seen.request.tools).join(), "tools");
  }),
  check("answer", "tool-choice", (seen) => passIf(["none", "auto", "required"].includes(seen.answer.tool_choice) || Boolean(seen.answer.tool_choice?.type), "reason.wanted", "tool_choice", "auto", shown(seen.answer.tool_choice))),
  check("items", "output", (seen) => passIf(Array.isArray(output(seen)) && output(seen).length > 0, "reason.emptyList", "output")),
  check("items", "item-types", (seen) => each(output(seen), (item, index) => !TYPES.includes(item.type) && ["reason.wanted", `output[${index}].type`, TYPES.join(" | "), shown(item.type)])),
  check("items", "item-ids", (seen) => {
    const ids = output(seen).map((item) => item.id);
    return passIf(ids.every((id) => /^\w+_\w+$/.test(id)) && new Set(ids).size === ids.length, "reason.ids", shown(ids));
  }),
  check("items", "item-status", (seen) => each(output(seen), (item, index) => item.status !== undefined && item.status !== "completed" && item.status !== seen.answer.status && ["reason.wanted", `output[${index}].status`, "completed", shown(item.status)])),
  check("items", "message-role", (seen) => each(ofType(seen, "message"), (item) => item.role !== "assistant" && ["reason.wanted", `${item.id}.role`, "assistant", shown(item.role)])),
  check("items", "part-form", (seen) => each(parts(seen), (part) => (part.type === "refusal" ? wrongMember(part, { refusal: "text" }) : part.type === "output_text" ? wrongMember(part, { text: "text", annotations: "list", logprobs: "list" }, "content.") : ["reason.wanted", "content.type", "output_text", shown(part.type)]))),
  check("items", "not-empty", (seen) => passIf(Boolean(said(seen).trim()) || calls(seen).length > 0, "reason.empty")),
  check("items", "reasoning-form", (seen) => {
    const found = ofType(seen, "reasoning");
    if (!found.length) return idle("reason.noReasoning");
    return each(found, (item) => (item.summary ?? [undefined]).map((part) => wrongMember(part, { text: "text" }, "summary.") ?? (part.type !== "summary_text" && ["reason.wanted", "summary.type", "summary_text", shown(part.type)])).find(Boolean));
  }),
  check("items", "reasoning-before-message", (seen) => {
    const types = output(seen).map((item) => item.type);
    if (!types.includes("reasoning")) return idle("reason.noReasoning");
    const message = types.indexOf("message");
    return passIf(message < 0 || types.lastIndexOf("reasoning") < message, "reason.reasoningLate", types.lastIndexOf("reasoning"), message);
  }),
  check("items", "search-unasked", (seen) => {
    const asked = (seen.request.tools ?? []).some((tool) => tool.type?.startsWith("web_search"));
    return passIf(asked || !ofType(seen, "web_search_call").length, "reason.searchUnasked");
  }),
  check("items", "search-form", (seen) => {
    const found = ofType(seen, "web_search_call");
    if (!found.length) return idle("reason.noSearch");
    return each(found, (item) => item.action?.type === undefined && ["reason.missing", `${item.id}.action.type`]);
  }),
  ...shared.text(said),
  check("sources", "annotations", (seen) => each(cited(seen), ({ citation, at }) => citation.type !== "url_citation" && ["reason.wanted", `${at}.type`, "url_citation", shown(citation.type)])),
  ...shared.citations(cited),
  ...shared.sources,
  check("calls", "call-ids", (seen) => {
    const found = ofType(seen, "function_call");
    if (!found.length) return idle("reason.noCalls");
    return each(found, (item) => item.id === item.call_id && ["reason.callIds", item.id]);
  }),
  ...shared.calls(calls),
  ...shared.usage(NAMES),
  check("usage", "cache-write", (seen) => members(seen.usage.input_tokens_details, { cache_write_tokens: "count" }, "input_tokens_details.")),
  shared.extension,
  shared.honesty,
];

export const PLAIN = OBJECT;

// The events of a stream.

const TERMINAL = ["response.completed", "response.incomplete", "response.failed"];
const types = (seen) => seen.data.map((event) => event.type);
const named = (seen, ...wanted) => seen.data.filter((event) => wanted.includes(event.type));
const added = (seen) => named(seen, "response.output_item.added");
const finished = (seen) => named(seen, "response.output_item.done");

/** Each done event of type `done` says what the deltas of its item came to. */
const adds = (id, delta, done, name) =>
  check("events", id, (seen) => {
    const ends = named(seen, done);
    if (!ends.length) return idle("reason.noSuch", done);
    return each(ends, (end) => {
      const mine = (event) => event.item_id === end.item_id && event.content_index === end.content_index && event.summary_index === end.summary_index;
      const sum = named(seen, delta).filter(mine).map((event) => event.delta).join("");
      return sum !== end[name] && ["reason.wanted", done, shown(end[name]), shown(sum)];
    });
  });

/** Every event that speaks of an item comes between that item's beginning and end. */
const insideItems = (seen) => {
  const open = new Map();
  return each(seen.data, (event, index) => {
    const at = event.output_index;
    if (event.type === "response.output_item.added") return open.set(at, event.item.id) && null;
    if (event.type === "response.output_item.done") return !open.delete(at) && ["reason.outside", index, event.type];
    return at !== undefined && open.get(at) !== event.item_id && ["reason.outside", index, event.type];
  });
};

const oneOpen = (seen) => {
  let open = null;
  let next = 0;
  return each(seen.data, (event, index) => {
    if (event.type === "response.output_item.added") {
      if (open !== null || event.output_index !== next) return ["reason.order", index, next, event.output_index];
      [open, next] = [next, next + 1];
    }
    if (event.type === "response.output_item.done") {
      if (event.output_index !== open) return ["reason.order", index, open, event.output_index];
      open = null;
    }
    return null;
  });
};

export const STREAMED = [
  check("events", "event-names", (seen) => each(seen.frames, ({ event, data }, index) => data !== undefined && event.name !== data.type && ["reason.wanted", `event [${index}]`, shown(data.type), shown(event.name)])),
  check("events", "sequence", (seen) => each(seen.data, (event, index) => event.sequence_number !== index && ["reason.wanted", "sequence_number", index, shown(event.sequence_number)])),
  check("events", "created-first", (seen) => same(types(seen)[0], "response.created", "[0].type")),
  check("events", "in-progress-second", (seen) => oneOf(types(seen)[1], ["response.in_progress", "response.queued"], "[1].type")),
  check("events", "created-empty", (seen) => {
    const { response } = seen.data[0];
    return passIf(response.output.length === 0 && response.usage === null && ["in_progress", "queued"].includes(response.status), "reason.createdEmpty", shown(response.status));
  }),
  check("events", "one-response", (seen) => {
    const ids = new Set(seen.data.filter((event) => event.response).map((event) => event.response.id));
    return same(ids.size, 1, "response.id");
  }),
  check("events", "one-terminal", (seen) => same(named(seen, ...TERMINAL).length, 1, "response.completed")),
  check("events", "terminal-last", (seen) => oneOf(types(seen).at(-1), TERMINAL, "type")),
  check("events", "terminal-good", (seen) => {
    const last = seen.data.at(-1);
    return passIf(["response.completed", "response.incomplete"].includes(last?.type), "reason.errorEvent", last?.response?.error?.type ?? shown(last?.type), last?.response?.error?.message ?? "");
  }),
  check("events", "inside-items", insideItems),
  check("events", "one-open", oneOpen),
  check("events", "added-empty", (seen) => each(added(seen), ({ item }) => ((item.content?.length ?? 0) > 0 || (item.arguments ?? "") !== "" || (item.summary?.length ?? 0) > 0 || item.status === "completed") && ["reason.addedEmpty", item.id])),
  check("events", "added-done", (seen) => each(added(seen), ({ item, output_index: at }) => {
    const end = finished(seen).find((event) => event.output_index === at)?.item;
    return !(end && end.id === item.id && end.type === item.type) && ["reason.notDone", item.id];
  })),
  check("events", "output-is-items", (seen) => {
    const items = finished(seen).map((event) => event.item);
    return passIf(JSON.stringify(items) === JSON.stringify(output(seen)), "reason.outputDiffers");
  }),
  adds("text-adds-up", "response.output_text.delta", "response.output_text.done", "text"),
  adds("reasoning-adds-up", "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "text"),
  adds("arguments-add-up", "response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"),
  check("events", "arguments-name", (seen) => {
    const found = named(seen, "response.function_call_arguments.done");
    if (!found.length) return idle("reason.noCalls");
    return each(found, (event) => typeof event.name !== "string" && ["reason.missing", "function_call_arguments.done.name"]);
  }),
  check("events", "delta-logprobs", (seen) => {
    const found = named(seen, "response.output_text.delta", "response.output_text.done");
    if (!found.length) return idle("reason.noSuch", "response.output_text.delta");
    return each(found, (event) => !Array.isArray(event.logprobs) && ["reason.kind", `${event.type}.logprobs`, "list", shown(event.logprobs)]);
  }),
  check("events", "part-is-text", (seen) => {
    const ends = named(seen, "response.content_part.done");
    if (!ends.length) return idle("reason.noSuch", "response.content_part.done");
    return each(ends, ({ part, item_id: item }) => {
      const text = named(seen, "response.output_text.done").find((event) => event.item_id === item)?.text;
      return part.type === "output_text" && part.text !== text && ["reason.wanted", "content_part.done", shown(text), shown(part.text)];
    });
  }),
  check("events", "annotations-told", (seen) => {
    const one = named(seen, "response.output_text.annotation.added").map((event) => event.annotation);
    const all = cited(seen).map(({ citation }) => citation);
    if (!all.length && !one.length) return idle("reason.noSources");
    return passIf(JSON.stringify(one) === JSON.stringify(all), "reason.wanted", "annotation.added", all.length, one.length);
  }),
  check("events", "annotation-index", (seen) => {
    const found = named(seen, "response.output_text.annotation.added");
    if (!found.length) return idle("reason.noSources");
    return each(found, (event, index) => event.annotation_index !== index && ["reason.wanted", "annotation_index", index, shown(event.annotation_index)]);
  }),
  check("events", "search-order", (seen) => {
    const stages = ["in_progress", "searching", "completed"].map((stage) => `response.web_search_call.${stage}`);
    const found = named(seen, ...stages);
    if (!found.length) return idle("reason.noSearch");
    return each(found, (event, index) => event.type !== stages[index % 3] && ["reason.wanted", "type", stages[index % 3], shown(event.type)]);
  }),
  ...OBJECT,
];

/** The response that the terminal event carries. */
export const collected = (data) => {
  const answer = data.findLast((event) => event.response)?.response ?? {};
  return { answer, usage: answer.usage };
};
