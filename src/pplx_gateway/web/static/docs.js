// Shows /openapi.json: paths with their answers, then every object with its fields.

const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const nameOf = (reference) => reference.split("/").at(-1);

const typeOf = (schema) => {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(" | ");
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.type === "array") return `list of ${typeOf(schema.items ?? {})}`;
  return schema.type ?? "any";
};

const table = (heads, rows) => {
  const head = make("tr", "", ...heads.map((text) => make("th", text)));
  const body = rows.map((cells) => make("tr", "", ...cells.map((text) => make("td", "", make("code", text)))));
  const scroll = make("div", "", make("table", "", make("thead", "", head), make("tbody", "", ...body)));
  scroll.className = "scroll";
  return scroll;
};

// A path's entry also holds what all its methods share.
const METHODS = ["get", "post", "put", "patch", "delete"];

// `shared` are the answers that several operations have.
const operation = (method, path, described, shared) => {
  const answers = Object.entries(described.responses).map(([status, answer]) =>
    make("tr", "", make("td", "", make("code", status)),
      make("td", (answer.$ref ? shared[nameOf(answer.$ref)] : answer).description)));
  return make("section", "",
    make("h2", "", make("code", `${method.toUpperCase()} ${path}`)),
    make("p", described.summary),
    make("table", "", make("tbody", "", ...answers)));
};

const object = (name, schema) => {
  const rows = Object.entries(schema.properties ?? {}).map(([field, found]) =>
    [field, typeOf(found), (schema.required ?? []).includes(field) ? "required" : "optional"]);
  return make("details", "",
    make("summary", name),
    make("p", schema.description ?? ""),
    table(["field", "type", ""], rows));
};

const answer = await fetch("/openapi.json");
const described = await answer.json();
document.querySelector("#paths").replaceChildren(
  ...Object.entries(described.paths).flatMap(([path, methods]) =>
    Object.entries(methods).filter(([method]) => METHODS.includes(method)).map(([method, found]) =>
      operation(method, path, found, described.components.responses))));
document.querySelector("#schemas").replaceChildren(
  ...Object.entries(described.components.schemas).map(([name, schema]) => object(name, schema)));
