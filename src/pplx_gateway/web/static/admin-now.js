// How things stand: what needs somebody, the session, the quota with its history, the last 24 hours.

import { bars, noData, steps } from "./admin-chart.js";
import { ago, dayOf, hourOf, hours, short } from "./admin-format.js";
import { ask, button, facts, lamp, optional, panel, redraw, say } from "./admin-kit.js";
import { seriesOf, spanOf } from "./admin-series.js";
import { find, make } from "./dom.js";
import { dollars, milliseconds, number, t } from "./i18n.js";

const QUOTA_DAYS = 30;
const ROOMY = matchMedia("(min-width: 720px)");
const LAMPS = { valid: "good", expired: "bad", blocked: "bad", unknown: "idle" };
const BAD_KEYS = ["throttled", "out_of_balance", "refused"];

/** `told` gets what the bar shows. */
export const now = (place, told) => {
  const needs = make("div");
  const session = make("div");
  const quota = make("div", { class: "gauges" });
  const day = make("div");
  const inject = injectForm(() => load());
  place.replaceChildren(needs, make("div", { class: "board" },
    panel(t("session"), { id: "session-panel" }, session, inject),
    panel(t("quota"), { id: "quota-panel" }, quota),
    panel(t("lastDay"), { id: "day-panel", wide: true }, day)));

  const load = async () => {
    const span = spanOf(1);
    const [health, left, usage, keys] = await Promise.all([
      ask("/health"),
      optional(ask(`/admin/quota?days=${QUOTA_DAYS}`)),
      ask(`/admin/usage?group_by=hour&from=${span.from.getTime() / 1000}`),
      optional(ask("/admin/keys")),
    ]);
    inject.hidden = left === null;
    section.every = health.session && left?.age_seconds === null ? 1.5 : 5; // it is being read
    redraw(session, sessionView(health.session, left !== null));
    redraw(quota, left ? quotaView(left) : make("p", { class: "note" }, t("session.off")));
    redraw(day, dayView(usage, span));
    const list = troubles(health, keys);
    redraw(needs, list.length ? needsView(list) : null);
    told({ health, left, usage, needs: list.length });
  };
  const section = { load, every: 5 };
  return section;
};

const sessionView = (session, there) => {
  if (!session) return make("p", { class: "state" }, lamp("idle", t(there ? "session.none" : "session.off")));
  return [
    make("p", { class: "state" }, lamp(LAMPS[session.state], t(`session.${session.state}`))),
    make("p", { class: "note" }, t(`session.${session.state}.note`)),
    facts([
      [t("session.plan"), session.account_type ?? t("unknown")],
      [t("session.checked"), ago(session.checked_seconds_ago)],
      [t("session.age"), hours(session.cookie_age_hours)],
      [t("session.kept"), t(session.cookie_kept ? "yes" : "no")],
    ]),
  ];
};

const injectForm = (done) => {
  const why = make("div");
  const area = make("textarea", { name: "cookie", rows: "3", spellcheck: "false", autocomplete: "off", required: true, "aria-describedby": "cookie-note", placeholder: t("cookie.hint") });
  const go = make("button", { type: "submit", class: "send" }, t("cookie.use"));
  const form = make("form", { id: "inject", autocomplete: "off" },
    make("label", { class: "field" }, make("span", { class: "unseen" }, t("cookie.label")), area),
    make("p", { class: "note", id: "cookie-note" }, t("cookie.note")), why, make("div", { class: "row-end" }, go));
  const folded = make("details", { class: "inject", open: ROOMY.matches }, make("summary", {}, t("cookie.give")), form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    go.textContent = t("cookie.checking");
    why.replaceChildren();
    try {
      await ask("/admin/refresh-cookie", { method: "POST", json: { session_token: area.value } });
      area.value = "";
      folded.open = ROOMY.matches;
      say(t("cookie.used"));
      await done();
    } catch (error) {
      why.replaceChildren(make("p", { class: "why", role: "alert" }, error.message));
    } finally {
      go.disabled = false;
      go.textContent = t("cookie.use");
    }
  });
  return folded;
};

const quotaView = ({ remaining_pro: pro, remaining_research: research, age_seconds: age, readings }) => {
  const to = Date.now();
  const from = to - QUOTA_DAYS * 86_400_000;
  const first = Math.max(from, Math.min(to - 86_400_000, readings.length ? readings[0].at * 1000 : from));
  const gauge = (kind, left, colour) => {
    const points = [...readings.map((reading) => [reading.at * 1000, reading[kind]]), [to, left]];
    return make("div", { class: "gauge", "data-kind": kind },
      make("p", { class: "big" }, make("b", {}, left === null ? "–" : number(left)), ` ${t(`quota.${kind}`)}`),
      steps({ points, from: first, to, name: colour, format: short, begin: dayOf(first), end: t("today"), label: t("quota.chart", t(`quota.${kind}`), left === null ? t("unknown") : number(left)) }));
  };
  return [gauge("pro", pro, "s0"), gauge("research", research, "s1"), make("p", { class: "note" }, age === null ? t("quota.unread") : t("quota.read", ago(age)))];
};

const dayView = ({ total, rows }, span) => {
  const { columns } = seriesOf(rows.map((row) => ({ ...row, by: { ...row.by, all: "" } })), span, "all", "requests");
  const errors = new Map(rows.map(({ by, sums }) => [by.hour, sums.errors]));
  const split = columns.map((column) => {
    const failed = errors.get(column.name) ?? 0;
    return { ...column, label: hourOf(column.date), parts: [(column.parts[0] ?? 0) - failed, failed] };
  });
  const tiles = facts([
    [t("requests"), number(total.requests)],
    [t("errors"), number(total.errors)],
    [t("cost"), `${dollars(total.cost)}${total.unknown_costs ? "+" : ""}`],
    [t("tokens"), short(total.input_tokens + total.output_tokens)],
    [t("latency"), total.requests ? milliseconds(total.mean_milliseconds) : "–"],
  ], "tiles");
  if (!total.requests) return [tiles, noData()];
  return [tiles, bars({ columns: split, label: t("day.chart", number(total.requests), number(total.errors)), format: short, whole: true, height: 170, classes: ["ok", "failed"] }),
    make("p", { class: "note" }, t("utc"))];
};

/** [words, the section that mends it]. */
const troubles = ({ session }, keys) => {
  const found = [];
  if (session && ["expired", "blocked"].includes(session.state)) found.push([t(`needs.${session.state}`), null]);
  if (session?.cookie_old && session.state !== "expired") found.push([t("needs.old"), null]);
  if (session && !session.cookie_kept) found.push([t("needs.unkept"), null]);
  for (const key of keys?.keys ?? []) {
    if (key.enabled && key.reason) found.push([t("needs.key", key.name, key.reason), "keys"]);
    else if (key.usable && BAD_KEYS.includes(key.health.state)) found.push([t("needs.key", key.name, t(`health.${key.health.state}`)), "keys"]);
  }
  if (!session && !(keys?.keys ?? []).some((key) => key.usable)) found.push([t("needs.nothing"), null]);
  return found;
};

const needsView = (list) =>
  make("section", { class: "needs", "aria-labelledby": "needs-title" }, make("h2", { id: "needs-title" }, t("needs")),
    make("ul", {}, list.map(([words, where]) => make("li", {}, make("span", {}, words),
      where
        ? button(t("needs.see"), () => find(`#tab-${where}`).click(), { kind: "small" })
        : button(t("cookie.give"), () => { find(".inject").open = true; find(".inject textarea").focus(); }, { kind: "small" })))));
