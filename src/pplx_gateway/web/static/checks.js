// Holds an exchange against the contract of its interface: {checks: [{id, group, state, reason}], counts}. No DOM.

import * as chat from "./check-chat.js";
import { isObject, judge } from "./check-kit.js";
import * as responses from "./check-responses.js";
import * as wire from "./check-wire.js";

const INTERFACES = { chat, responses };

const parse = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** All checks that an exchange of this kind goes through. */
export const checksOf = (api, stream) =>
  stream ? [...wire.STREAMED, ...INTERFACES[api].STREAMED] : [...wire.PLAIN, ...INTERFACES[api].PLAIN];

/** `exchange` is as chat-exchange.js keeps it. */
export const examine = (exchange) => {
  const streamed = exchange.stream && exchange.status === 200;
  const seen = streamed ? seenOfStream(exchange) : seenOfBody(exchange);
  const checks = judge(checksOf(exchange.api, exchange.stream), seen, exchange.status === 200);
  const counts = { pass: 0, fail: 0, idle: 0 };
  for (const { state } of checks) counts[state] += 1;
  return { checks, counts };
};

const common = ({ request, status, headers, text, events, rest }) => ({ request, status, headers, text, events, rest });

const seenOfBody = (exchange) => {
  const body = parse(exchange.text);
  return { ...common(exchange), body, errorBody: body, answer: body, usage: body?.usage };
};

const seenOfStream = (exchange) => {
  const frames = exchange.events.filter((event) => event.data !== null).map((event) => ({ event, data: parse(event.data) }));
  const data = frames.map((frame) => frame.data).filter(isObject);
  return { ...common(exchange), frames, data, parsed: frames.map((frame) => frame.data), ...INTERFACES[exchange.api].collected(data) };
};
