// The page by which the owner rules: it signs in with the gateway's key, and shows one section at a time.

import { ask, Stale } from "./admin-kit.js";
import { now } from "./admin-now.js";
import { find, make } from "./dom.js";
import { GatewayError, hasKey, onKey } from "./gateway.js";
import { dollars, number, speak, t } from "./i18n.js";
import { keyDialog } from "./key.js";
import { tabs } from "./tabs.js";
import { themeButton } from "./theme.js";

const TICK_MS = 500;
const WIDE = matchMedia("(min-width: 900px)");

/** Each is loaded when it is first seen. */
const LOAD = {
  now: async () => (place) => now(place, dials),
  usage: async () => (await import("./admin-usage.js")).usage,
  requests: async () => (await import("./admin-requests.js")).requests,
  models: async () => (await import("./admin-models.js")).models,
  keys: async () => (await import("./admin-keys.js")).keys,
  callers: async () => (await import("./admin-callers.js")).callers,
  wire: async () => (await import("./admin-wire.js")).wire,
  settings: async () => (await import("./admin-settings.js")).settings,
  report: async () => (await import("./admin-settings.js")).report,
};

await speak("admin");
themeButton();
const askKey = keyDialog();
const views = tabs(find("#views"), (name) => open(name));

let sections = {};
let shown = null;
let signedIn = false;

const dials = ({ health, left, usage: spent, needs }) => {
  const session = health.session;
  const state = !session ? "idle" : session.state === "valid" ? "good" : session.state === "unknown" ? "idle" : "bad";
  const rows = [
    ["state", make("span", { class: `lamp ${state}` }, t(session ? `session.${session.state}` : "session.none"))],
    ["pro", left?.remaining_pro == null ? "–" : number(left.remaining_pro)],
    ["research", left?.remaining_research == null ? "–" : number(left.remaining_research)],
    ["requests", number(spent.total.requests)],
    ["cost", dollars(spent.total.cost)],
  ];
  find("#readout").replaceChildren(...rows.map(([key, value]) => make("div", { "data-dial": key }, make("dt", {}, t(`dial.${key}`)), make("dd", {}, value))));
  const badge = find("#now-count");
  badge.hidden = !needs;
  badge.replaceChildren(String(needs), make("span", { class: "unseen" }, ` ${t("needs")}`));
};

/** The section `name` is at the front: built when it is first seen, and read anew each time. */
const open = async (name) => {
  find(`#tab-${name}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  const mine = sections;
  mine[name] ??= build(name);
  let section;
  try {
    section = await mine[name];
  } catch (error) {
    delete mine[name]; // its module could not be loaded
    return refuse(new GatewayError(0, null, error.message));
  }
  if (mine === sections && name === views.selected()) await read(section);
};

const build = async (name) => {
  const section = { source: (await LOAD[name]())(find(`#${name}`)), readAt: 0, busy: false };
  section.source.failing?.(refuse);
  return section;
};

const read = async (section) => {
  section.busy = true;
  shown = section;
  try {
    await section.source.load();
    find("#trouble").hidden = true;
    admit(true);
  } catch (error) {
    refuse(error);
  } finally {
    section.busy = false;
    section.readAt = performance.now();
  }
};

const admit = (yes) => {
  signedIn = yes;
  find("#console").hidden = !yes;
  find("#door").hidden = yes;
  if (!yes) find("#readout").replaceChildren();
};

/** Nothing of what was read stays when the key is refused. */
const refuse = (error) => {
  if (error instanceof Stale) return;
  if (error.status === 401 || error.status === 403) {
    forget();
    askKey(hasKey() ? error.message : t("key.needed"));
    return;
  }
  if (!(error instanceof GatewayError)) throw error; // a defect of this page
  const trouble = find("#trouble");
  trouble.textContent = error.status ? error.message : t("unreachable", error.message);
  trouble.hidden = false;
  if (!signedIn) admit(true);
};

const forget = () => {
  for (const place of document.querySelectorAll("#panels > [role=tabpanel]")) place.replaceChildren();
  for (const dialog of document.querySelectorAll("dialog[open]:not(#key-dialog)")) dialog.close();
  find("#now-count").hidden = true;
  sections = {};
  shown = null;
  admit(false);
};

/** What is seen is kept up to date, unless somebody selects text in it or has a dialog open. */
const tick = () => {
  const section = shown;
  const every = section?.source.every;
  if (!signedIn || document.hidden || !every || section.busy || document.querySelector("dialog[open]")) return;
  const selected = getSelection();
  if (!selected.isCollapsed && find("#panels").contains(selected.anchorNode)) return;
  if (performance.now() - section.readAt >= every * 1000) read(section);
};

/** One question tells whether the key is the owner's, before a section asks several. */
const enter = async () => {
  forget();
  try {
    await ask("/admin/usage?group_by=none&from=2000-01-01");
  } catch (error) {
    return refuse(error);
  }
  await open(views.selected());
};

onKey(enter);
find("#enter").addEventListener("click", () => askKey());
const turn = () => find("#views").setAttribute("aria-orientation", WIDE.matches ? "vertical" : "horizontal");
WIDE.addEventListener("change", turn);
turn();
await enter();
setInterval(tick, TICK_MS);
document.documentElement.dataset.ready = "";
