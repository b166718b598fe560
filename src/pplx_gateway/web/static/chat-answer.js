// An answer on the page: thoughts and steps, text with its marks, calls, sources, pictures, related questions,
// what it cost.

import { hostOf, isWeb } from "./addresses.js";
import { steps } from "./chat-answers.js";
import { pictureList } from "./chat-pictures.js";
import { make } from "./dom.js";
import { number, t } from "./i18n.js";

let markdown = null;
let count = 0;

/** Loads the Markdown library, which the first view does without. */
export const ready = async () => (markdown ??= await import("./markdown.js"));

/** Gives {element, update, end}. `update(answer)` shows an Answer as far as it has come; `ask` is told related questions. */
export const answerView = (ask) => {
  const id = `answer-${(count += 1)}`;
  const parts = Object.fromEntries(
    ["reasoning", "body", "calls", "trouble", "sources", "pictures", "related", "foot"].map((name) => [name, make("div", { class: name, hidden: true })]),
  );
  const element = make("article", { class: "answer", "aria-busy": "true", "aria-label": t("answer") }, ...Object.values(parts));
  const show = (name, children) => {
    parts[name].hidden = children.length === 0;
    parts[name].replaceChildren(...children);
  };
  const memo = {};
  /** Draws a part anew only if `value` is not what it was drawn from. */
  const once = (name, value, children) => {
    const seen = JSON.stringify(value);
    if (memo[name] !== seen) show(name, children());
    memo[name] = seen;
  };

  const update = (answer, { over = false } = {}) => {
    const cards = cardsOf(answer);
    updateReasoning(parts.reasoning, answer, over);
    once("body", [answer.text, answer.annotations.length, cards.length], () => (answer.text ? [...text(answer, cards, id)] : []));
    once("calls", answer.calls, () => answer.calls.filter(Boolean).map(callView));
    once("sources", cards, () => (cards.length ? [sourceList(cards, id)] : []));
    once("pictures", answer.images, () => (answer.images.length ? [pictureList(answer.images)] : []));
    once("related", over && answer.related, () => (over && answer.related.length ? [relatedList(answer.related, ask)] : []));
  };

  return {
    element,
    update,
    /** `notes` are sentences for the foot; `error` is a GatewayError, `stopped` says that the reader ended it. */
    end: (answer, { notes, error, stopped }) => {
      update(answer, { over: true });
      element.setAttribute("aria-busy", "false");
      show("trouble", [error && trouble(error), stopped && make("p", { class: "stopped" }, t("stopped"))].filter(Boolean));
      show("foot", notes.map((note) => make("span", {}, note)));
      parts.foot.hidden = false;
    },
  };
};

/** The cards of an answer, numbered as its marks are: what was listed, and what only a citation names. */
const cardsOf = (answer) => {
  const cards = [...answer.sources.values()].map((source) => ({ ...source, number: source.id }));
  for (const { url, title } of answer.annotations) {
    if (!cards.some((card) => card.url === url)) {
      cards.push({ number: Math.max(0, ...cards.map((card) => card.number)) + 1, url, title, snippet: "", date: null });
    }
  }
  return cards.sort((a, b) => a.number - b.number);
};

const text = (answer, cards, id) => {
  if (!markdown) return [make("p", { class: "plain" }, answer.text)];
  const places = answer.annotations.map((found) => ({ ...found, number: cards.find((card) => card.url === found.url).number }));
  const known = new Set(cards.map((card) => card.number));
  const shown = markdown.render(markdown.marked(answer.text, places), { known, exact: places.length > 0 });
  for (const mark of shown.querySelectorAll("a.mark:not([href])")) link(mark, cards, id);
  return shown.childNodes;
};

const link = (mark, cards, id) => {
  const card = cards.find((found) => String(found.number) === mark.textContent);
  mark.setAttribute("href", `#${id}-source-${card.number}`);
  mark.setAttribute("aria-label", t("mark", card.number, card.title || card.url));
  mark.title = card.title || card.url;
  mark.addEventListener("click", (event) => {
    event.preventDefault();
    const target = document.getElementById(`${id}-source-${card.number}`);
    target.scrollIntoView({ block: "nearest" });
    target.querySelector("a, [tabindex]").focus();
  });
};

const sourceList = (cards, id) =>
  make("section", { "aria-label": t("sources") }, make("h3", {}, t("sources"), make("span", { class: "count" }, String(cards.length))),
    make("ol", { class: "cards" }, cards.map((card) => make("li", { id: `${id}-source-${card.number}` }, cardView(card)))));

const cardView = ({ number: place, url, title, date, snippet, source }) => {
  const inner = [
    make("span", { class: "card-head" }, make("b", {}, String(place)), make("span", { class: "host" }, hostOf(url))),
    make("span", { class: "card-title" }, title || url),
    snippet && make("span", { class: "snippet" }, snippet),
    make("span", { class: "card-foot" }, [date, source].filter(Boolean).join(" · ")),
  ];
  if (!isWeb(url)) return make("span", { class: "card", tabindex: "0" }, inner);
  return make("a", { class: "card", href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, inner);
};

const relatedList = (questions, ask) =>
  make("section", { "aria-label": t("related") }, make("h3", {}, t("related")),
    make("ul", {}, questions.map((question) => make("li", {}, make("button", { type: "button", click: () => ask(question) }, question)))));

const callView = (call) =>
  make("details", { class: "call" },
    make("summary", {}, make("span", { class: "tag" }, t("call")), make("code", {}, call.name), make("code", { class: "args" }, call.arguments)),
    make("pre", { tabindex: "0" }, call.arguments),
    ...(call.output === undefined ? [] : [make("p", { class: "label" }, t("call.output")), make("pre", { class: "output", tabindex: "0" }, call.output)]));

const trouble = (error) =>
  make("div", { class: "error", role: "alert" },
    make("p", { class: "label" }, error.status && error.status !== 200 ? `HTTP ${error.status}` : t("error"), error.code && make("code", {}, error.code), error.param && make("code", {}, error.param)),
    make("p", {}, error.message));

/** Open while nothing else is there; the reader's own hand on it counts from then on. */
const updateReasoning = (place, answer, over) => {
  const lines = steps(answer.reasoning);
  place.hidden = lines.length === 0;
  if (!lines.length) return;
  let details = place.querySelector("details");
  if (!details) {
    details = make("details", { open: true }, make("summary", {}), make("ol", { class: "steps" }));
    details.querySelector("summary").addEventListener("click", () => (details.dataset.touched = ""));
    place.append(details);
  }
  if (details.dataset.touched === undefined && (over || answer.text)) details.open = false;
  const searches = lines.filter((line) => line.kind === "query").length;
  details.querySelector("summary").textContent = t(over || answer.text ? "thought" : "thinks", number(searches), number(lines.length));
  const list = details.querySelector("ol");
  // Only the last line may have grown since.
  while (list.children.length > Math.max(0, lines.length - 1)) list.lastChild.remove();
  if (list.lastChild && list.lastChild.textContent !== lines[list.children.length - 1].text) list.replaceChildren();
  for (const line of lines.slice(list.children.length)) list.append(make("li", { class: line.kind }, line.text));
};
