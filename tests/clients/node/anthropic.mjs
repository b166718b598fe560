// Anthropic's SDK for Node and the AI SDK's provider of its protocol against the gateway.
// GATEWAY_URL (without /v1) and GATEWAY_KEY; the models are arguments. Prints one JSON object a line.
import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';

const QUESTION = 'Which two rivers meet in Ghent?';
const TIDES = "Use tide_table for 'Ostend'.";
const baseURL = process.env.GATEWAY_URL;
const apiKey = process.env.GATEWAY_KEY;
const models = process.argv.slice(2);
const messages = [{ role: 'user', content: QUESTION }];
const search = { type: 'web_search_20250305', name: 'web_search' };
const tell = (client, model, way, told) => console.log(JSON.stringify({ client, model, way, ...told }));

const sdk = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
const schema = { type: 'object', properties: { port: { type: 'string' } }, required: ['port'] };
const tide_table = { name: 'tide_table', description: 'The tides of a port', input_schema: schema };

function tellMessage(model, way, message) {
  tell('sdk', model, way, {
    text: message.content.map((block) => block.text ?? '').join(''),
    kinds: message.content.map((block) => block.type),
    citations: message.content.flatMap((block) => block.citations ?? []).length,
    finish: message.stop_reason,
    tokens: message.usage.input_tokens + message.usage.output_tokens,
  });
}

async function ask(model) {
  const body = { model, max_tokens: 1000, messages };
  tellMessage(model, 'plain', await sdk.messages.create(body));
  const kinds = [];
  for await (const event of await sdk.messages.create({ ...body, stream: true })) {
    if (event.type !== kinds.at(-1)) kinds.push(event.type);
  }
  tell('sdk', model, 'events', { kinds });
  let text = '';
  const helper = sdk.messages.stream({ ...body, tools: [search] }).on('text', (piece) => (text += piece));
  const message = await helper.finalMessage();
  tellMessage(model, 'helper', message);
  tell('sdk', model, 'heard', { text });
  const thinking = { type: 'enabled', budget_tokens: 1024 };
  tellMessage(model, 'thinking', await sdk.messages.stream({ ...body, max_tokens: 4000, thinking }).finalMessage());
}

async function callTools(model) {
  for (const [way, take] of [
    ['tools', (body) => sdk.messages.create(body)],
    ['streamed tools', (body) => sdk.messages.stream(body).finalMessage()],
  ]) {
    const body = { model, max_tokens: 1000, tools: [tide_table], messages: [{ role: 'user', content: TIDES }] };
    const called = await take(body);
    const results = called.content
      .filter((block) => block.type === 'tool_use')
      .map((use) => ({ type: 'tool_result', tool_use_id: use.id, content: `High water in ${use.input.port} is at 06:12.` }));
    body.messages.push({ role: 'assistant', content: called.content }, { role: 'user', content: results });
    tellMessage(model, way, await take(body));
  }
}

async function fail(model) {
  const failing = async (way, act) => {
    try {
      await act();
      tell('sdk', model, way, { error: null });
    } catch (error) {
      tell('sdk', model, way, { error: error.constructor.name, status: error.status ?? null, kind: error.type ?? null });
    }
  };
  await failing('unknown model', () => sdk.messages.create({ model: 'claude-9', max_tokens: 5, messages }));
  await failing('bad field', () => sdk.messages.create({ model, max_tokens: 0, messages }));
  await failing('wrong key', () =>
    new Anthropic({ baseURL, apiKey: 'wrong', maxRetries: 0 }).messages.create({ model, max_tokens: 5, messages }));
}

async function askAi(model) {
  const provider = createAnthropic({ baseURL: `${baseURL}/v1`, apiKey });
  const told = async (way, result) =>
    tell('ai', model, way, {
      text: await result.text,
      finish: await result.finishReason,
      reasoning: (await result.reasoningText) ?? '',
      sources: (await result.sources).length,
      tokens: (await result.usage).totalTokens ?? null,
    });
  const options = { model: provider(model), prompt: QUESTION, maxRetries: 0, maxOutputTokens: 1000 };
  await told('plain', await generateText(options));
  await told('streamed', streamText(options));
  const tools = { web_search: provider.tools.webSearch_20250305({ maxUses: 3 }) };
  await told('search', await generateText({ ...options, tools }));
  await told('streamed search', streamText({ ...options, tools }));
  const thinking = { providerOptions: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } };
  await told('thinking', streamText({ ...options, ...thinking }));
  const tide = tool({
    description: 'The tides of a port',
    inputSchema: z.object({ port: z.string() }),
    execute: ({ port }) => `High water in ${port} is at 06:12.`,
  });
  const calling = { ...options, prompt: TIDES, tools: { tide_table: tide }, stopWhen: isStepCount(3) };
  await told('tools', await generateText(calling));
  await told('streamed tools', streamText(calling));
}

async function object(model) {
  const provider = createAnthropic({ baseURL: `${baseURL}/v1`, apiKey });
  const form = z.object({ port: z.string(), metres: z.number() });
  const prompt = "How high is the tide in 'Ostend', 4.5 or less?";
  const { output } = await generateText({
    model: provider(model), prompt, maxRetries: 0, maxOutputTokens: 1000, output: Output.object({ schema: form }),
  });
  tell('ai', model, 'object', { output });
}

const listed = [];
for await (const model of sdk.models.list()) listed.push(model.id);
tell('sdk', null, 'models', { listed });
for (const model of models) {
  await ask(model);
  await callTools(model);
  await fail(model);
  await askAi(model);
}
await object('api/sonar');
