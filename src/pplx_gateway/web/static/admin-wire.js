// What the upstreams send that this release does not know, and a capture of its shape on demand.

import { since } from "./admin-format.js";
import { ask, button, chip, errorBox, facts, lamp, panel, redraw, say, table } from "./admin-kit.js";
import { copies } from "./copy.js";
import { make } from "./dom.js";
import { number, t } from "./i18n.js";

export const wire = (place) => {
  const list = make("div");
  const held = make("div");
  place.replaceChildren(
    panel(t("wire"), { id: "wire-panel", wide: true }, make("p", { class: "note" }, t("wire.note")), list),
    panel(t("capture"), { id: "capture-panel", wide: true }, make("p", { class: "note" }, t("capture.note")), held));

  const load = async () => {
    const { surprises, capture } = await ask("/admin/wire");
    section.every = capture.state === "armed" ? 2 : 15;
    redraw(list, surprises.length ? surprisesView(surprises) : make("p", { class: "state" }, lamp("good", t("wire.none"))));
    redraw(held, captureView(capture, change));
  };

  const change = async (method, sentence) => {
    try {
      await ask("/admin/wire/capture", { method });
      say(sentence);
      await load();
    } catch (error) {
      held.prepend(errorBox(error));
    }
  };

  const section = { load, every: 15 };
  return section;
};

const surprisesView = (surprises) =>
  table(t("wire"), [[t("wire.name")], [t("wire.kind")], [t("wire.upstream")], [t("wire.answers"), "number"], [t("wire.first")], [t("wire.last")]],
    surprises.map(({ wire: upstream, kind, name, answers, first_at: first, last_at: last }) =>
      [make("code", {}, name || "–"), chip(t(`wire.kind.${kind}`)), upstream, number(answers), since(first), since(last)]));

const captureView = ({ state, armed_at: armed, capture }, change) => {
  const arm = button(t(state === "held" ? "capture.again" : "capture.arm"), () => change("POST", t("capture.armedNow")), { kind: "send", focus: "arm" });
  const drop = button(t(state === "held" ? "capture.remove" : "capture.cancel"), () => change("DELETE", t("capture.removed")), { focus: "drop" });
  if (state === "off") return make("div", { class: "row-end" }, arm);
  if (state === "armed") return [make("p", { class: "state" }, lamp("waiting", t("capture.waiting", since(armed)))), make("div", { class: "row-end" }, drop)];
  const shape = make("pre", { class: "report", role: "region", tabindex: "0", "aria-label": t("capture.shape") }, capture.shape);
  const copy = copies(button(t("capture.copy"), () => {}, { focus: "copy" }), () => copied(capture));
  return [
    facts([
      [t("wire.upstream"), capture.wire],
      [t("capture.taken"), since(capture.taken_at)],
      [t("capture.surprises"), capture.surprises.map((name) => make("code", {}, name))],
      [t("capture.version"), capture.version],
    ]),
    shape,
    make("div", { class: "row-end" }, copy, drop, arm),
  ];
};

/** All of it, as it can be put into a report of a fault. */
const copied = ({ wire: upstream, surprises, version, shape }) => [`wire: ${upstream}`, `version: ${version}`, ...surprises.map((name) => `unknown: ${name}`), "", shape].join("\n");
