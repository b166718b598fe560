// Elements without HTML: text goes in as text, and only as text.

const SVG = "http://www.w3.org/2000/svg";

/** The one element that `selector` finds; a page without it is broken. */
export const find = (selector, root = document) => {
  const element = root.querySelector(selector);
  if (!element) throw new Error(`The page has no ${selector}`);
  return element;
};

/** `attributes`: strings as they are, true = there, null, undefined and false = left out, functions = listeners. */
export const make = (tag, attributes = {}, ...children) => dress(document.createElement(tag), attributes, children);

export const draw = (tag, attributes = {}, ...children) =>
  dress(document.createElementNS(SVG, tag), attributes, children);

const dress = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
};
