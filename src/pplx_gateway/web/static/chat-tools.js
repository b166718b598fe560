// Tools that really run, here in the page. None reaches out, none can do harm. No DOM.

import { calculate } from "./calculator.js";

const currentTime = ({ timezone }) => {
  const now = new Date();
  const zone = timezone || Intl.DateTimeFormat().resolvedOptions().timeZone;
  const local = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "long", timeZone: zone }).format(now);
  return { timezone: zone, local, utc: now.toISOString() };
};

const countText = ({ text }) => ({
  characters: [...text].length,
  words: text.split(/\s+/).filter(Boolean).length,
  lines: text === "" ? 0 : text.split("\n").length,
});

const TOOLS = {
  calculate: {
    description: "Works out an arithmetic expression with + - * / % ^ and brackets, exactly as written.",
    parameters: object({ expression: { type: "string", description: "For instance (17 + 4) * 2 ^ 3" } }, ["expression"]),
    run: ({ expression }) => ({ expression, result: calculate(expression) }),
  },
  current_time: {
    description: "The time on the clock of the user's machine.",
    parameters: object({ timezone: { type: "string", description: "An IANA name such as Europe/Brussels" } }, []),
    run: currentTime,
  },
  count_text: {
    description: "Counts the characters, words and lines of a text.",
    parameters: object({ text: { type: "string" } }, ["text"]),
    run: countText,
  },
};

function object(properties, required) {
  return { type: "object", properties, required, additionalProperties: false };
}

/** As they are offered to a model: {name, description, parameters}. */
export const definitions = () =>
  Object.entries(TOOLS).map(([name, { description, parameters }]) => ({ name, description, parameters }));

/** Runs a call and gives JSON text: what the tool found, or {"error": why it could not}. Never throws. */
export const run = ({ name, arguments: text }) => {
  try {
    if (!Object.hasOwn(TOOLS, name)) throw new Error(`There is no tool ${name}`);
    return JSON.stringify(TOOLS[name].run(JSON.parse(text || "{}")));
  } catch (error) {
    return JSON.stringify({ error: error.message });
  }
};
