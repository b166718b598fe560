// Checks of what both interfaces say alike: citations, sources, usage, calls. Each is made for a place in the answer.

import { PASS, check, each, fail, idle, isJsonObject, isObject, passIf, shown, wrongMember } from "./check-kit.js";

const CITATION = { url: "words", title: "text", start_index: "count", end_index: "count" };

/** `found(seen)` gives [{citation, text, at}]. */
export const citations = (found) => [
  check("sources", "citation-form", (seen) => each(found(seen), ({ citation, at }) => wrongMember(citation, CITATION, `${at}.`))),
  check("sources", "citation-place", (seen) =>
    each(found(seen), ({ citation, text, at }) => {
      const { start_index: start, end_index: end } = citation;
      const length = [...text].length;
      return !(start <= end && end <= length) && ["reason.place", at, start, end, length];
    })),
  check("sources", "citation-source", (seen) => {
    const known = new Set((seen.answer.search_results ?? []).map((source) => source.url));
    if (!known.size) return idle("reason.noSources");
    return each(found(seen), ({ citation, at }) => !known.has(citation.url) && ["reason.unlisted", at, shown(citation.url)]);
  }),
];

const RESULT = { id: "whole", title: "text", url: "words", snippet: "text" };

export const sources = [
  check("sources", "search-results", (seen) => {
    const list = seen.answer.search_results;
    if (list === undefined) return idle("reason.noSources");
    if (!Array.isArray(list)) return fail("reason.kind", "search_results", "list", shown(list));
    return each(list, (source, index) => wrongMember(source, RESULT, `search_results[${index}].`));
  }),
  check("sources", "citations-list", (seen) => {
    const { citations: list, search_results: results } = seen.answer;
    if (list === undefined) return idle("reason.noSources");
    if (!Array.isArray(list)) return fail("reason.kind", "citations", "list", shown(list));
    return each(results ?? [], ({ id, url }) => list[id - 1] !== url && ["reason.wanted", `citations[${id - 1}]`, shown(url), shown(list[id - 1])]);
  }),
  check("sources", "source-addresses", (seen) =>
    each(seen.answer.search_results ?? [], (source, index) => !/^https?:\/\//.test(source.url) && ["reason.address", `search_results[${index}].url`, shown(source.url)])),
];

/** `names` are [in, out] as the interface calls them. */
export const usage = ([first, second]) => [
  check("usage", "usage", (seen) => {
    const wrong = wrongMember(seen.usage, { [first]: "count", [second]: "count", total_tokens: "count" }, "usage.");
    return wrong ? fail(...wrong) : PASS;
  }),
  check("usage", "usage-sum", ({ usage: found }) =>
    passIf(found[first] + found[second] === found.total_tokens, "reason.sum", found[first], found[second], found.total_tokens)),
  check("usage", "usage-details", ({ usage: found }) => {
    const cached = found[first.replace("tokens", "tokens_details")]?.cached_tokens;
    const thought = found[second.replace("tokens", "tokens_details")]?.reasoning_tokens;
    if (!Number.isInteger(cached) || cached > found[first]) return fail("reason.part", "cached_tokens", shown(cached), found[first]);
    return passIf(Number.isInteger(thought), "reason.kind", "reasoning_tokens", "count", shown(thought));
  }),
  check("usage", "usage-cost", ({ usage: found }) => {
    if (!found.cost) return idle("reason.noCost");
    return passIf(typeof found.cost.total_cost === "number" && found.cost.total_cost >= 0, "reason.kind", "usage.cost.total_cost", "number", shown(found.cost.total_cost));
  }),
];

/** `found(seen)` gives [{id, name, arguments, at}]. */
export const calls = (found) => [
  check("calls", "call-form", (seen) => {
    const list = found(seen);
    if (!list.length) return idle("reason.noCalls");
    return each(list, (call) => wrongMember(call, { id: "words", name: "words", arguments: "text" }, `${call.at}.`));
  }),
  check("calls", "call-arguments", (seen) => {
    const list = found(seen);
    if (!list.length) return idle("reason.noCalls");
    return each(list, (call) => !isJsonObject(call.arguments) && ["reason.arguments", call.at, shown(call.arguments)]);
  }),
  check("calls", "call-offered", (seen) => {
    const list = found(seen);
    if (!list.length) return idle("reason.noCalls");
    const offered = new Set((seen.request.tools ?? []).map((tool) => tool.function?.name ?? tool.name));
    return each(list, (call) => !offered.has(call.name) && ["reason.notOffered", call.at, shown(call.name)]);
  }),
];

// Tags that some models leave in, outside code.
const TAGS = /<\/?(?:think|grok:[\w-]+|response|script)\b[^>]*>|<\?xml/i;
const CODE = /```[\s\S]*?(?:```|$)|~~~[\s\S]*?(?:~~~|$)|`[^`\n]*`/g;

export const text = (said) => [
  check("answer", "clean-text", (seen) => {
    const found = TAGS.exec(said(seen).replace(CODE, ""));
    return passIf(!found, "reason.tag", found?.[0]);
  }),
  check("answer", "whole-characters", (seen) => passIf(!/\uFFFD|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/.test(said(seen)), "reason.characters")),
];

/** What was left out of the request must be told in the header and in the body alike. */
export const honesty = check("answer", "dropped-told", (seen) => {
  const header = (seen.headers["x-pplx-dropped"] ?? "").split(",").map((name) => name.trim()).filter(Boolean);
  const body = seen.answer.pplx?.dropped ?? [];
  if (!Array.isArray(body)) return fail("reason.kind", "pplx.dropped", "list", shown(body));
  return passIf(header.every((name) => body.includes(name)), "reason.wanted", "pplx.dropped", shown(header), shown(body));
});

export const extension = check("answer", "extension", (seen) => {
  const found = seen.answer.pplx;
  if (!isObject(found)) return fail("reason.kind", "pplx", "object", shown(found));
  return passIf(found.upstream === seen.headers["x-pplx-upstream"], "reason.wanted", "pplx.upstream", shown(seen.headers["x-pplx-upstream"]), shown(found.upstream));
});
