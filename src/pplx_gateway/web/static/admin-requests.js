// Requests one by one, the newest first, and what became of each. Never what was asked or answered.

import { briefly, moment } from "./admin-format.js";
import { ask, button, facts, panel, segments } from "./admin-kit.js";
import { find, make } from "./dom.js";
import { dollars, milliseconds, number, t } from "./i18n.js";

const MOST_SHOWN = 500;

export const requests = (place) => {
  const list = make("ol", { class: "log", "aria-label": t("requests") });
  const more = button(t("requests.more"), () => page().catch(failed), { kind: "quiet" });
  const empty = make("p", { class: "empty", hidden: true }, t("requests.none"));
  const live = make("input", { type: "checkbox", checked: true, role: "switch" });
  let failed = () => {};
  let chosen = { outcome: "", upstream: "" };
  let known = new Set();
  let next = null;

  const query = (limit, before) => {
    const wanted = new URLSearchParams({ limit: String(limit) });
    if (before) wanted.set("before", String(before));
    if (chosen.outcome) wanted.set("error", "1");
    if (chosen.upstream) wanted.set("upstream", chosen.upstream);
    return `/admin/requests?${wanted}`;
  };
  const start = () => {
    known = new Set();
    list.replaceChildren();
    load().catch(failed);
  };
  const set = (name) => (value) => {
    chosen = { ...chosen, [name]: value };
    start();
  };

  place.replaceChildren(
    make("div", { class: "choices" },
      segments("outcome", t("requests.outcome"), [["", t("every")], ["failed", t("requests.failed")]], "", set("outcome")),
      segments("upstream", t("by.upstream"), [["", t("every")], ["session", "session"], ["api", "api"]], "", set("upstream")),
      make("label", { class: "switch" }, live, make("span", {}, t("requests.live")))),
    panel(t("requests.title"), { id: "requests-panel" }, make("p", { class: "note" }, t("requests.note")), heads(), list, empty, make("div", { class: "row-mid" }, more)));

  /** Brings what is new to the top; what is open stays open. */
  const load = async () => {
    const asked = chosen;
    const first = known.size === 0;
    const found = await ask(query(50));
    if (asked !== chosen) return;
    const fresh = found.data.filter(({ id }) => !known.has(id));
    if (!first && fresh.length === found.data.length && found.has_more) return start(); // too many came in between
    for (const { id } of fresh) known.add(id);
    list.prepend(...fresh.map(row));
    while (list.children.length > MOST_SHOWN) list.lastElementChild.remove();
    if (first) next = found.next;
    shown();
  };
  const page = async () => {
    const found = await ask(query(50, next));
    const older = found.data.filter(({ id }) => !known.has(id));
    for (const { id } of older) known.add(id);
    list.append(...older.map(row));
    next = found.next;
    shown();
  };
  const shown = () => {
    empty.hidden = list.children.length > 0;
    find(".log-head", place).hidden = !empty.hidden;
    more.hidden = next === null || list.children.length >= MOST_SHOWN;
  };

  return {
    load,
    get every() {
      return live.checked ? 3 : null;
    },
    failing: (handler) => (failed = handler),
  };
};

const HEADS = ["when", "status", "model", "caller", "upstream", "latency", "cost"];

const heads = () => make("div", { class: "log-head", "aria-hidden": "true", hidden: true }, HEADS.map((name) => make("span", { class: name }, t(`log.${name}`))));

const callerOf = ({ caller, caller_name: name }) => name ?? (["owner", "open"].includes(caller) ? t(`caller.${caller}`) : caller);

const row = (request) => {
  const failed = request.error !== null || request.status >= 400;
  const cells = {
    when: make("time", { datetime: request.at, title: moment(request.at) }, briefly(request.at)),
    status: make("span", { class: `badge ${failed ? "bad" : "good"}` }, String(request.status)),
    model: make("b", {}, request.served_model ?? request.requested_model ?? request.operation),
    caller: callerOf(request),
    upstream: request.upstream ? `${request.upstream}${request.key ? ` · ${request.key}` : ""}` : "–",
    latency: milliseconds(request.milliseconds),
    cost: costOf(request),
  };
  return make("li", { "data-id": request.id }, make("details", { class: failed ? "bad" : "" },
    make("summary", {}, HEADS.map((name) => make("span", { class: name }, cells[name])),
      request.error ? make("code", { class: "error-code" }, request.error) : null,
      request.dropped.length ? make("span", { class: "dropped" }, t("log.dropped", request.dropped.join(", "))) : null),
    facts([
      [t("log.id"), make("code", {}, request.id)],
      [t("log.at"), moment(request.at)],
      [t("log.way"), `${request.protocol} · ${request.operation}`],
      [t("log.asked"), request.requested_model ?? t("none")],
      [t("log.served"), request.served_model ?? t("none")],
      [t("by.key"), request.key],
      [t("log.first"), request.first_text_milliseconds === null ? null : milliseconds(request.first_text_milliseconds)],
      [t("log.total"), milliseconds(request.milliseconds)],
      [t("tokens.in"), `${number(request.input_tokens)}${request.cached_tokens ? ` (${t("log.cached", number(request.cached_tokens))})` : ""}${request.estimated ? ` · ${t("log.estimated")}` : ""}`],
      [t("tokens.out"), `${number(request.output_tokens)}${request.reasoning_tokens ? ` (${t("log.reasoning", number(request.reasoning_tokens))})` : ""}`],
      [t("searches.pro"), request.pro_searches || null],
      [t("searches.api"), request.searches || null],
      [t("cost"), `${costOf(request)} · ${t(`costBy.${whoTold(request)}`)}`],
      [t("log.droppedHead"), request.dropped.length ? request.dropped.map((name) => make("code", {}, name)) : null],
      [t("log.error"), request.error ? make("code", {}, request.error) : null],
    ], "facts stacked")));
};

const whoTold = ({ cost, cost_source: source, upstream }) => (cost !== null ? source : !upstream ? "nothing" : upstream === "session" ? "plan" : "unknown");

const costOf = ({ cost, upstream }) => (cost === null ? (upstream === "api" ? "?" : "–") : dollars(cost));
