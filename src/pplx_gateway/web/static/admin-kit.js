// What the sections of the page are made of.

import { find, make } from "./dom.js";
import { call, GatewayError, onKey } from "./gateway.js";
import { t } from "./i18n.js";

let epoch = 0;
onKey(() => (epoch += 1));

/** An answer to a key that is not the one in use any more. */
export class Stale extends Error {}

/** As `call`; what comes after the key has changed is thrown away. Throws GatewayError, Stale. */
export const ask = async (path, options) => {
  const mine = epoch;
  try {
    return await call(path, options);
  } finally {
    if (mine !== epoch) throw new Stale(); // in place of an answer or of an error
  }
};

/** null for what is not here, such as an upstream that is not set up. */
export const optional = (reply) => reply.catch((error) => {
  if (error instanceof GatewayError && error.status === 404) return null;
  throw error;
});

/** Says it to everybody: on the screen for a while, and to screen readers. */
let silence;
export const say = (sentence) => {
  const place = find("#said");
  place.textContent = sentence;
  clearTimeout(silence);
  silence = setTimeout(() => (place.textContent = ""), 8000);
};

/** Puts new children into `place`; whoever had the focus and is there again, by data-focus, keeps it. */
export const redraw = (place, ...children) => {
  const held = place.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  place.replaceChildren(...children.flat().filter(Boolean));
  if (held) [...place.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === held)?.focus();
};

export const panel = (title, { id, wide = false, actions = [] } = {}, ...children) =>
  make("section", { class: `panel${wide ? " wide" : ""}`, id },
    make("header", {}, make("h2", {}, title), actions.length ? make("div", { class: "actions" }, actions) : null), ...children);

export const lamp = (state, words) => make("span", { class: `lamp ${state}` }, words);

export const chip = (words, kind = "") => make("span", { class: `chip ${kind}` }, words);

/** Name and value, one below the other. Values that are null or undefined are left out. */
export const facts = (pairs, kind = "facts") =>
  make("dl", { class: kind }, pairs.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));

export const button = (words, click, { kind = "", focus, label } = {}) =>
  make("button", { type: "button", class: kind, click, "data-focus": focus, "aria-label": label }, words);

/** `heads`: [words, kind]; a row is a list of cells. On a phone each row is a card, so that roles are said aloud. */
export const table = (label, heads, rows) =>
  make("table", { class: "grid", role: "table", "aria-label": label },
    make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, heads.map(([words, kind = ""]) => make("th", { role: "columnheader", scope: "col", class: kind }, words)))),
    make("tbody", { role: "rowgroup" }, rows.map((cells) => make("tr", { role: "row" }, cells.map((cell, at) => make("td", { role: "cell", class: heads[at][1] ?? "", "data-head": heads[at][0] }, cell))))));

/** A bar of `used` of `most`. */
export const meter = (used, most, label) =>
  make("meter", { min: "0", max: String(most), high: String(most * 0.8), optimum: "0", value: String(Math.min(used, most)), "aria-label": label });

/** A choice of a few. `options`: [value, words]; `changed(value)`. */
export const segments = (name, label, options, chosen, changed) =>
  make("div", { class: "segments", role: "radiogroup", "aria-label": label },
    options.map(([value, words]) => make("label", {}, make("input", { type: "radio", name, value, checked: value === chosen, change: () => changed(value) }), make("span", {}, words))));

export const field = ({ name, label, note, type = "text", value = "", options, ...more }) => {
  const control = options
    ? make("select", { name, ...more }, options.map(([id, words]) => make("option", { value: id, selected: id === value }, words)))
    : type === "area"
      ? make("textarea", { name, rows: "3", spellcheck: "false", autocomplete: "off", ...more }, value)
      : make("input", { name, type, value, spellcheck: "false", autocomplete: "off", ...more });
  return make("label", { class: "field" }, make("span", {}, label), control, note ? make("span", { class: "note" }, note) : null);
};

/** A dialog that lives as long as it is open. */
const dialog = (title, ...children) => {
  const element = make("dialog", { "aria-label": title }, make("form", { method: "dialog", autocomplete: "off" }, make("h2", {}, title), ...children));
  element.addEventListener("close", () => element.remove());
  document.body.append(element);
  element.showModal();
  return element;
};

/** Asks for `fields`; `save(FormData)` may throw a GatewayError, which is then told, at the field it is about. */
export const formDialog = ({ title, fields, verb, save }) => {
  const why = make("p", { class: "why", role: "alert", hidden: true });
  const submit = make("button", { type: "submit", class: "send" }, verb);
  const opened = dialog(title, why, make("div", { class: "fields" }, fields), make("div", { class: "dialog-row" }, button(t("cancel"), () => opened.close(), { kind: "quiet" }), submit));
  const form = find("form", opened);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    submit.disabled = true;
    why.hidden = true;
    try {
      await save(new FormData(form));
      opened.close();
    } catch (error) {
      if (error instanceof Stale) return opened.close();
      why.textContent = error.message;
      why.hidden = false;
      const wrong = form.elements.namedItem((error.param ?? "").split(/[.[]/)[0]);
      wrong?.setAttribute?.("aria-invalid", "true");
      wrong?.focus?.();
    }
    submit.disabled = false;
  });
  for (const control of form.elements) control.addEventListener("input", () => control.removeAttribute("aria-invalid"));
  form.querySelector("input, select, textarea")?.focus();
  return opened;
};

/** True if the person says so. */
export const sure = (title, sentence, verb) =>
  new Promise((done) => {
    const opened = dialog(title, make("p", {}, sentence), make("div", { class: "dialog-row" },
      button(t("cancel"), () => opened.close(), { kind: "quiet" }),
      button(verb, () => { done(true); opened.close(); }, { kind: "danger" })));
    opened.addEventListener("close", () => done(false));
  });

/** Shows something once. */
export const shownOnce = (title, ...children) => {
  const opened = dialog(title, ...children, make("div", { class: "dialog-row" }, button(t("done"), () => opened.close(), { kind: "send" })));
  return opened;
};

export const errorBox = (error) =>
  make("div", { class: "error", role: "alert" }, make("p", { class: "label" }, error.status ? `HTTP ${error.status}` : t("noAnswer"), error.code ? make("code", {}, error.code) : null), make("p", {}, error.message));
