// Asks a running gateway each question in each form, by the page's own modules, and prints what came as JSON: what
// checks.test.js stands on. Usage: node recording.mjs http://127.0.0.1:8892 > exchanges.json

import { newExchange, perform } from "../../../src/pplx_gateway/web/static/chat-exchange.js";
import { requestBody } from "../../../src/pplx_gateway/web/static/chat-requests.js";
import { definitions } from "../../../src/pplx_gateway/web/static/chat-tools.js";

const [origin] = process.argv.slice(2);
const { fetch } = globalThis;
globalThis.fetch = (path, options) => fetch(origin + path, options);

const QUESTIONS = {
  sources: { text: "Which two rivers meet in Ghent?", model: "gpt", tools: [], thinking: true },
  calls: { text: 'Please calculate "17 * 23" for me.', model: "api/sonar", tools: definitions() },
};

const record = async (api, stream, { text, ...options }) => {
  const exchange = newExchange(api, requestBody(api, [{ role: "user", text }], { ...options, stream, related: true }));
  // A search tool on offer: the answer then tells its searches as items of their own.
  if (api === "responses") (exchange.request.tools ??= []).push({ type: "web_search" });
  exchange.body = JSON.stringify(exchange.request);
  await perform(exchange, { heard: () => {}, changed: () => {} });
  const { request, status, headers } = exchange;
  return { api, stream, request, status, headers, text: exchange.text };
};

const exchanges = {};
for (const api of ["chat", "responses"]) {
  for (const stream of [false, true]) {
    for (const [name, question] of Object.entries(QUESTIONS)) {
      exchanges[`${api} ${stream ? "streamed" : "plain"} ${name}`] = await record(api, stream, question);
    }
  }
}
console.log(JSON.stringify(exchanges, null, 1));
