// What the form asks for, as chat-requests.js takes it.

import { definitions } from "./chat-tools.js";

/** `model` is the id to ask. */
export const optionsOf = (form, model) => {
  const fields = new FormData(form);
  const on = (name) => fields.get(name) === "on";
  return {
    api: fields.get("api"),
    model,
    stream: on("stream"),
    thinking: on("thinking"),
    effort: fields.get("effort") || null,
    tools: on("tools") ? definitions() : [],
    unsupported: on("unsupported"),
    recency: fields.get("recency") || null,
    contextSize: fields.get("contextSize") || null,
    sources: fields.getAll("sources"),
    domains: fields.get("domains").split(/[\s,]+/).filter(Boolean),
    pictures: on("pictures"),
    related: on("related"),
    searchOff: on("searchOff"),
    instructions: fields.get("instructions").trim(),
    imagesBy: fields.get("imagesBy"),
  };
};
