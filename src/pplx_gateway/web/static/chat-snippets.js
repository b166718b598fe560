// An exchange's request as a curl command and as Python. The key is never written out: the reader's own environment
// gives it. No DOM.

const KEY = "PPLX_PROXY_API_KEY";

export const asCurl = (exchange, origin) =>
  [
    `curl ${exchange.stream ? "-N " : ""}${shell(origin + exchange.path)} \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -H "Authorization: Bearer $${KEY}" \\`,
    `  -d ${shell(exchange.body)}`,
    "",
  ].join("\n");

/** In single quotes, which the shell takes to the letter; a quote inside ends them, stands escaped, and begins anew. */
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

const KNOWN = {
  chat: ["model", "messages", "stream", "stream_options", "tools", "reasoning_effort"],
  responses: ["model", "input", "instructions", "stream", "store", "reasoning", "tools"],
};
const CREATE = { chat: "chat.completions", responses: "responses" };
const SHOW = {
  chat: ["print(answer.choices[0].message.content)"],
  responses: ["print(answer.output_text)"],
};
const SHOW_STREAM = {
  chat: ["    for choice in chunk.choices:", '        print(choice.delta.content or "", end="", flush=True)'],
  responses: [
    '    if chunk.type == "response.output_text.delta":',
    '        print(chunk.delta, end="", flush=True)',
  ],
};

/** For OpenAI's SDK; fields that are not OpenAI's own go by extra_body. */
export const asPython = (exchange, origin) => {
  const { api, request, stream } = exchange;
  const known = Object.entries(request).filter(([name]) => KNOWN[api].includes(name));
  const extra = Object.entries(request).filter(([name]) => !KNOWN[api].includes(name));
  if (extra.length) known.push(["extra_body", Object.fromEntries(extra)]);
  return [
    "import os",
    "",
    "from openai import OpenAI",
    "",
    `client = OpenAI(base_url=${literal(`${origin}/v1`)}, api_key=os.environ.get("${KEY}", "none"))`,
    `answer = client.${CREATE[api]}.create(`,
    ...known.map(([name, value]) => `    ${name}=${literal(value, "    ")},`),
    ")",
    ...(stream ? ["for chunk in answer:", ...SHOW_STREAM[api], "print()"] : SHOW[api]),
    "",
  ].join("\n");
};

const literal = (value, indent = "") => {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  // A JSON string is a Python string, but for characters beyond the first plane, which JSON.stringify leaves as they are.
  if (typeof value !== "object") return JSON.stringify(value);
  const deeper = `${indent}    `;
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const inner = Array.isArray(value)
    ? value.map((entry) => literal(entry, deeper))
    : Object.entries(value).map(([name, entry]) => `${JSON.stringify(name)}: ${literal(entry, deeper)}`);
  return inner.length ? `${open}\n${inner.map((line) => `${deeper}${line},\n`).join("")}${indent}${close}` : open + close;
};
