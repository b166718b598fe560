// The gateway that served this page. The key lives in this module's memory: in no address, no cookie, no storage.

let key = "";
const listeners = new Set();

export const hasKey = () => key !== "";

export const setKey = (value) => {
  key = value.trim();
  for (const listener of listeners) listener();
};

/** `listener` is called after each change of the key. */
export const onKey = (listener) => listeners.add(listener);

export const authorization = () => (key ? { authorization: `Bearer ${key}` } : {});

/** An error that the gateway told, in whichever shape. `status` 0 = there was no answer. */
export class GatewayError extends Error {
  constructor(status, body, fallback = "") {
    const told = body?.error ?? body?.response?.error ?? {};
    super(told.message ?? (fallback || `HTTP ${status}`));
    this.status = status;
    this.code = told.code ?? null;
    this.type = told.type ?? null;
    this.param = told.param ?? null;
  }
}

export const send = (path, options = {}) =>
  fetch(path, {
    ...options,
    headers: { ...options.headers, ...authorization() },
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
    referrerPolicy: "no-referrer",
  });

/** JSON in, JSON out. Throws GatewayError. */
export const call = async (path, { method = "GET", json, form, keepalive } = {}) => {
  const options = { method, keepalive };
  if (form) options.body = form;
  if (json !== undefined) Object.assign(options, { body: JSON.stringify(json), headers: { "content-type": "application/json" } });
  let reply;
  try {
    reply = await send(path, options);
  } catch (error) {
    throw new GatewayError(0, null, error.message);
  }
  const text = await reply.text();
  const body = parsed(text);
  if (!reply.ok || body === undefined) throw new GatewayError(reply.status, body);
  return body;
};

/** undefined for what is no JSON. */
export const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
