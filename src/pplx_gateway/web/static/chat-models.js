// The list of models, by upstream, and what the chosen one can do.

import { find, make } from "./dom.js";
import { call } from "./gateway.js";
import { t } from "./i18n.js";

const UPSTREAMS = ["session", "api"];
const TYPING_MS = 200;
// Those that tell models apart for somebody who asks; the rest is in the API's list.
const CAPABILITIES = ["thinking", "research", "tools", "images", "files", "json_schema", "temperature", "domain_filter", "search_off"];

/** Gives {load, chosen, describe}. `chosen()` is {id, upstream}; `changed` is called when it may be another. */
export const modelPicker = (changed) => {
  const select = find("#model");
  const other = find("#other-model");
  const input = find("input", other);
  const chipList = find("#capabilities");
  let known = new Map();

  const id = () => (select.value === "" ? input.value.trim() : select.value);

  const describe = () => {
    other.hidden = select.value !== "" || known.size === 0;
    const model = known.get(id());
    find("#model-name").textContent = model ? model.name : "";
    chipList.replaceChildren(...(model ? chips(model) : []));
    changed();
  };

  /** Throws GatewayError. */
  const load = async () => {
    const before = select.value;
    const { data: listed } = await call("/v1/models");
    const data = listed.filter((model) => model.capabilities.chat);
    known = new Map(data.map((model) => [model.id, model]));
    const groups = UPSTREAMS.map((upstream) => group(upstream, data.filter((model) => model.upstream === upstream)));
    select.replaceChildren(...groups.filter(Boolean), make("option", { value: "" }, t("model.else")));
    select.value = known.has(before) ? before : ["gpt", "auto", "sonar"].find((name) => known.has(name)) ?? data[0]?.id ?? "";
    describe();
  };

  /** What an id that is not listed can do is asked for; an unknown one is told by the answer to the question itself. */
  const look = async () => {
    const wanted = id();
    if (wanted && !known.has(wanted)) {
      const model = await call(`/v1/models/${wanted.split("/").map(encodeURIComponent).join("/")}`).catch(() => null);
      if (model) known.set(wanted, model);
    }
    if (wanted === id()) described();
  };
  const described = () => {
    chipList.ariaBusy = "false";
    describe();
  };

  // Asked while the id is typed: what came only once the field was left would move the page under the click that left it.
  let typing = 0;
  const typed = () => {
    chipList.ariaBusy = "true";
    clearTimeout(typing);
    typing = setTimeout(look, TYPING_MS);
  };

  select.addEventListener("change", described);
  input.addEventListener("input", typed);
  return { load, chosen: () => ({ id: id(), upstream: known.get(id())?.upstream ?? null }) };
};

const group = (upstream, models) =>
  models.length
    ? make("optgroup", { label: t(`upstream.${upstream}`) }, models.map((model) => make("option", { value: model.id }, `${model.id} · ${model.name}`)))
    : null;

const chips = (model) => [
  make("li", { class: `upstream ${model.upstream}` }, t(`on.${model.upstream}`)),
  ...CAPABILITIES.map((name) => make("li", { class: model.capabilities[name] ? "can" : "cannot" }, t(`can.${name}`), make("span", { class: "unseen" }, t(model.capabilities[name] ? "yes" : "no")))),
];
