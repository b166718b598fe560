// The owner's keys for the Perplexity API: how each fares, what it may be used for, and changes. No value is ever shown.

import { listed, since } from "./admin-format.js";
import { ask, button, chip, errorBox, facts, field, formDialog, lamp, optional, panel, redraw, say, sure } from "./admin-kit.js";
import { make } from "./dom.js";
import { number, t } from "./i18n.js";

const LAMPS = { good: "good", untried: "idle", throttled: "halted", out_of_balance: "bad", refused: "bad" };

export const keys = (place) => {
  const list = make("div", { class: "cards-list" });
  const trouble = make("div");
  place.replaceChildren(panel(t("keys"), { id: "keys-panel", actions: [button(t("keys.add"), () => add(), { kind: "send", focus: "add-key" })] },
    make("p", { class: "note" }, t("keys.note")), trouble, list));

  const load = async () => {
    const found = await optional(ask("/admin/keys"));
    redraw(list, !found ? make("p", { class: "note" }, t("api.off")) : found.keys.length ? found.keys.map((key) => card(key, found.keys, { edit, turn, remove })) : make("p", { class: "empty" }, t("keys.none")));
  };
  const path = (name) => `/admin/keys/${encodeURIComponent(name)}`;
  const done = async (sentence) => {
    trouble.replaceChildren();
    say(sentence);
    await load();
  };
  const tried = async (work) => {
    try {
      await work();
    } catch (error) {
      trouble.replaceChildren(errorBox(error));
    }
  };

  const add = () => formDialog({
    title: t("keys.add"),
    verb: t("keys.add"),
    fields: [field({ name: "name", label: t("name"), required: true, maxlength: "64" }), ...common({ weight: 1, models: ["*"] }, true)],
    save: async (form) => {
      await ask("/admin/keys", { method: "POST", json: { name: form.get("name"), value: form.get("value"), ...limits(form) } });
      await done(t("keys.added", form.get("name")));
    },
  });
  const edit = (key) => formDialog({
    title: t("keys.edit", key.name),
    verb: t("save"),
    fields: common(key, false),
    save: async (form) => {
      const value = form.get("value");
      await ask(path(key.name), { method: "PATCH", json: { ...(value ? { value } : {}), ...limits(form) } });
      await done(t("keys.saved", key.name));
    },
  });
  const turn = (key) => tried(async () => {
    await ask(path(key.name), { method: "PATCH", json: { enabled: !key.enabled } });
    await done(t(key.enabled ? "keys.isDisabled" : "keys.isEnabled", key.name));
  });
  const remove = (key) => tried(async () => {
    if (!(await sure(t("keys.remove", key.name), t("keys.remove.note"), t("remove")))) return;
    await ask(path(key.name), { method: "DELETE" });
    await done(t("keys.removed", key.name));
  });

  return { load, every: 10 };
};

const common = (key, fresh) => [
  field({ name: "value", type: "password", label: t("keys.value"), note: t(fresh ? "keys.value.note" : "keys.value.keep"), required: fresh }),
  field({ name: "models", label: t("keys.models"), note: t("keys.models.note"), value: key.models.join(", ") }),
  field({ name: "weight", type: "number", min: "0", step: "any", label: t("keys.weight"), note: t("keys.weight.note"), value: String(key.weight), required: true }),
];

const limits = (form) => {
  const models = listed(form.get("models"));
  return { models: models.length ? models : ["*"], weight: Number(form.get("weight")) };
};

const card = (key, all, { edit, turn, remove }) => {
  const total = all.filter((other) => other.usable).reduce((sum, other) => sum + other.weight, 0);
  const { health } = key;
  const [state, words] = !key.enabled ? ["idle", t("keys.disabled")] : key.usable ? [LAMPS[health.state], t(`health.${health.state}`)] : ["bad", t("keys.unusable")];
  const resting = health.rest_seconds > 0 ? t("keys.rests", number(health.rest_seconds)) : null;
  return make("article", { class: `card-row${key.enabled ? "" : " off"}`, "data-key": key.name },
    make("header", {}, make("h3", {}, key.name), lamp(state, words), resting && chip(resting),
      make("div", { class: "actions" },
        button(t(key.enabled ? "disable" : "enable"), () => turn(key), { kind: "small", focus: `turn-${key.name}`, label: `${t(key.enabled ? "disable" : "enable")}: ${key.name}` }),
        button(t("edit"), () => edit(key), { kind: "small", focus: `edit-${key.name}`, label: `${t("edit")}: ${key.name}` }),
        button(t("remove"), () => remove(key), { kind: "quiet small", focus: `remove-${key.name}`, label: `${t("remove")}: ${key.name}` }))),
    facts([
      [t("keys.from"), [t(`origin.${key.origin}`), key.reference ? make("code", {}, key.reference) : null].filter(Boolean)],
      [t("keys.models"), key.models.includes("*") ? t("all") : key.models.map((model) => make("code", {}, model))],
      [t("keys.weight"), key.weight === 0 ? t("keys.named") : `${number(key.weight, 2)}${key.usable && total ? ` · ${number((key.weight / total) * 100)} %` : ""}`],
      [t("requests"), number(health.requests)],
      [t("keys.failures"), number(health.failures)],
      [t("keys.used"), since(health.last_used_at)],
    ], "facts stacked"),
    key.reason && key.enabled ? make("p", { class: "why" }, key.reason) : null,
    health.message ? make("p", { class: "why" }, health.message) : null);
};
