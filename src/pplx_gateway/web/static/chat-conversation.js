// The conversation: turns in memory, and rounds of questions, answers and tool calls. It lives as long as the page.

import { costOf, newAnswer, readBody, readEvent } from "./chat-answers.js";
import { newExchange, perform } from "./chat-exchange.js";
import { requestBody } from "./chat-requests.js";
import { run } from "./chat-tools.js";
import { t } from "./i18n.js";

const MOST_ROUNDS = 6;

/** `view` is told what happens: asked(turn), answering() gives an answerView, begun(exchange), changed(exchange, answer,
 * answerView), notes(exchange, answer) gives sentences, ended(exchange, answer, answerView, error). */
export const conversation = (view) => {
  let turns = [];
  let stopping = null;
  const spent = { tokens: 0, dollars: 0, answers: 0 };

  const round = async (options, controller) => {
    const exchange = newExchange(options.api, requestBody(options.api, turns, options));
    const answer = newAnswer();
    const shown = view.answering();
    let error = null;
    view.begun(exchange);
    const changed = () => view.changed(exchange, answer, shown);
    const heard = (data) => (exchange.stream ? readEvent : readBody)(options.api, answer, data);
    try {
      await perform(exchange, { signal: controller.signal, heard, changed });
      error = answer.error ?? unfinished(answer);
    } catch (failure) {
      error = failure;
    }
    const stopped = error?.name === "AbortError";
    // A call that was cut short is none.
    const calls = error ? [] : answer.calls.filter(Boolean);
    for (const call of calls) call.output = run(call);
    count(answer);
    exchange.trouble = error !== null;
    shown.end(answer, { notes: view.notes(exchange, answer), error: stopped ? null : error, stopped });
    remember(answer, calls);
    await view.ended(exchange, answer, shown, error);
    return !error && calls.length > 0;
  };

  const count = (answer) => {
    const { tokens, dollars } = costOf(answer.usage);
    spent.tokens += tokens ?? 0;
    spent.dollars += dollars ?? 0;
    spent.answers += 1;
  };

  /** A turn without a word in it is left out: both upstreams would refuse it. */
  const remember = (answer, calls) => {
    if (answer.text || calls.length) turns.push({ role: "assistant", text: answer.text, calls });
    for (const { id, output } of calls) turns.push({ role: "tool", callId: id, output });
  };

  return {
    spent,
    busy: () => stopping !== null,
    stop: () => stopping?.abort(),
    clear: () => {
      stopping?.abort();
      turns = [];
      Object.assign(spent, { tokens: 0, dollars: 0, answers: 0 });
    },
    ask: async (turn, options) => {
      const controller = new AbortController();
      stopping = controller;
      const mine = turns;
      dropUnanswered(turns);
      turns.push(turn);
      view.asked(turn);
      try {
        for (let rounds = 0; rounds < MOST_ROUNDS && mine === turns; rounds += 1) {
          if (!(await round(options, controller))) return;
        }
      } finally {
        if (stopping === controller) stopping = null;
      }
    },
  };
};

/** What failed, and was never answered, is not asked again with the next question. */
const dropUnanswered = (turns) => {
  while (turns.at(-1)?.role === "user") turns.pop();
};

/** A reply that ended with neither a finish nor an error. */
const unfinished = (answer) => (answer.finish === null ? new Error(t("unfinished")) : null);
