// Checks of what surrounds an answer: status, headers, frames. The same for both interfaces.

import { PASS, check, each, fail, idle, isObject, oneOf, passIf, same, shown } from "./check-kit.js";

const told = (seen) => seen.errorBody?.error;

const status = check("wire", "status", (seen) => {
  if (seen.status === 200) return PASS;
  const error = told(seen);
  if (seen.status === null) return fail("reason.unreached");
  return fail("reason.status", seen.status, error?.code ?? "–", error?.message ?? "");
});

const requestId = check("wire", "request-id", (seen) =>
  passIf(/^\S+$/.test(seen.headers["x-request-id"] ?? ""), "reason.header", "x-request-id", shown(seen.headers["x-request-id"])));

const upstream = check("answer", "upstream", (seen) => oneOf(seen.headers["x-pplx-upstream"], ["session", "api"], "x-pplx-upstream"));

/** An error has all four members, so that every SDK finds its own. */
const errorShape = check("wire", "error-shape", (seen) => {
  if (seen.status === 200) return idle("reason.noError");
  const error = told(seen);
  if (!isObject(error)) return fail("reason.kind", "error", "object", shown(error));
  const wrong = ["message", "type", "param", "code"].find((name) => error[name] === undefined);
  if (wrong) return fail("reason.missing", `error.${wrong}`);
  return passIf(typeof error.message === "string" && error.message && typeof error.type === "string", "reason.kind", "error.message", "text", shown(error.message));
});

const type = (wanted) =>
  check("wire", "content-type", (seen) => {
    const found = seen.headers["content-type"] ?? "";
    // An error is JSON, also where a stream was asked for.
    const due = seen.status === 200 ? wanted : "application/json";
    return passIf(found.split(";")[0] === due, "reason.header", "content-type", shown(found));
  });

const json = check("wire", "json", (seen) => passIf(isObject(seen.body), "reason.notJson"));

export const PLAIN = [status, type("application/json"), requestId, errorShape, json, upstream];

const unbuffered = check("wire", "unbuffered", (seen) => {
  if (seen.status !== 200) return idle("reason.noAnswer");
  const found = `${seen.headers["cache-control"]}; x-accel-buffering: ${seen.headers["x-accel-buffering"]}`;
  return passIf(/no-cache/.test(found) && /buffering: no$/.test(found), "reason.header", "cache-control", shown(found));
});

const lineEnds = check("answer", "line-ends", (seen) => passIf(!seen.text.includes("\r"), "reason.carriage"));

const terminated = check("answer", "terminated", (seen) =>
  passIf(seen.rest.trim() === "" && seen.text.endsWith("\n\n"), "reason.unterminated", shown(seen.rest)));

const frames = check("answer", "frames", (seen) =>
  each(seen.frames, ({ event }, index) => event.data !== null && seen.parsed[index] === undefined && event.data !== "[DONE]" && ["reason.frame", index, shown(event.data)]));

/** Only a comment that no client takes for the end. */
const comments = check("answer", "comments", (seen) =>
  each(seen.events.filter((event) => event.comment !== null), (event) => /^ping/.test(event.comment) && ["reason.comment", shown(event.comment)]));

const noError = check("answer", "no-error-event", (seen) => {
  const found = seen.data.find((data) => isObject(data.error) && !data.choices);
  return passIf(!found, "reason.errorEvent", found?.error?.code ?? "–", found?.error?.message ?? "");
});

const done = check("answer", "done", (seen) => {
  const marks = seen.frames.filter(({ event }) => event.data === "[DONE]").length;
  if (marks !== 1) return same(marks, 1, "[DONE]");
  return passIf(seen.frames.at(-1).event.data === "[DONE]", "reason.afterDone");
});

export const STREAMED = [
  status, type("text/event-stream"), requestId, errorShape, unbuffered, upstream, lineEnds, terminated, frames, comments, noError, done,
];
