// What a reply says, whichever interface it came by: chunks, events and whole bodies in, one Answer out. No DOM.

import { GatewayError } from "./gateway.js";

/** An empty Answer; `readEvent` and `readBody` fill it. `sources` are as the gateway lists them, by their number. */
export const newAnswer = () => ({
  text: "",
  reasoning: "",
  sources: new Map(),
  annotations: [],
  related: [],
  images: [],
  calls: [],
  usage: null,
  model: null,
  finish: null,
  error: null,
  extension: {},
});

/** One event's data of a stream, already parsed. */
export const readEvent = (api, answer, data) => {
  if (data.error && !data.type?.startsWith("response.")) answer.error = new GatewayError(200, data);
  else if (api === "chat") readChunk(answer, data);
  else readResponseEvent(answer, data);
};

/** A whole body, already parsed. */
export const readBody = (api, answer, body) => {
  if (body.error && body.object !== "response") answer.error = new GatewayError(200, body);
  else if (api === "chat") readChunk(answer, body);
  else readResponse(answer, body);
};

const readChunk = (answer, chunk) => {
  const choice = chunk.choices?.[0];
  const said = choice?.delta ?? choice?.message ?? {};
  answer.text += said.content ?? "";
  answer.reasoning += said.reasoning_content ?? "";
  answer.annotations.push(...(said.annotations ?? []).map((found) => found.url_citation));
  for (const [place, call] of (said.tool_calls ?? []).entries()) readCall(answer, call, call.index ?? place);
  answer.finish = choice?.finish_reason ?? answer.finish;
  readExtras(answer, chunk);
};

const readCall = (answer, call, place) => {
  const known = (answer.calls[place] ??= { id: "", name: "", arguments: "", signature: null });
  known.id += call.id ?? "";
  known.name += call.function?.name ?? "";
  known.arguments += call.function?.arguments ?? "";
  known.signature = call.thought_signature ?? known.signature;
};

const readExtras = (answer, body) => {
  for (const source of body.search_results ?? []) answer.sources.set(source.id, source);
  answer.related = body.related_questions ?? answer.related;
  answer.images = body.images ?? answer.images;
  answer.usage = body.usage ?? answer.usage;
  answer.model = body.model ?? answer.model;
  answer.extension = { ...answer.extension, ...body.pplx };
};

const EVENTS = {
  "response.output_text.delta": (answer, event) => (answer.text += event.delta),
  "response.refusal.delta": (answer, event) => (answer.text += event.delta),
  "response.reasoning_summary_text.delta": (answer, event) => (answer.reasoning += event.delta),
  "response.reasoning_text.delta": (answer, event) => (answer.reasoning += event.delta),
  "response.output_text.annotation.added": (answer, event) => answer.annotations.push(event.annotation),
  "response.completed": (answer, event) => readResponse(answer, event.response),
  "response.incomplete": (answer, event) => readResponse(answer, event.response),
  "response.failed": (answer, event) => readResponse(answer, event.response, { keep: true }),
};

const readResponseEvent = (answer, event) => {
  if (event.type === "error") answer.error = new GatewayError(200, { error: event.error ?? event });
  else EVENTS[event.type]?.(answer, event);
};

/** The whole response says everything once more. `keep`: a failed one says less than what was heard before. */
const readResponse = (answer, response, { keep = false } = {}) => {
  const parts = response.output.flatMap((item) => (item.type === "message" ? item.content : []));
  if (!keep) {
    answer.text = parts.map((part) => part.text ?? part.refusal ?? "").join("");
    answer.annotations = parts.flatMap((part) => part.annotations ?? []);
    answer.reasoning = response.output.filter((item) => item.type === "reasoning").map(thoughts).join("") || answer.reasoning;
  }
  answer.calls = response.output.filter((item) => item.type === "function_call").map((item) => ({
    id: item.call_id,
    name: item.name,
    arguments: item.arguments,
    signature: item.thought_signature ?? null,
  }));
  answer.finish = response.status;
  if (response.error) answer.error = new GatewayError(200, { error: response.error });
  readExtras(answer, response);
};

const thoughts = (item) => (item.summary ?? []).map((part) => part.text).join("\n");

const STEPS = { "Searching: ": "query", "Reading: ": "page", "Found: ": "found" };

/** A reasoning text as {kind, text}: what was searched, read and found, and the thoughts between them. */
export const steps = (reasoning) =>
  reasoning.split("\n").filter((line) => line.trim()).map((line) => {
    const opener = Object.keys(STEPS).find((start) => line.startsWith(start));
    return opener ? { kind: STEPS[opener], text: line.slice(opener.length) } : { kind: "thought", text: line };
  });

/** Tokens and dollars of a usage in either shape; null = not told. */
export const costOf = (usage) => {
  if (!usage) return { tokens: null, dollars: null, searches: null };
  return {
    tokens: usage.total_tokens ?? null,
    dollars: usage.cost?.total_cost ?? null,
    searches: usage.num_search_queries ?? null,
  };
};
