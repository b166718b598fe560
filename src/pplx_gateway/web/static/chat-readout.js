// The instrument's dials: what the last exchange took and cost, and what is left.

import { costOf } from "./chat-answers.js";
import { find, make } from "./dom.js";
import { call } from "./gateway.js";
import { dollars, milliseconds, number, t } from "./i18n.js";

/** Gives {show, quota}. */
export const readout = () => {
  const list = find("#readout");
  let left = { pro: null, research: null };

  const show = (exchange, answer, spent) => {
    const { tokens, dollars: cost } = costOf(answer?.usage);
    if (answer?.extension.remaining_pro !== undefined) left = { ...left, pro: answer.extension.remaining_pro };
    const dials = [
      ["dial.state", lamp(exchange)],
      ["dial.first", exchange?.firstMs != null && milliseconds(exchange.firstMs)],
      ["dial.total", exchange?.endMs != null && milliseconds(exchange.endMs)],
      ["dial.tokens", tokens !== null && number(tokens)],
      ["dial.cost", cost !== null && dollars(cost)],
      ["dial.spent", spent?.dollars > 0 && dollars(spent.dollars)],
      ["dial.pro", left.pro !== null && number(left.pro)],
      ["dial.research", left.research !== null && number(left.research)],
    ];
    list.replaceChildren(...dials.map(([key, value]) => make("div", { "data-dial": key.slice(5) }, make("dt", {}, t(key)), make("dd", {}, value === false ? "–" : value))));
  };

  /** The quota is told to the owner only; to others its dials stay blank. */
  const quota = async () => {
    const health = await call("/health").catch(() => ({}));
    left = { pro: health.remaining_pro ?? null, research: health.remaining_research ?? null };
  };

  return { show, quota };
};

const lamp = (exchange) => {
  const state = stateOf(exchange);
  return make("span", { class: `lamp ${state}` }, t(`lamp.${state}`));
};

const stateOf = (exchange) => {
  if (!exchange) return "idle";
  if (exchange.outcome === "open") return exchange.firstMs === null ? "waiting" : "live";
  if (exchange.outcome === "stopped") return "halted";
  return exchange.outcome === "ended" && exchange.status === 200 && !exchange.trouble ? "good" : "bad";
};
