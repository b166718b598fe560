// The page: a question goes out, an answer comes in, and everything about both is shown.

import { answerView, ready } from "./chat-answer.js";
import { conversation } from "./chat-conversation.js";
import { attachments, picture } from "./chat-files.js";
import { layout } from "./chat-layout.js";
import { modelPicker } from "./chat-models.js";
import { notesOf } from "./chat-notes.js";
import { optionsOf } from "./chat-options.js";
import { rawView } from "./chat-raw.js";
import { readout } from "./chat-readout.js";
import { find, make } from "./dom.js";
import { onKey } from "./gateway.js";
import { speak, t } from "./i18n.js";
import { keyDialog } from "./key.js";
import { themeButton } from "./theme.js";

await speak("chat");

const turns = find("#turns");
const question = find("#question");
const setup = find("#setup");
const welcome = find("#welcome");
const spoken = find("#spoken");

themeButton();
const askKey = keyDialog();
const views = layout();
const dials = readout();
const showRaw = rawView();
// The checker comes with the first exchange; the first view does without.
let checker = null;
const showCheck = async (exchange) => {
  if (exchange) checker ??= import("./chat-check.js").then((module) => module.checkView());
  if (checker) (await checker)(looked);
};
const models = modelPicker(() => summarise());
const files = attachments({ imagesBy: () => optionsOf(setup, "").imagesBy, trouble: (sentence) => complain(sentence) });

let exchanges = [];
let looked = null;

/** Shows `exchange` in the Raw and Check tabs. */
const look = (exchange) => {
  looked = exchange;
  showRaw(exchange);
  return showCheck(exchange);
};

const atEnd = () => turns.scrollHeight - turns.scrollTop - turns.clientHeight < 80;
const follow = (change) => {
  const stick = atEnd();
  change();
  if (stick) turns.scrollTop = turns.scrollHeight;
};

// Many events may come within one frame; the page is drawn once for all of them.
let waiting = null;
const redraw = (draw) => {
  if (waiting === null) requestAnimationFrame(() => [waiting?.(), (waiting = null)]);
  waiting = draw;
};

const talk = conversation({
  asked: (turn) => {
    welcome.hidden = true;
    turns.append(questionView(turn));
    turns.scrollTop = turns.scrollHeight;
  },
  answering: () => {
    const shown = answerView((related) => ask(related));
    follow(() => turns.append(shown.element));
    return { ...shown, end: (...told) => follow(() => shown.end(...told)) };
  },
  begun: (exchange) => {
    exchanges.push(exchange);
    look(exchange);
    dials.show(exchange, null, talk.spent);
  },
  changed: (exchange, answer, shown) => {
    redraw(() => {
      if (exchange.outcome === "open") follow(() => shown.update(answer));
      if (looked === exchange) showRaw(exchange);
      dials.show(exchange, answer, talk.spent);
    });
  },
  notes: notesOf,
  ended: async (exchange, answer, shown, error) => {
    if (looked === exchange) await look(exchange);
    follow(() => find(".foot", shown.element).append(wireButton(exchange)));
    dials.show(exchange, answer, talk.spent);
    if (error?.status === 401) askKey(t("key.needed"));
  },
});

const questionView = (turn) =>
  make("article", { class: "question", "aria-label": t("question") },
    turn.attachments.length > 0 && make("ul", { class: "attached" }, turn.attachments.map((one) => make("li", {}, picture(one), make("span", { class: "file-name" }, one.name)))),
    turn.text && make("p", {}, turn.text));

const wireButton = (exchange) =>
  make("button", { type: "button", class: "small wire-button", click: () => [look(exchange), views.select("raw")] }, t("wire", exchange.number));

const complain = (sentence) => {
  follow(() => turns.append(make("p", { class: "error", role: "alert" }, sentence)));
};

const ask = async (text) => {
  if (talk.busy()) return;
  if (files.busy()) return complain(t("uploading"));
  const model = models.chosen().id;
  const taken = files.take();
  if (!text.trim() && !taken.length) return;
  views.select("talk");
  busy(true);
  const libraries = ready().catch((error) => complain(error.message));
  const attached = taken.map(({ kind, name, dataUrl, fileId, preview }) => ({ kind, name, dataUrl, fileId, preview }));
  await libraries;
  await talk.ask({ role: "user", text: text.trim(), attachments: attached }, optionsOf(setup, model));
  busy(false);
};

const busy = (on) => {
  find("#send").hidden = on;
  find("#stop").hidden = !on;
  turns.setAttribute("aria-busy", String(on));
  spoken.textContent = t(on ? "spoken.begun" : "spoken.ended");
};

const send = () => {
  if (talk.busy()) return;
  const text = question.value;
  question.value = "";
  ask(text);
};

find("#ask").addEventListener("submit", (event) => [event.preventDefault(), send()]);
find("#stop").addEventListener("click", () => [talk.stop(), question.focus()]);
question.addEventListener("keydown", (event) => {
  // While an input method is composing, Enter takes its proposal.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && talk.busy() && !document.querySelector("dialog[open]")) talk.stop();
});

find("#fresh").addEventListener("click", () => {
  talk.clear();
  files.clear();
  exchanges = [];
  turns.replaceChildren(welcome);
  welcome.hidden = false;
  look(null);
  dials.show(null, null, talk.spent);
  question.focus();
});

setup.addEventListener("submit", (event) => event.preventDefault());
setup.addEventListener("change", () => summarise());
find("#summary").addEventListener("click", () => views.select("setup"));

const summarise = () => {
  const { api, stream, thinking, tools } = optionsOf(setup, "");
  const { id, upstream } = models.chosen();
  const words = [id || t("model.none"), upstream && t(`on.${upstream}`), api === "chat" ? "Chat Completions" : "Responses", stream && t("stream"), thinking && t("thinking"), tools.length && t("tools")];
  find("#summary").replaceChildren(...words.filter(Boolean).map((word, index) => make("span", { class: index ? "" : "strong" }, word)));
};

find("#starters").append(...["starter.1", "starter.2", "starter.3"].map((key) => make("li", {}, make("button", { type: "button", click: () => [(question.value = t(key)), question.focus()] }, t(key)))));

const load = async () => {
  try {
    await models.load();
    await dials.quota();
  } catch (error) {
    if (error.status === 401) askKey(t("key.needed"));
    else complain(error.message);
  }
  if (!talk.busy()) dials.show(looked, null, talk.spent);
};

onKey(load);
look(null);
dials.show(null, null, talk.spent);
await load();
document.documentElement.dataset.ready = "";
