// The catalogue, the run that looks which models are alive, and the owner's own changes.

import { ago, since } from "./admin-format.js";
import { ask, button, chip, errorBox, facts, field, formDialog, lamp, optional, panel, redraw, say, sure, table } from "./admin-kit.js";
import { make } from "./dom.js";
import { number, t } from "./i18n.js";

const MODES = [["copilot", "copilot"], ["concise", "concise"]];

export const models = (place) => {
  const discovery = make("div");
  const session = make("div");
  const api = make("div");
  place.replaceChildren(
    panel(t("discovery"), { id: "discovery-panel" }, discovery),
    panel(t("models.session"), { id: "session-models", actions: [button(t("models.add"), () => add(), { kind: "small", focus: "add-model" })] }, session),
    panel(t("models.api"), { id: "api-models" }, api));

  let last = null; // when the last run began
  let before; // that of the run before the one that was started here, until it ends
  const load = async () => {
    const [map, served] = await Promise.all([optional(ask("/admin/models")), ask("/v1/models")]);
    const paid = served.data.filter((model) => model.upstream === "api");
    if ((map?.discovery?.last?.at ?? null) !== before) before = undefined; // the run that was started here has ended
    section.every = map?.discovery?.under_way || before !== undefined ? 1 : 15;
    last = map?.discovery?.last?.at ?? null;
    redraw(discovery, map?.discovery ? discoveryView(map.discovery, start) : make("p", { class: "note" }, t("session.off")));
    redraw(session, map ? mapView(map, { change: add, remove }) : make("p", { class: "note" }, t("session.off")));
    redraw(api, paid.length ? make("ul", { class: "names" }, paid.map((model) => make("li", {}, make("code", {}, model.id), ` ${model.name}`))) : make("p", { class: "note" }, t("models.noApi")));
  };

  const start = async () => {
    try {
      await ask("/admin/discover-models", { method: "POST" });
      before = last;
      say(t("discovery.started"));
      await load();
    } catch (error) {
      discovery.prepend(errorBox(error));
    }
  };

  const put = async (changed, sentence) => {
    await ask("/admin/update-models", { method: "POST", json: { models: changed } });
    say(sentence);
    await load();
  };

  const add = (id = "", entry = null) => formDialog({
    title: entry ? t("models.change", id) : t("models.add"),
    verb: t("save"),
    fields: [
      ...(entry ? [] : [field({ name: "id", label: t("models.id"), note: t("models.id.note"), required: true })]),
      field({ name: "mode", label: t("models.mode"), options: MODES, value: entry?.mode ?? "copilot" }),
      field({ name: "upstream_id", label: t("models.upstream"), value: entry?.upstream_id ?? "", required: true }),
      make("p", { class: "note" }, t("models.pinNote")),
    ],
    save: (form) => put({ [entry ? id : form.get("id").trim()]: [form.get("mode"), form.get("upstream_id").trim()] }, t("models.saved")),
  });

  const remove = async (id) => {
    if (await sure(t("models.remove", id), t("models.remove.note"), t("remove"))) await put({ [id]: null }, t("models.removed", id));
  };

  const section = { load, every: 15 };
  return section;
};

const discoveryView = ({ last, under_way: run, plan, next_at: next, searches_left: left }, start) => [
  run ? runView(run, plan) : null,
  facts([
    [t("discovery.last"), last ? since(last.at) : t("never")],
    [t("discovery.next"), next === null ? t("discovery.onDemand") : ago(Date.now() / 1000 - next)],
    [t("discovery.left"), number(left)],
    [t("discovery.plan"), plan.map((step) => step.id).join(", ") || t("none")],
  ], "facts stacked"),
  !run && last ? reportView(last) : null,
  make("div", { class: "row-end" }, make("span", { class: "note" }, t("discovery.note")),
    make("button", { type: "button", class: "send", click: start, disabled: Boolean(run), "data-focus": "discover" }, t(run ? "discovery.running" : "discovery.start"))),
];

const asked = (report) => new Set([...report.alive, ...report.dead, ...Object.keys(report.unclear), ...Object.keys(report.skipped), ...Object.keys(report.added)]);

const runView = (run, plan) => {
  const done = asked(run);
  const count = plan.filter((step) => done.has(step.id)).length;
  return make("div", { class: "run", id: "run" },
    make("p", {}, lamp("waiting", t("discovery.progress", number(count), number(plan.length)))),
    make("progress", { max: String(plan.length || 1), value: String(count), "aria-label": t("discovery.progress", number(count), number(plan.length)) }),
    reportView(run));
};

const reportView = (report) => {
  const rows = [
    ...report.alive.map((id) => [id, "good", t("verdict.alive"), ""]),
    ...report.dead.map((id) => [id, "bad", t("verdict.dead"), report.upgraded[id] ? t("verdict.upgraded", report.upgraded[id].old, report.upgraded[id].new) : t("verdict.stays")]),
    ...Object.entries(report.added).map(([id, upstream]) => [id, "good", t("verdict.added"), upstream]),
    ...Object.entries(report.unclear).map(([id, why]) => [id, "halted", t("verdict.unclear"), why]),
    ...Object.entries(report.skipped).map(([id, why]) => [id, "idle", t("verdict.skipped"), why]),
  ];
  return make("div", { class: "found" },
    report.stopped ? make("p", { class: "why" }, t("discovery.stopped", report.stopped)) : null,
    rows.length ? make("ul", { class: "verdicts" }, rows.map(([id, state, words, more]) => make("li", {}, make("code", {}, id), lamp(state, words), make("span", { class: "note" }, more)))) : null,
    make("p", { class: "note" }, t("discovery.took", number(report.probes), number(report.searches))));
};

const mapView = ({ models: entries, removed }, { change, remove }) => [
  table(t("models.session"), [[t("models.id")], [t("models.upstream")], [t("models.plan"), "brief"], [t("models.source"), "brief"], [t("models.state"), "brief"], ["", "acts"]],
    Object.entries(entries).map(([id, entry]) => [
      [make("b", {}, id), make("span", { class: "note" }, entry.name)],
      [make("code", {}, entry.upstream_id), entry.thinking_id && entry.thinking_id !== entry.upstream_id ? make("code", { class: "more" }, entry.thinking_id) : null].filter(Boolean),
      entry.tier,
      [t(`source.${entry.source}`), entry.pinned ? chip(t("models.pinned")) : null].filter(Boolean),
      lamp(entry.served ? "good" : "idle", t(entry.served ? "models.served" : entry.enabled ? "models.abovePlan" : "models.disabled")),
      [button(t("edit"), () => change(id, entry), { kind: "quiet small", focus: `edit-${id}`, label: `${t("edit")}: ${id}` }), button(t("remove"), () => remove(id), { kind: "quiet small", focus: `remove-${id}`, label: `${t("remove")}: ${id}` })],
    ])),
  removed.length ? make("p", { class: "note" }, t("models.gone", removed.join(", "))) : null,
];
