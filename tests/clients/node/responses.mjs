// The Responses API with OpenAI's SDK for Node and the AI SDK, whose OpenAI provider speaks it by default.
// GATEWAY_URL (with /v1) and GATEWAY_KEY; the models are arguments. Prints one JSON object a line.
import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, Output, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

const QUESTION = 'Which two rivers meet in Ghent?';
const TIDES = "Use tide_table for 'Ostend'.";
const baseURL = process.env.GATEWAY_URL;
const apiKey = process.env.GATEWAY_KEY;
const models = process.argv.slice(2);
const tell = (client, model, way, told) => console.log(JSON.stringify({ client, model, way, ...told }));
const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

async function failure(work) {
  try {
    await work();
    return { error: null };
  } catch (error) {
    const { status = null, code = null, param = null } = error;
    return { error: error.constructor.name, status, code, param };
  }
}

async function answers(model) {
  const plain = await openai.responses.create({ model, input: QUESTION });
  const { output_text: text, status, usage } = plain;
  const annotations = plain.output.at(-1).content[0].annotations.length;
  tell('openai', model, 'plain', { text, status, tokens: usage.total_tokens, annotations });
  let streamed = '';
  for await (const event of await openai.responses.create({ model, input: QUESTION, stream: true })) {
    if (event.type === 'response.output_text.delta') streamed += event.delta;
  }
  tell('openai', model, 'streamed', { text: streamed });
  const helper = openai.responses.stream({ model, input: QUESTION, tools: [{ type: 'web_search' }] });
  const kinds = new Set();
  for await (const event of helper) kinds.add(event.type);
  const helped = await helper.finalResponse();
  tell('openai', model, 'helper', { text: helped.output_text, kinds: [...kinds], items: helped.output.map((i) => i.type) });
}

async function kept(model) {
  const input = [1, 2, 3, 4, 5].map((number) => ({ role: 'user', content: `Part ${number}` }));
  const first = await openai.responses.create({ model, input });
  const second = await openai.responses.create({ model, input: QUESTION, previous_response_id: first.id });
  const items = [];
  for await (const item of openai.responses.inputItems.list(first.id, { limit: 2, order: 'asc' })) {
    items.push(item.content[0].text);
  }
  const again = await openai.responses.retrieve(second.id);
  const same = again.output_text === second.output_text && again.previous_response_id === first.id;
  await openai.responses.delete(first.id);
  const gone = await failure(() => openai.responses.retrieve(first.id));
  const chained = await failure(() =>
    openai.responses.create({ model, input: QUESTION, previous_response_id: second.id }),
  );
  tell('openai', model, 'kept', { items, same, gone, chained });
}

async function background(model) {
  let job = await openai.responses.create({ model, input: QUESTION, background: true });
  const first = job.status;
  while (job.status === 'queued' || job.status === 'in_progress') {
    await new Promise((done) => setTimeout(done, 20));
    job = await openai.responses.retrieve(job.id);
  }
  const numbers = [];
  for await (const event of await openai.responses.retrieve(job.id, { stream: true, starting_after: 4 })) {
    numbers.push(event.sequence_number);
  }
  const over = await failure(() => openai.responses.cancel(job.id));
  tell('openai', model, 'background', { first, status: job.status, text: job.output_text, numbers, over });
  const stopped = await openai.responses.create({ model, input: `slow: ${QUESTION}`, background: true });
  const { status } = await openai.responses.cancel(stopped.id);
  const followed = await failure(async () => {
    for await (const _ of await openai.responses.retrieve(stopped.id, { stream: true }));
  });
  tell('openai', model, 'cancelled', { status, followed });
}

const TIDE_TABLE = {
  type: 'function',
  name: 'tide_table',
  description: 'The tides of a port',
  parameters: { type: 'object', properties: { port: { type: 'string' } }, required: ['port'], additionalProperties: false },
  strict: true,
};

