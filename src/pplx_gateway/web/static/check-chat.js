// Checks of chat completions: of the body of a plain answer, and of the chunks of a streamed one.

import { check, each, fail, idle, isTime, members, oneOf, passIf, same, shown } from "./check-kit.js";
import * as shared from "./check-shared.js";

const REASONS = ["stop", "length", "tool_calls", "content_filter"];
const NAMES = ["prompt_tokens", "completion_tokens"];

const agree = (finish, calls) =>
  passIf((finish === "tool_calls") === calls.length > 0, "reason.finish", shown(finish), calls.length);

const cited = (annotations, text, at) =>
  (annotations ?? []).map((found, index) => ({ citation: found.url_citation, text: text ?? "", at: `${at}[${index}]` }));

const kinds = (annotations) =>
  each(annotations ?? [], (found, index) => found.type !== "url_citation" && ["reason.wanted", `annotations[${index}].type`, "url_citation", shown(found.type)]);

// A plain answer.

const choice = (seen) => seen.answer.choices[0];
const message = (seen) => choice(seen).message;
const plainCalls = (seen) =>
  (message(seen).tool_calls ?? []).map((call, index) => ({ ...call.function, id: call.id, at: `tool_calls[${index}]` }));

export const PLAIN = [
  check("answer", "object", (seen) => same(seen.answer.object, "chat.completion", "object")),
  check("answer", "id", (seen) => passIf(/^chatcmpl-\w+/.test(seen.answer.id), "reason.wanted", "id", "chatcmpl-…", shown(seen.answer.id))),
  check("answer", "created", (seen) => passIf(isTime(seen.answer.created), "reason.time", "created", shown(seen.answer.created))),
  check("answer", "model", (seen) => members(seen.answer, { model: "words" })),
  check("answer", "system-fingerprint", (seen) => members(seen.answer, { system_fingerprint: "textOrNull" })),
  check("answer", "choices", (seen) => same(seen.answer.choices.length, 1, "choices.length")),
  check("answer", "choice-index", (seen) => same(choice(seen).index, 0, "choices[0].index")),
  check("answer", "logprobs", (seen) => passIf(choice(seen).logprobs === null, "reason.wanted", "choices[0].logprobs", "null", shown(choice(seen).logprobs))),
  check("answer", "finish-reason", (seen) => oneOf(choice(seen).finish_reason, REASONS, "choices[0].finish_reason")),
  check("answer", "role", (seen) => same(message(seen).role, "assistant", "message.role")),
  check("answer", "content", (seen) => {
    if (message(seen).content === null) return passIf(plainCalls(seen).length > 0, "reason.nullContent");
    return members(message(seen), { content: "text" }, "message.");
  }),
  check("answer", "not-empty", (seen) => passIf(Boolean(message(seen).content?.trim()) || plainCalls(seen).length > 0, "reason.empty")),
  check("answer", "refusal", (seen) => members(message(seen), { refusal: "textOrNull" }, "message.")),
  check("answer", "reasoning", (seen) => {
    const found = message(seen).reasoning_content;
    return passIf(found === undefined || typeof found === "string", "reason.kind", "message.reasoning_content", "text", shown(found));
  }),
  ...shared.text((seen) => message(seen).content ?? ""),
  check("sources", "annotations", (seen) => {
    const found = message(seen).annotations;
    return Array.isArray(found) ? kinds(found) : fail("reason.kind", "message.annotations", "list", shown(found));
  }),
  ...shared.citations((seen) => cited(message(seen).annotations, message(seen).content, "annotations")),
  ...shared.sources,
  check("calls", "call-type", (seen) =>
    each(message(seen).tool_calls ?? [], (call, index) => call.type !== "function" && ["reason.wanted", `tool_calls[${index}].type`, "function", shown(call.type)])),
  check("calls", "calls-not-empty", (seen) => passIf(message(seen).tool_calls === undefined || message(seen).tool_calls?.length > 0, "reason.emptyList", "message.tool_calls")),
  ...shared.calls(plainCalls),
  check("calls", "finish-agrees", (seen) => agree(choice(seen).finish_reason, plainCalls(seen))),
  ...shared.usage(NAMES),
  shared.extension,
  shared.honesty,
];

// A streamed answer. `seen.answer` holds the top-level members of all chunks, the last word of each.

const chunks = (seen) => seen.data.filter((data) => data.choices);
const choices = (seen) => chunks(seen).flatMap((chunk) => chunk.choices);
const deltas = (seen) => choices(seen).map((found) => found.delta);
const joined = (seen, name) => deltas(seen).map((delta) => delta[name] ?? "").join("");
const finishAt = (seen) => chunks(seen).findIndex((chunk) => chunk.choices[0]?.finish_reason);
const listed = (seen) => deltas(seen).filter((delta) => delta.annotations).flatMap((delta) => delta.annotations);

const streamedCalls = (seen) => {
  const found = [];
  for (const call of deltas(seen).flatMap((delta) => delta.tool_calls ?? [])) {
    const known = (found[call.index] ??= { id: "", name: "", arguments: "", at: `tool_calls[${call.index}]` });
    known.id += call.id ?? "";
    known.name += call.function?.name ?? "";
    known.arguments += call.function?.arguments ?? "";
  }
  return found;
};

const constant = (name) =>
  check("answer", `one-${name}`, (seen) => {
    const values = new Set(chunks(seen).map((chunk) => JSON.stringify(chunk[name])));
    return passIf(values.size === 1 && !values.has(undefined), "reason.differs", name, [...values].join(" | "));
  });

const usageAsked = (seen) => seen.request.stream_options?.include_usage === true;

