// Callers' keys: made and shown once, limited, watched, revoked.

import { axisDollars, listed, since } from "./admin-format.js";
import { ask, button, chip, errorBox, facts, field, formDialog, lamp, meter, panel, redraw, say, shownOnce, sure } from "./admin-kit.js";
import { copies } from "./copy.js";
import { make } from "./dom.js";
import { dollars, number, t } from "./i18n.js";

const LAMPS = { active: "good", expired: "halted", revoked: "idle" };
const NUMBERS = ["requests_per_minute", "requests_per_day", "cost_per_day", "cost_per_month"];

export const callers = (place) => {
  const list = make("div", { class: "cards-list" });
  const trouble = make("div");
  place.replaceChildren(panel(t("callers"), { id: "callers-panel", actions: [button(t("callers.add"), () => add(), { kind: "send", focus: "add-caller" })] },
    make("p", { class: "note" }, t("callers.note")), trouble, list));

  const load = async () => {
    const today = new Date().toISOString().slice(0, 10);
    const spent = (from) => ask(`/admin/usage?group_by=caller&from=${from}`).then(({ rows }) => new Map(rows.map((row) => [row.by.caller, row.sums])));
    const [{ keys }, day, month] = await Promise.all([ask("/admin/caller-keys"), spent(today), spent(`${today.slice(0, 8)}01`)]);
    const order = [...keys].sort((one, other) => Number(one.status === "revoked") - Number(other.status === "revoked"));
    redraw(list, order.length ? order.map((key) => card(key, day.get(key.id), month.get(key.id), { edit, revoke })) : make("p", { class: "empty" }, t("callers.none")));
  };
  const path = (key) => `/admin/caller-keys/${encodeURIComponent(key.id)}`;
  const done = async (sentence) => {
    trouble.replaceChildren();
    say(sentence);
    await load();
  };

  const add = () => formDialog({
    title: t("callers.add"),
    verb: t("callers.make"),
    fields: fields({ name: "", models: [], upstreams: [], origins: [] }),
    save: async (form) => {
      const made = await ask("/admin/caller-keys", { method: "POST", json: written(form) });
      showSecret(made.secret, made.key.name);
      await load();
    },
  });
  const edit = (key) => formDialog({
    title: t("callers.edit", key.name),
    verb: t("save"),
    fields: fields(key),
    save: async (form) => {
      const changed = written(form);
      // The form knows days only: an end that was not touched stays as exact as it was.
      if (changed.expires_at === dayOf(key.expires_at)) delete changed.expires_at;
      await ask(path(key), { method: "PATCH", json: changed });
      await done(t("callers.saved", form.get("name")));
    },
  });
  const revoke = async (key) => {
    if (!(await sure(t("callers.revoke", key.name), t("callers.revoke.note"), t("revoke")))) return;
    try {
      await ask(path(key), { method: "DELETE" });
      await done(t("callers.revoked", key.name));
    } catch (error) {
      trouble.replaceChildren(errorBox(error));
    }
  };

  return { load, every: 10 };
};

const showSecret = (secret, name) =>
  shownOnce(t("callers.made", name), make("p", {}, t("callers.once")),
    make("div", { class: "secret" }, make("code", { id: "secret" }, secret), copies(button(t("copy"), () => {}, { kind: "small" }), () => secret)));

const dayOf = (seconds) => (seconds ? new Date(seconds * 1000).toISOString().slice(0, 10) : null);

