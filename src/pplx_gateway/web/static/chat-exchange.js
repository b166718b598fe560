// One request and its reply, kept as they went over the wire, each event with its time.

import { GatewayError, parsed, send } from "./gateway.js";
import { PATHS } from "./chat-requests.js";
import { EventReader } from "./sse.js";

let count = 0;

/** Times are milliseconds since the request was sent. `body` is what was sent, `text` what came, to the letter. */
export const newExchange = (api, body) => ({
  number: (count += 1),
  api,
  stream: body.stream === true,
  path: PATHS[api],
  request: body,
  body: JSON.stringify(body, null, 2),
  sentAt: new Date(),
  status: null,
  headers: {},
  text: "",
  events: [],
  rest: "",
  headersMs: null,
  firstMs: null,
  endMs: null,
  outcome: "open",
});

/** Sends it and fills it in; `heard` is called with the parsed data of each event, or of the whole body. Throws
 * GatewayError for what is no answer, and AbortError if `signal` stopped it. */
export const perform = async (exchange, { signal, heard, changed }) => {
  const start = performance.now();
  const now = () => performance.now() - start;
  try {
    const reply = await send(exchange.path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: exchange.body,
      signal,
    });
    Object.assign(exchange, { status: reply.status, headers: Object.fromEntries(reply.headers), headersMs: now() });
    const streamed = reply.headers.get("content-type")?.startsWith("text/event-stream");
    await receive(exchange, reply, now, streamed ? heard : null, changed);
    if (!streamed) whole(exchange, reply, heard);
    exchange.outcome = "ended";
  } catch (error) {
    exchange.outcome = error.name === "AbortError" ? "stopped" : exchange.status === null ? "unreached" : "failed";
    if (error.name === "AbortError" || error instanceof GatewayError) throw error;
    exchange.outcome = exchange.status === null ? "unreached" : "broken";
    throw new GatewayError(exchange.status ?? 0, null, error.message);
  } finally {
    exchange.endMs = now();
    changed();
  }
};

const receive = async (exchange, reply, now, heard, changed) => {
  const events = new EventReader();
  const decoder = new TextDecoder();
  const reader = reply.body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    exchange.firstMs ??= now();
    const text = decoder.decode(read.value, { stream: true });
    exchange.text += text;
    if (heard) take(exchange, events.feed(text), now(), heard);
    exchange.rest = events.rest;
    changed();
  }
};

const take = (exchange, events, at, heard) => {
  for (const event of events) {
    exchange.events.push({ at, ...event });
    const data = event.data === null || event.data === "[DONE]" ? undefined : parsed(event.data);
    if (data !== undefined) heard(data);
  }
};

const whole = (exchange, reply, heard) => {
  const body = parsed(exchange.text);
  if (!reply.ok || body === undefined) throw new GatewayError(reply.status, body);
  heard(body);
};
