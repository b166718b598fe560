// Every setting as it is, and where that comes from; and a report that can be shown to others.

import { Stale, ask, button, chip, panel, redraw } from "./admin-kit.js";
import { copies } from "./copy.js";
import { make } from "./dom.js";
import { number, t } from "./i18n.js";

export const settings = (place) => {
  const list = make("div");
  const search = make("input", { type: "search", placeholder: t("settings.search"), "aria-label": t("settings.search"), spellcheck: "false" });
  const only = make("input", { type: "checkbox", role: "switch" });
  const count = make("p", { class: "note", role: "status" });
  let all = [];

  const show = () => {
    const words = search.value.trim().toLowerCase();
    const found = all.filter((row) => (!only.checked || row.source !== "default") && `${row.name} ${row.about} ${row.value}`.toLowerCase().includes(words));
    count.textContent = t("settings.count", number(found.length), number(all.length));
    redraw(list, make("dl", { class: "settings" }, found.map(view)));
  };
  search.addEventListener("input", show);
  only.addEventListener("change", show);
  place.replaceChildren(panel(t("settings"), { id: "settings-panel" }, make("p", { class: "note" }, t("settings.note")),
    make("div", { class: "choices" }, search, make("label", { class: "switch" }, only, make("span", {}, t("settings.only")))), count, list));

  const load = async () => {
    ({ settings: all } = await ask("/admin/settings"));
    show();
  };
  return { load, every: null };
};

const view = ({ name, variable, about, takes, value, default: usual, secret, source }) =>
  make("div", { class: source === "default" ? "" : "set", "data-setting": name },
    make("dt", {}, make("code", {}, name), chip(source === "file" ? t("from.file", variable) : t(`from.${source}`), source === "default" ? "" : "strong")),
    make("dd", {},
      make("p", { class: "value" }, value === "" ? make("span", { class: "unset" }, t("unset")) : secret ? t("settings.secret") : value),
      make("p", { class: "note" }, coded(about), ` ${t("settings.takes", takes)}`, source === "default" || secret ? "" : ` ${t("settings.default", usual || t("unset"))}`)));

/** What stands between backticks is code. */
const coded = (words) => words.split("`").map((part, at) => (at % 2 ? make("code", {}, part) : part));

export const report = (place) => {
  const text = make("pre", { class: "report", role: "region", tabindex: "0", "aria-label": t("report") });
  const copy = copies(button(t("report.copy"), null, { kind: "send" }), () => text.textContent);
  const write = async (query) => {
    text.setAttribute("aria-busy", "true");
    try {
      text.textContent = (await ask(`/admin/report${query}`)).text;
    } finally {
      text.setAttribute("aria-busy", "false");
    }
  };
  const check = button(t("report.check"), () => {
    check.disabled = true;
    failed.hidden = true;
    return write("?checks=1").catch(tell).finally(() => (check.disabled = false));
  });
  const failed = make("p", { class: "why", role: "alert", hidden: true });
  const tell = (error) => {
    if (error instanceof Stale) return;
    failed.textContent = error.message;
    failed.hidden = false;
  };
  place.replaceChildren(panel(t("report"), { id: "report-panel", actions: [check, copy] }, make("p", { class: "note" }, t("report.note")), failed, text));
  const load = () => write("");
  return { load, every: null };
};