const fields = (key) => [
  field({ name: "name", label: t("name"), value: key.name, required: true, maxlength: "64" }),
  // What it is for is settled when it is made.
  ...(key.id ? [] : [field({ name: "use", label: t("callers.use"), note: t("callers.use.note"), value: "header", options: [["header", t("callers.header")], ["mcp-path", t("callers.path")]] })]),
  make("div", { class: "pair" }, NUMBERS.map((name) =>
    field({ name, type: "number", min: name.startsWith("cost") ? "0" : "1", step: name.startsWith("cost") ? "any" : "1", label: t(`limit.${name}`), value: key[name] ?? "", placeholder: t("noLimit") }))),
  field({ name: "models", label: t("callers.models"), note: t("callers.models.note"), value: key.models.join(", "), placeholder: t("all") }),
  make("fieldset", { class: "boxes" }, make("legend", {}, t("callers.upstreams")), ["session", "api"].map((upstream) =>
    make("label", {}, make("input", { type: "checkbox", name: "upstreams", value: upstream, checked: key.upstreams.includes(upstream) || !key.upstreams.length }), upstream))),
  field({ name: "origins", label: t("callers.origins"), note: t("callers.origins.note"), value: key.origins.join(", "), placeholder: t("all") }),
  make("div", { class: "pair" },
    field({ name: "unsupported", label: t("callers.unsupported"), value: key.unsupported ?? "", options: [["", t("callers.asSet")], ["reject", t("callers.reject")], ["drop", t("callers.drop")]] }),
    field({ name: "expires_at", type: "date", label: t("callers.expires"), value: dayOf(key.expires_at) ?? "" })),
];

/** Blank = no limit. Both upstreams ticked = no limit either, so that a third one would not be shut out. */
const written = (form) => {
  const upstreams = form.getAll("upstreams");
  const amount = (text) => (text === "" ? null : Number(text));
  return {
    name: form.get("name"),
    ...(form.has("use") ? { use: form.get("use") } : {}),
    ...Object.fromEntries(NUMBERS.map((name) => [name, amount(form.get(name))])),
    models: listed(form.get("models")),
    upstreams: upstreams.length === 2 ? [] : upstreams,
    origins: listed(form.get("origins")),
    unsupported: form.get("unsupported") || null,
    expires_at: form.get("expires_at") || null,
  };
};

const card = (key, day, month, { edit, revoke }) =>
  make("article", { class: `card-row${key.status === "active" ? "" : " off"}`, "data-caller": key.name },
    make("header", {}, make("h3", {}, key.name), lamp(LAMPS[key.status], t(`status.${key.status}`)), make("code", { class: "hint" }, `…${key.hint}`),
      key.status === "revoked" ? null : make("div", { class: "actions" },
        button(t("edit"), () => edit(key), { kind: "small", focus: `edit-${key.id}`, label: `${t("edit")}: ${key.name}` }),
        button(t("revoke"), () => revoke(key), { kind: "quiet small", focus: `revoke-${key.id}`, label: `${t("revoke")}: ${key.name}` }))),
    facts([
      [t("spent.today"), spending(day, key.cost_per_day, t("spent.today"))],
      [t("spent.month"), spending(month, key.cost_per_month, t("spent.month"))],
      [t("requests.today"), counted(day?.requests ?? 0, key.requests_per_day)],
      [t("perMinute"), key.requests_per_minute ? number(key.requests_per_minute) : t("noLimit")],
      [t("callers.use"), key.use === "mcp-path" ? t("callers.path") : null],
      [t("callers.models"), key.models.length ? key.models.map((model) => make("code", {}, model)) : t("all")],
      [t("callers.upstreams"), key.upstreams.length ? key.upstreams.map((upstream) => chip(upstream)) : t("all")],
      [t("callers.origins"), key.origins.length ? key.origins.map((origin) => make("code", {}, origin)) : null],
      [t("callers.expires"), dayOf(key.expires_at)],
      [t("keys.used"), since(key.last_used_at)],
    ], "facts stacked"));

const spending = (sums, most, label) => {
  const used = sums?.cost ?? 0;
  if (most === null) return dollars(used);
  return [`${dollars(used)} / ${axisDollars(most)}`, meter(used, most || 1, label)];
};

const counted = (used, most) => (most ? [`${number(used)} / ${number(most)}`, meter(used, most, t("requests.today"))] : number(used));
