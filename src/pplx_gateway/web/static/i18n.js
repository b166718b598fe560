// Words in the browser's language: English, or Simplified Chinese. A page's words are in NAME-en.js and NAME-zh.js.

const KNOWN = ["en", "zh"];

/** `navigator.languages` in, one of KNOWN out. */
export const choose = (languages) =>
  languages.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => KNOWN.includes(tag)) ?? "en";

export const language = choose(globalThis.navigator?.languages ?? []);

let words = {};

/** Loads the kit's words and those of `page`, and fills in what the document asks for. */
export const speak = async (page) => {
  const loaded = await Promise.all(["kit", page].map((name) => import(`./${name}-${language}.js`)));
  words = Object.assign({}, ...loaded.map((module) => module.default));
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  document.title = t("title");
  fill(document);
};

/** The words for `key`; {0}, {1} ... are filled from `values`. A key without words shows itself. */
export const t = (key, ...values) =>
  (words[key] ?? key).replace(/\{(\d)\}/g, (whole, index) => (index in values ? String(values[index]) : whole));

/** data-t = text, data-t-label = aria-label and title, data-t-hint = placeholder. */
const fill = (root) => {
  for (const element of root.querySelectorAll("[data-t]")) element.textContent = t(element.dataset.t);
  for (const element of root.querySelectorAll("[data-t-hint]")) element.placeholder = t(element.dataset.tHint);
  for (const element of root.querySelectorAll("[data-t-label]")) {
    element.setAttribute("aria-label", t(element.dataset.tLabel));
    if (element.matches("button, a")) element.title = t(element.dataset.tLabel);
  }
};

export const number = (value, digits = 0) =>
  value.toLocaleString(language === "zh" ? "zh-CN" : "en-GB", { maximumFractionDigits: digits });

/** Money in dollars, with as many digits as small amounts need. */
export const dollars = (value) => `$${value.toFixed(value !== 0 && Math.abs(value) < 0.1 ? 5 : 2)}`;

export const milliseconds = (value) => (value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`);
