// The Check tab: the exchange held against the contract of its interface.

import { examine } from "./checks.js";
import { find, make } from "./dom.js";
import { t } from "./i18n.js";

const GROUPS = ["wire", "events", "answer", "items", "sources", "calls", "usage"];

/** Gives `show(exchange)`; an exchange is examined once it is over. */
export const checkView = () => {
  const place = find("#check");
  const badge = find("#check-count");

  return (exchange) => {
    badge.hidden = true;
    if (!exchange || exchange.outcome === "open") {
      place.replaceChildren(make("p", { class: "empty" }, t(exchange ? "check.running" : "check.empty")));
      return;
    }
    const { checks, counts } = examine(exchange);
    badge.hidden = false;
    const state = counts.fail ? "fail" : "pass";
    badge.replaceChildren(String(counts[state]), make("span", { class: "word" }, ` ${t(`check.${state}`)}`));
    badge.className = `count ${counts.fail ? "bad" : "good"}`;
    place.replaceChildren(head(exchange, counts), ...GROUPS.map((group) => section(group, checks)).filter(Boolean));
  };
};

const head = (exchange, counts) =>
  make("div", { class: "verdict" },
    make("p", { class: `verdict-word ${counts.fail ? "bad" : "good"}` }, t(counts.fail ? "check.bad" : "check.good")),
    make("p", { class: "note" }, `${exchange.api === "chat" ? "Chat Completions" : "Responses"} · ${t(exchange.stream ? "check.streamed" : "check.plain")}`),
    make("ul", { class: "tally" }, ["pass", "fail", "idle"].map((state) => make("li", { class: state, "data-count": String(counts[state]) }, make("b", {}, String(counts[state])), ` ${t(state === "idle" ? "check.nothing" : `check.${state}`)}`))),
    exchange.outcome === "stopped" && make("p", { class: "note" }, t("check.stopped")));

const section = (group, checks) => {
  const mine = checks.filter((found) => found.group === group);
  if (!mine.length) return null;
  return make("section", {}, make("h2", {}, t(`check.group.${group}`)), make("ol", { class: "checks" }, mine.map(row)));
};

const row = ({ id, state, reason }) =>
  make("li", { class: state, "data-check": id }, make("span", { class: "badge" }, t(`check.${state}`)),
    make("span", { class: "what" }, t(`check.${id}`), reason && make("span", { class: "because" }, t(...reason))));
