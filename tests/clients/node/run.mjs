// OpenAI's SDK for Node and the AI SDK against the gateway, each with an address, a key and models' names.
// GATEWAY_URL (with /v1) and GATEWAY_KEY; the models are arguments. Prints one JSON object a line.
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createPerplexity } from '@ai-sdk/perplexity';
import { generateText, isStepCount, Output, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { z } from 'zod';

const QUESTION = 'Which two rivers meet in Ghent?';
const TIDES = "Use tide_table for 'Ostend'.";
const baseURL = process.env.GATEWAY_URL;
const apiKey = process.env.GATEWAY_KEY;
const models = process.argv.slice(2);
const messages = [{ role: 'user', content: QUESTION }];
const tell = (client, model, way, told) => console.log(JSON.stringify({ client, model, way, ...told }));

const openai = new OpenAI({ baseURL, apiKey, maxRetries: 0 });

function tellCompletion(model, way, completion) {
  const { message, finish_reason } = completion.choices[0];
  tell('openai', model, way, {
    text: message.content,
    role: message.role,
    finish: finish_reason,
    annotations: message.annotations?.length ?? 0,
    tokens: completion.usage?.total_tokens ?? null,
  });
}

async function chat(model) {
  tellCompletion(model, 'plain', await openai.chat.completions.create({ model, messages }));
  let text = '';
  for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  tell('openai', model, 'streamed', { text });
  const helper = openai.chat.completions.stream({ model, messages, stream_options: { include_usage: true } });
  tellCompletion(model, 'helper', await helper.finalChatCompletion());
}

async function runTools(model) {
  const tide_table = {
    name: 'tide_table',
    description: 'The tides of a port',
    parameters: { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] },
    parse: JSON.parse,
    function: ({ port }) => `High water in ${port} is at 06:12.`,
  };
  for (const stream of [false, true]) {
    const runner = openai.chat.completions.runTools({
      model,
      stream,
      messages: [{ role: 'user', content: TIDES }],
      tools: [{ type: 'function', function: tide_table }],
    });
    tell('openai', model, stream ? 'streamed tools' : 'tools', { text: await runner.finalContent() });
  }
}

async function failures(model) {
  const bad = [
    ['unknown model', { model: 'gpt-2', messages }],
    ['bad field', { model, messages, n: 2 }],
    ['broken', { model, messages: [{ role: 'user', content: 'fault:upstream_500 Why?' }] }],
    ['broken stream', { model, messages: [{ role: 'user', content: 'fault:midstream_drop Why?' }], stream: true }],
  ];
  for (const [way, body] of bad) {
    try {
      const reply = await openai.chat.completions.create(body);
      if (body.stream) for await (const _ of reply);
      tell('openai', model, way, { error: null });
    } catch (error) {
      const { status = null, code, param } = error;
      tell('openai', model, way, { error: error.constructor.name, status, code, param });
    }
  }
}

const openaiChat = createOpenAI({ baseURL, apiKey }).chat;
const compatible = createOpenAICompatible({ name: 'gateway', baseURL, apiKey });
const counting = createOpenAICompatible({ name: 'gateway', baseURL, apiKey, includeUsage: true });
const structured = createOpenAICompatible({ name: 'gateway', baseURL, apiKey, supportsStructuredOutputs: true });
const providers = {
  '@ai-sdk/openai': openaiChat,
  '@ai-sdk/openai-compatible': compatible,
  '@ai-sdk/openai-compatible with usage': counting,
  '@ai-sdk/perplexity': createPerplexity({ baseURL, apiKey }),
};

function tellResult(client, model, way, result) {
  const { text, reasoningText, finishReason, sources, usage } = result;
  const told = { text, reasoning: reasoningText ?? '', finish: finishReason, sources: sources.length };
  tell(client, model, way, { ...told, tokens: usage.totalTokens ?? null });
}

async function whole(stream) {
  const names = ['text', 'reasoningText', 'finishReason', 'sources', 'usage'];
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await stream[name]])));
}

// An error must reach this program and not only its console.
const onError = ({ error }) => {
  throw error;
};

async function aiSdk(client, provider, model) {
  const asked = { model: provider(model), prompt: QUESTION, maxRetries: 0 };
  tellResult(client, model, 'plain', await generateText(asked));
  tellResult(client, model, 'streamed', await whole(streamText({ ...asked, onError })));
}

async function aiSdkTools(client, provider, model) {
  const tide_table = tool({
    description: 'The tides of a port',
    inputSchema: z.object({ port: z.string() }),
    execute: async ({ port }) => `High water in ${port} is at 06:12.`,
  });
  const asked = { model: provider(model), prompt: TIDES, tools: { tide_table }, stopWhen: isStepCount(3), maxRetries: 0 };
  tell(client, model, 'tools', { text: (await generateText(asked)).text });
  tell(client, model, 'streamed tools', { text: await streamText({ ...asked, onError }).text });
}

async function aiSdkObject(client, provider, model) {
  const schema = z.object({ port: z.string(), metres: z.number() });
  const prompt = "How high is the tide in 'Ostend', 4.5 or less?";
  const { output } = await generateText({ model: provider(model), prompt, output: Output.object({ schema }), maxRetries: 0 });
  tell(client, model, 'object', { output });
}

const listed = [];
for await (const model of openai.models.list()) listed.push(model.id);
tell('openai', null, 'models', { listed, one: (await openai.models.retrieve('perplexity/sonar')).id });
for (const model of models) {
  await chat(model);
  await failures(model);
  for (const [client, provider] of Object.entries(providers)) await aiSdk(client, provider, model);
}
for (const model of models) {
  await runTools(model);
  for (const client of ['@ai-sdk/openai', '@ai-sdk/openai-compatible']) await aiSdkTools(client, providers[client], model);
  if (!model.startsWith('api/')) continue; // the session takes forms of answers only where it may drop them
  await aiSdkObject('@ai-sdk/openai', openaiChat, model);
  await aiSdkObject('@ai-sdk/openai-compatible', structured, model);
}
