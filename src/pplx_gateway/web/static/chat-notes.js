// What stands under an answer: who answered, what it cost, and what the gateway left out or changed.

import { costOf } from "./chat-answers.js";
import { dollars, milliseconds, number, t } from "./i18n.js";

/** Sentences. */
export const notesOf = (exchange, answer) => {
  const { tokens, dollars: cost, searches } = costOf(answer.usage);
  const { upstream, served_model: served, substituted_by: substituted, failover, dropped, warnings, router, needs_input: asksBack } = answer.extension;
  return [
    upstream && t(`on.${upstream}`),
    served ?? answer.model,
    exchange.endMs !== null && milliseconds(exchange.endMs),
    tokens !== null && t("note.tokens", number(tokens)),
    searches > 0 && t("note.searches", number(searches)),
    cost !== null && dollars(cost),
    substituted && t("note.substituted", substituted),
    failover && t("note.failover", failover),
    router && t("note.router", router.tier, router.reason),
    asksBack && t("note.asksBack"),
    dropped?.length && t("note.dropped", dropped.join(", ")),
    ...(warnings ?? []),
  ].filter(Boolean);
};
