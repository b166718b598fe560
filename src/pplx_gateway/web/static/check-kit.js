// What checks are made of. A check is {id, group, look}; `look(seen)` gives PASS, `fail(...)` or `idle(...)`.
// A reason is [key, ...values], which the page puts into words. No DOM.

export const PASS = { state: "pass" };

export const fail = (...reason) => ({ state: "fail", reason });

/** There was nothing to look at, which is neither good nor bad. */
export const idle = (...reason) => ({ state: "idle", reason });

export const check = (group, id, look) => ({ id, group, look });

export const passIf = (good, ...reason) => (good ? PASS : fail(...reason));

/** Passes if no entry of `list` is found wrong; `wrong` gives a reason or nothing. */
export const each = (list, wrong) => {
  for (const [index, entry] of list.entries()) {
    const reason = wrong(entry, index);
    if (reason) return fail(...reason);
  }
  return PASS;
};

/** A value as it may stand in a reason: short. */
export const shown = (value) => {
  if (value === undefined) return "–";
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 57)}…` : text;
};

export const same = (found, wanted, what) => passIf(found === wanted, "reason.wanted", what, shown(wanted), shown(found));

export const oneOf = (found, wanted, what) =>
  passIf(wanted.includes(found), "reason.wanted", what, wanted.map(shown).join(" | "), shown(found));

const KINDS = {
  text: (value) => typeof value === "string",
  words: (value) => typeof value === "string" && value.length > 0,
  whole: (value) => Number.isInteger(value),
  count: (value) => Number.isInteger(value) && value >= 0,
  number: (value) => typeof value === "number",
  flag: (value) => typeof value === "boolean",
  list: (value) => Array.isArray(value),
  object: (value) => isObject(value),
  textOrNull: (value) => value === null || typeof value === "string",
  wholeOrNull: (value) => value === null || Number.isInteger(value),
};

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether each named member of `object` is there and of its kind. */
export const members = (object, kinds, at = "") => {
  const wrong = wrongMember(object, kinds, at);
  return wrong ? fail(...wrong) : PASS;
};

export const wrongMember = (object, kinds, at = "") => {
  if (!isObject(object)) return ["reason.kind", at || "body", "object", shown(object)];
  for (const [name, kind] of Object.entries(kinds)) {
    if (!KINDS[kind](object[name])) return ["reason.kind", at + name, kind, shown(object[name])];
  }
  return null;
};

export const isJsonObject = (text) => {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
};

/** Runs `checks` over `seen`. A check that cannot even look, since what it needs is not there or has another form, has
 * failed: `answered` false makes that idle, since an error was told and there is no answer to look at. */
export const judge = (checks, seen, answered) =>
  checks.map(({ id, group, look }) => {
    if (!answered && group !== "wire") return { id, group, ...idle("reason.noAnswer") };
    try {
      return { id, group, ...look(seen) };
    } catch (error) {
      return { id, group, ...fail("reason.form", error.message) };
    }
  });

/** Seconds since 1970 that a clock can show today: not milliseconds, not zero. */
export const isTime = (value) => Number.isInteger(value) && value > 1_500_000_000 && value < 10_000_000_000;
