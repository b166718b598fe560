// Bodies of requests from the page's conversation and options. No DOM: what goes in comes out as JSON.
//
// A turn is {role: "user", text, attachments}, {role: "assistant", text, calls} or {role: "tool", callId, output}.
// An attachment is {kind: "image" | "file", name, dataUrl} or, once uploaded, {kind, name, fileId}.

export const PATHS = { chat: "/v1/chat/completions", responses: "/v1/responses" };

/** Tools that neither upstream has, to see how a refusal looks. */
export const UNSUPPORTED = [{ type: "file_search", vector_store_ids: ["vs_demo"] }, { type: "computer_use_preview" }];

export const requestBody = (api, turns, options) => (api === "chat" ? chatBody : responsesBody)(turns, options);

const chatBody = (turns, options) => ({
  model: options.model,
  messages: [
    ...(options.instructions ? [{ role: "system", content: options.instructions }] : []),
    ...turns.map(messageOf),
  ],
  stream: options.stream,
  ...(options.stream && { stream_options: { include_usage: true } }),
  ...thinking(options),
  ...tools(options, (tool) => ({ type: "function", function: tool })),
  ...search(options),
});

const responsesBody = (turns, options) => ({
  model: options.model,
  ...(options.instructions && { instructions: options.instructions }),
  input: turns.flatMap(itemsOf),
  stream: options.stream,
  store: false,
  reasoning: { ...(options.effort && { effort: options.effort }), summary: "auto" },
  ...(options.thinking && { thinking: true }),
  ...tools(options, (tool) => ({ type: "function", ...tool, strict: false })),
  ...search(options),
});

const thinking = ({ thinking, effort }) => ({
  ...(thinking && { thinking: true }),
  ...(effort && { reasoning_effort: effort }),
});

const tools = (options, shaped) => {
  const offered = [
    ...(options.tools ?? []).map(shaped),
    ...(options.unsupported ? UNSUPPORTED : []),
  ];
  return offered.length ? { tools: offered } : {};
};

/** Perplexity's own fields, which both interfaces take at the top level. */
const search = (options) => ({
  ...(options.recency && { search_recency_filter: options.recency }),
  ...(options.sources?.length && { sources: options.sources }),
  ...(options.domains?.length && { search_domain_filter: options.domains }),
  ...(options.contextSize && { web_search_options: { search_context_size: options.contextSize } }),
  ...(options.searchOff && { disable_search: true }),
  ...(options.pictures && { return_images: true }),
  ...(options.related && { return_related_questions: true }),
});

const messageOf = (turn) => {
  if (turn.role === "tool") return { role: "tool", tool_call_id: turn.callId, content: turn.output };
  if (turn.role === "assistant") {
    if (!turn.calls?.length) return { role: "assistant", content: turn.text };
    return { role: "assistant", content: turn.text || null, tool_calls: turn.calls.map(callOfChat) };
  }
  if (!turn.attachments?.length) return { role: "user", content: turn.text };
  return { role: "user", content: [...textParts(turn, "text"), ...turn.attachments.map(partOfChat)] };
};

const callOfChat = ({ id, name, arguments: text, signature }) => ({
  id,
  type: "function",
  function: { name, arguments: text },
  ...(signature && { thought_signature: signature }),
});

const partOfChat = (attached) => {
  if (attached.fileId) return { type: "file", file: { file_id: attached.fileId } };
  if (attached.kind === "image") return { type: "image_url", image_url: { url: attached.dataUrl } };
  return { type: "file", file: { file_data: attached.dataUrl, filename: attached.name } };
};

const itemsOf = (turn) => {
  if (turn.role === "tool") return [{ type: "function_call_output", call_id: turn.callId, output: turn.output }];
  if (turn.role === "assistant") {
    const said = turn.text ? [{ role: "assistant", content: turn.text }] : [];
    return [...said, ...(turn.calls ?? []).map(callOfResponses)];
  }
  if (!turn.attachments?.length) return [{ role: "user", content: turn.text }];
  return [{ role: "user", content: [...textParts(turn, "input_text"), ...turn.attachments.map(partOfResponses)] }];
};

const callOfResponses = ({ id, name, arguments: text, signature }) => ({
  type: "function_call",
  call_id: id,
  name,
  arguments: text,
  ...(signature && { thought_signature: signature }),
});

const partOfResponses = (attached) => {
  if (attached.kind === "image") {
    return { type: "input_image", ...(attached.fileId ? { file_id: attached.fileId } : { image_url: attached.dataUrl }) };
  }
  if (attached.fileId) return { type: "input_file", file_id: attached.fileId };
  return { type: "input_file", file_data: attached.dataUrl, filename: attached.name };
};

const textParts = (turn, type) => (turn.text ? [{ type, text: turn.text }] : []);
