// The Raw tab: an exchange as it went over the wire, each event with its time.

import { copies } from "./copy.js";
import { asCurl, asPython } from "./chat-snippets.js";
import { draw, find, make } from "./dom.js";
import { parsed } from "./gateway.js";
import { milliseconds, number, t } from "./i18n.js";

// A data URL of an image can be megabytes of letters; the copy buttons give all of it.
const MOST_SHOWN = 60_000;

/** Gives `show(exchange)`. Events are added as they come; the rest is drawn when it changes. */
export const rawView = () => {
  const place = find("#raw");
  let drawn = null;

  return (exchange) => {
    if (!exchange) place.replaceChildren(make("p", { class: "empty" }, t("raw.empty")));
    else if (drawn?.exchange === exchange) drawn.update();
    else {
      drawn = sheet(exchange);
      place.replaceChildren(...drawn.children);
      drawn.update();
    }
  };
};

const sheet = (exchange) => {
  const parts = { status: make("p", { class: "wire-line" }), headers: make("dl", { class: "headers" }), times: make("div", { class: "timeline" }), events: make("ol", { class: "events" }), body: make("div", {}) };
  let headersShown = false;

  const update = () => {
    parts.status.replaceChildren(...statusLine(exchange));
    if (!headersShown && exchange.status !== null) {
      parts.headers.replaceChildren(...headerRows(exchange.headers));
      headersShown = true;
    }
    for (const event of exchange.events.slice(parts.events.children.length)) parts.events.append(eventRow(event));
    if (exchange.events.length) parts.times.replaceChildren(timeline(exchange));
    else if (exchange.outcome !== "open") parts.body.replaceChildren(code(exchange.text));
    if (exchange.rest && exchange.outcome !== "open") parts.body.replaceChildren(make("p", { class: "label" }, t("raw.rest")), code(exchange.rest));
  };

  return {
    exchange,
    update,
    children: [
      make("div", { class: "copies" }, [
        ["raw.curl", () => asCurl(exchange, location.origin)],
        ["raw.python", () => asPython(exchange, location.origin)],
        ["raw.response", () => exchange.text],
      ].map(([key, text]) => copies(make("button", { type: "button", class: "small", "data-copy": key.slice(4) }, t(key)), text))),
      make("h2", {}, t("raw.request")),
      make("p", { class: "wire-line" }, make("b", {}, "POST"), ` ${exchange.path}`, make("span", { class: "when" }, exchange.sentAt.toLocaleTimeString())),
      make("dl", { class: "headers" }, headerRows({ "content-type": "application/json", authorization: "Bearer ••••" })),
      code(exchange.body),
      make("h2", {}, t("raw.reply")),
      parts.status,
      parts.times,
      make("details", {}, make("summary", {}, t("raw.headers")), parts.headers),
      parts.events,
      parts.body,
    ],
  };
};

const statusLine = ({ status, headersMs, endMs, outcome, text }) => [
  make("b", { class: status === 200 ? "good" : "bad" }, status === null ? t(`outcome.${outcome}`) : `HTTP ${status}`),
  make("span", {}, [headersMs !== null && t("raw.head", milliseconds(headersMs)), endMs !== null && t("raw.end", milliseconds(endMs)), text && t("raw.bytes", number(new Blob([text]).size))].filter(Boolean).join(" · ")),
  make("span", { class: "when" }, t(`outcome.${outcome}`)),
];

const headerRows = (headers) => Object.entries(headers).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));

const code = (text) => {
  const body = parsed(text);
  const whole = body === undefined ? text : JSON.stringify(body, null, 2);
  const cut = whole.length > MOST_SHOWN;
  return make("div", {},
    make("pre", { class: "wire", tabindex: "0" }, cut ? whole.slice(0, MOST_SHOWN) : whole),
    cut && make("p", { class: "note" }, t("raw.cut", number(MOST_SHOWN), number(whole.length))));
};

const kindOf = ({ name, data, comment }) => {
  if (data === null) return comment === null ? "frame" : "comment";
  if (data === "[DONE]") return "[DONE]";
  const body = parsed(data);
  if (name) return name;
  if (body?.error) return "error";
  const choice = body?.choices?.[0];
  if (choice?.finish_reason) return `finish_reason ${choice.finish_reason}`;
  return Object.keys(choice?.delta ?? {}).map((key) => `delta.${key}`).join(" ") || (body?.usage ? "usage" : "chunk");
};

const tone = (kind) => {
  if (/error|failed/.test(kind)) return "bad";
  if (/DONE|completed|finish/.test(kind)) return "good";
  if (/reason|search/.test(kind)) return "thought";
  return "text";
};

// What all events of a stream have in common tells nothing in a list of them.
const COMMON = ["type", "sequence_number", "item_id", "output_index", "content_index", "summary_index", "logprobs"];

const preview = (event) => {
  const body = event.data === null ? undefined : parsed(event.data);
  if (typeof body !== "object") return event.data === "[DONE]" ? "" : event.raw.slice(0, 200);
  const telling = body.choices?.length ? body.choices[0].delta : (body.usage ?? body.error ?? Object.fromEntries(Object.entries(body).filter(([name]) => !COMMON.includes(name))));
  return JSON.stringify(telling).slice(0, 200);
};

const eventRow = (event) => {
  const kind = kindOf(event);
  const row = make("details", { class: tone(kind) },
    make("summary", {}, make("time", {}, `+${milliseconds(event.at)}`), make("b", {}, kind), make("code", {}, preview(event))));
  // Most are never opened, and there may be thousands.
  row.addEventListener("toggle", () => row.open && row.children.length === 1 && row.append(code(event.data ?? event.raw)));
  return make("li", {}, row);
};

const WIDTH = 600;

/** A tick for each event, at its time. */
const timeline = ({ events, endMs }) => {
  const last = Math.max(endMs ?? 0, events.at(-1).at, 1);
  const ticks = events.map((event) => {
    const x = ((event.at / last) * (WIDTH - 4) + 2).toFixed(1);
    return draw("line", { x1: x, x2: x, y1: 4, y2: 24, class: tone(kindOf(event)) });
  });
  return draw("svg", { viewBox: `0 0 ${WIDTH} 28`, preserveAspectRatio: "none", role: "img", "aria-label": t("raw.timeline", number(events.length), milliseconds(last)) },
    draw("line", { x1: 0, x2: WIDTH, y1: 27, y2: 27, class: "axis" }), ticks);
};