async function loop(model, stream) {
  const ask = async (body) => {
    if (!stream) return openai.responses.create({ model, ...body });
    return openai.responses.stream({ model, ...body }).finalResponse();
  };
  const first = await ask({ input: TIDES, tools: [TIDE_TABLE] });
  const input = first.output
    .filter((item) => item.type === 'function_call')
    .map(({ call_id, arguments: text }) => {
      return { type: 'function_call_output', call_id, output: `High water in ${JSON.parse(text).port} is at 06:12.` };
    });
  const { output_text: text } = await ask({ input, previous_response_id: first.id });
  tell('openai', model, stream ? 'streamed loop' : 'loop', { text });
}

async function parse(model) {
  const format = zodTextFormat(z.object({ port: z.string(), metres: z.number() }), 'tide');
  const input = "How high is the tide in 'Ostend', 4.5 or less?";
  let parsed = null;
  const refused = await failure(async () => {
    parsed = (await openai.responses.parse({ model, input, text: { format } })).output_parsed;
  });
  tell('openai', model, 'parse', { parsed, ...refused });
}

async function failures(model) {
  const bad = {
    'unknown model': { model: 'gpt-2', input: QUESTION },
    'bad field': { model, input: QUESTION, top_logprobs: 3 },
    broken: { model, input: 'fault:upstream_500 Why?' },
  };
  for (const [way, body] of Object.entries(bad)) {
    tell('openai', model, way, await failure(() => openai.responses.create(body)));
  }
  const events = [];
  for await (const event of await openai.responses.create({ model, input: 'fault:midstream_drop Why?', stream: true })) {
    events.push(event);
  }
  const last = events.at(-1);
  tell('openai', model, 'broken stream', { last: last.type, status: last.response.status, code: last.response.error.code });
}

const provider = createOpenAI({ baseURL, apiKey });

// An error must reach this program and not only its console.
const onError = ({ error }) => {
  throw error;
};

async function whole(stream) {
  const names = ['text', 'finishReason', 'sources', 'usage'];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await stream[name]])));
}

function tellResult(model, way, { text, finishReason, sources, usage }) {
  tell('ai-sdk', model, way, { text, finish: finishReason, sources: sources.length, tokens: usage.totalTokens ?? null });
}

async function aiSdk(model) {
  const asked = { model: provider(model), system: 'Answer in English.', prompt: QUESTION, maxRetries: 0 };
  tellResult(model, 'plain', await generateText(asked));
  tellResult(model, 'streamed', await whole(streamText({ ...asked, onError })));
  const searching = { ...asked, tools: { web_search: provider.tools.webSearch({}) } };
  tellResult(model, 'search', await generateText(searching));
  tellResult(model, 'streamed search', await whole(streamText({ ...searching, onError })));
}

async function aiSdkTools(model) {
  const tide_table = tool({
    description: 'The tides of a port',
    inputSchema: z.object({ port: z.string() }),
    execute: async ({ port }) => `High water in ${port} is at 06:12.`,
  });
  const asked = { model: provider(model), prompt: TIDES, tools: { tide_table }, stopWhen: isStepCount(3), maxRetries: 0 };
  for (const [name, providerOptions] of [['kept', {}], ['not kept', { openai: { store: false } }]]) {
    tell('ai-sdk', model, `tools, ${name}`, { text: (await generateText({ ...asked, providerOptions })).text });
    const { text } = streamText({ ...asked, providerOptions, onError });
    tell('ai-sdk', model, `streamed tools, ${name}`, { text: await text });
  }
}

async function aiSdkObject(model) {
  const schema = z.object({ port: z.string(), metres: z.number() });
  const prompt = "How high is the tide in 'Ostend', 4.5 or less?";
  const providerOptions = { openai: { strictJsonSchema: model.startsWith('api/') } };
  const asked = { model: provider(model), prompt, output: Output.object({ schema }), providerOptions, maxRetries: 0 };
  tell('ai-sdk', model, 'object', { output: (await generateText(asked)).output });
}

for (const model of models) {
  await answers(model);
  await kept(model);
  await background(model);
  for (const stream of [false, true]) await loop(model, stream);
  await parse(model);
  await failures(model);
  await aiSdk(model);
  await aiSdkTools(model);
  await aiSdkObject(model);
}