export const STREAMED = [
  check("answer", "chunk-object", (seen) => each(chunks(seen), (chunk, index) => chunk.object !== "chat.completion.chunk" && ["reason.wanted", `[${index}].object`, "chat.completion.chunk", shown(chunk.object)])),
  check("answer", "id", (seen) => passIf(chunks(seen).every((chunk) => /^chatcmpl-\w+/.test(chunk.id)), "reason.wanted", "id", "chatcmpl-…", shown(chunks(seen)[0]?.id))),
  ...["id", "created", "model", "system_fingerprint"].map(constant),
  check("answer", "created", (seen) => passIf(isTime(chunks(seen)[0].created), "reason.time", "created", shown(chunks(seen)[0].created))),
  check("answer", "no-event-names", (seen) => passIf(seen.events.every((event) => event.name === null), "reason.eventName")),
  check("answer", "one-choice", (seen) => each(chunks(seen), (chunk, index) => (chunk.choices.length > 1 || (chunk.choices[0]?.index ?? 0) !== 0) && ["reason.choices", index])),
  check("answer", "logprobs", (seen) => each(choices(seen), (found, index) => found.logprobs !== null && ["reason.wanted", `[${index}].logprobs`, "null", shown(found.logprobs)])),
  check("answer", "no-message", (seen) => each(choices(seen), (found, index) => found.message !== undefined && ["reason.message", index])),
  check("answer", "role-first", (seen) => {
    const told = deltas(seen).map((delta, index) => (delta.role === undefined ? -1 : index)).filter((index) => index >= 0);
    return passIf(told.length === 1 && told[0] === 0 && deltas(seen)[0].role === "assistant", "reason.role", shown(told));
  }),
  check("answer", "one-finish", (seen) => same(choices(seen).filter((found) => found.finish_reason !== null).length, 1, "finish_reason")),
  check("answer", "finish-reason", (seen) => oneOf(choices(seen).find((found) => found.finish_reason)?.finish_reason, REASONS, "finish_reason")),
  check("answer", "nothing-after-finish", (seen) => {
    const later = finishAt(seen) < 0 ? [] : chunks(seen).slice(finishAt(seen) + 1);
    return each(later, (chunk) => chunk.choices.length > 0 && ["reason.afterFinish", shown(chunk.choices[0].delta)]);
  }),
  check("answer", "content", (seen) => each(deltas(seen), (delta, index) => delta.content !== undefined && typeof delta.content !== "string" && ["reason.kind", `[${index}].delta.content`, "text", shown(delta.content)])),
  check("answer", "not-empty", (seen) => passIf(Boolean(joined(seen, "content").trim()) || streamedCalls(seen).length > 0, "reason.empty")),
  check("answer", "reasoning-first", (seen) => {
    const thought = deltas(seen).findLastIndex((delta) => delta.reasoning_content);
    const text = deltas(seen).findIndex((delta) => delta.content);
    if (thought < 0) return idle("reason.noReasoning");
    return passIf(text < 0 || thought < text, "reason.reasoningLate", thought, text);
  }),
  ...shared.text((seen) => joined(seen, "content")),
  check("sources", "annotations", (seen) => kinds(listed(seen))),
  check("sources", "annotations-once", (seen) => passIf(deltas(seen).filter((delta) => delta.annotations).length <= 1, "reason.annotationsTwice")),
  ...shared.citations((seen) => cited(listed(seen), joined(seen, "content"), "annotations")),
  ...shared.sources,
  check("sources", "sources-first-and-last", (seen) => {
    const holding = chunks(seen).filter((chunk) => chunk.search_results);
    if (!holding.length) return idle("reason.noSources");
    const last = chunks(seen)[finishAt(seen)];
    return passIf(last?.search_results !== undefined, "reason.sourcesLast");
  }),
  check("calls", "call-parts", (seen) => {
    const parts = deltas(seen).flatMap((delta) => delta.tool_calls ?? []);
    if (!parts.length) return idle("reason.noCalls");
    const begun = new Set();
    return each(parts, (part) => {
      if (!Number.isInteger(part.index) || !part.function) return ["reason.callPart", shown(part)];
      const again = begun.has(part.index);
      begun.add(part.index);
      return again === (part.id !== undefined) && ["reason.callPart", shown(part)];
    });
  }),
  ...shared.calls(streamedCalls),
  check("calls", "finish-agrees", (seen) => agree(choices(seen).find((found) => found.finish_reason)?.finish_reason, streamedCalls(seen))),
  check("usage", "usage-place", (seen) => {
    const holding = chunks(seen).filter((chunk) => chunk.usage);
    if (!usageAsked(seen)) return passIf(chunks(seen).every((chunk) => chunk.usage === undefined), "reason.usageUnasked");
    if (holding.length !== 1) return same(holding.length, 1, "usage");
    return passIf(holding[0] === chunks(seen).at(-1) && holding[0].choices.length === 0, "reason.usagePlace");
  }),
  check("usage", "usage-null-before", (seen) => {
    if (!usageAsked(seen)) return idle("reason.usageNotAsked");
    return each(chunks(seen).slice(0, -1), (chunk, index) => chunk.usage !== null && ["reason.wanted", `[${index}].usage`, "null", shown(chunk.usage)]);
  }),
  ...shared.usage(NAMES).map((entry) => ({ ...entry, look: (seen) => (usageAsked(seen) ? entry.look(seen) : idle("reason.usageNotAsked")) })),
  shared.extension,
  shared.honesty,
];

/** The chunks as one object, as checks of plain answers see it. */
export const collected = (data) => {
  const answer = Object.assign({}, ...data.filter((chunk) => chunk.choices));
  return { answer, usage: data.findLast((chunk) => chunk.usage)?.usage };
};

