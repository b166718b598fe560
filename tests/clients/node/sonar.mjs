// The AI SDK's Perplexity provider as it asks for Sonar. GATEWAY_URL and GATEWAY_KEY; the models are arguments.
// Prints one JSON object a line.
import { createPerplexity } from '@ai-sdk/perplexity';
import { embedMany, generateText, jsonSchema, Output, streamText } from 'ai';

const QUESTION = 'Which two rivers meet in Ghent?';
const perplexity = createPerplexity({ baseURL: process.env.GATEWAY_URL, apiKey: process.env.GATEWAY_KEY });
const tell = (model, way, told) => console.log(JSON.stringify({ model, way, ...told }));

function tellAnswer(model, way, { text, sources, finishReason, usage, providerMetadata }) {
  const { cost, usage: searches } = providerMetadata.perplexity;
  tell(model, way, {
    text,
    sources: sources.map(({ url }) => url),
    finish: finishReason,
    tokens: usage.totalTokens,
    searches: searches.numSearchQueries,
    cost: cost?.totalCost ?? null,
    fee: cost?.requestCost ?? null,
  });
}

async function answers(model) {
  const asked = { model: perplexity(model), prompt: QUESTION, maxRetries: 0 };
  tellAnswer(model, 'plain', await generateText(asked));
  const stream = streamText(asked);
  let text = '';
  for await (const delta of stream.textStream) text += delta;
  tellAnswer(model, 'streamed', {
    text,
    sources: await stream.sources,
    finishReason: await stream.finishReason,
    usage: await stream.usage,
    providerMetadata: await stream.providerMetadata,
  });
}

async function options(model) {
  const { text, response } = await generateText({
    model: perplexity(model),
    prompt: QUESTION,
    maxOutputTokens: 500,
    temperature: 0.2,
    topP: 0.9,
    providerOptions: { perplexity: { search_recency_filter: 'month', return_images: true } },
  });
  tell(model, 'options', { text, model: response.modelId, dropped: response.headers['x-pplx-dropped'] ?? null });
}

async function object(model) {
  const schema = jsonSchema({
    type: 'object',
    properties: { port: { type: 'string' }, metres: { type: 'number' } },
    required: ['port', 'metres'],
    additionalProperties: false,
  });
  const { output } = await generateText({
    model: perplexity(model),
    output: Output.object({ schema }),
    prompt: QUESTION,
  });
  tell(model, 'object', { keys: Object.keys(output).sort() });
}

async function vectors(name) {
  const model = perplexity.embeddingModel(name);
  const { embeddings, usage, providerMetadata } = await embedMany({ model, values: [QUESTION, 'tides'], maxRetries: 0 });
  const cost = providerMetadata?.perplexity.cost.totalCost ?? null;
  tell(name, 'vectors', { lengths: embeddings.map((each) => each.length), tokens: usage.tokens, cost });
  try {
    await embedMany({ model: perplexity.embeddingModel('sonar'), values: ['tides'], maxRetries: 0 });
  } catch (error) {
    tell(name, 'no vectors', { status: error.statusCode, code: error.data?.error.code });
  }
}

async function failures(model) {
  for (const [way, name, prompt] of [
    ['retired', 'r1-1776', QUESTION],
    ['refused', model, 'fault:upstream_500 Why?'],
  ]) {
    try {
      await generateText({ model: perplexity(name), prompt, maxRetries: 0 });
      tell(model, way, { error: null });
    } catch (error) {
      tell(model, way, { error: error.name, status: error.statusCode, message: error.message, code: error.data?.error.code });
    }
  }
  let seen = null;
  const broken = streamText({
    model: perplexity(model),
    prompt: 'fault:midstream_drop Why?',
    maxRetries: 0,
    onError: ({ error }) => (seen = error.name ?? String(error)),
  });
  try {
    for await (const _ of broken.textStream);
  } catch {}
  tell(model, 'broken', { error: seen });
}

for (const model of process.argv.slice(2)) await answers(model);
await options(process.argv[2]);
await object(process.argv[2]);
await failures(process.argv[2]);
await vectors('pplx-embed-v1-0.6b');
