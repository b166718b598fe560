// Answers as Markdown. markdown-it passes no HTML through; DOMPurify keeps only what is on its list; the result comes as
// elements, never as a string. Marks of citation become links to the source's card. Images are not loaded: nothing of
// another host is ever asked for.

import "./markdown-it.min.js";
import "./purify.min.js";

// Opens a mark that this module itself put into the text, at a place that an annotation names.
const PUT = "\uE000";
const MARK = new RegExp(`\\[(?:${PUT})?(\\d{1,4})\\]`, "y");

const markdown = globalThis.markdownit({ html: false, linkify: true, breaks: false, typographer: false });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false });
markdown.validateLink = (url) => /^(?:https?|mailto):/i.test(url.trim());

markdown.inline.ruler.before("link", "mark", (state, silent) => {
  MARK.lastIndex = state.pos;
  const found = MARK.exec(state.src);
  const { known, exact } = state.env;
  if (!found || !known.has(Number(found[1])) || (exact && !found[0].includes(PUT))) return false;
  if (!silent) state.push("mark", "a", 0).meta = { number: found[1] };
  state.pos += found[0].length;
  return true;
});
const escape = markdown.utils.escapeHtml;
markdown.renderer.rules.mark = (tokens, index) => `<a class="mark">${escape(tokens[index].meta.number)}</a>`;
markdown.renderer.rules.image = (tokens, index) => {
  const token = tokens[index];
  return `<a href="${escape(token.attrGet("src"))}">${escape(token.content || token.attrGet("src"))}</a>`;
};
// A table's cells say by a class what they would otherwise say by a style, which the page's policy forbids.
markdown.core.ruler.push("align", (state) => {
  for (const token of state.tokens) {
    const style = token.attrGet("style");
    if (style === null) continue;
    token.attrs = token.attrs.filter(([name]) => name !== "style");
    token.attrJoin("class", `to-${style.split(":")[1]}`);
  }
});

const ALLOWED = {
  ALLOWED_TAGS: "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr li ol p pre s strong table tbody td th thead tr ul".split(" "),
  ALLOWED_ATTR: ["href", "class", "start"],
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** `text` with a mark of ours at the place of each annotation: [{start_index, end_index, number}], in code points. */
export const marked = (text, annotations) => {
  const points = [...text];
  // From the end, so that earlier places stay where they are.
  for (const { start_index: start, end_index: end, number } of annotations.toSorted((a, b) => b.start_index - a.start_index)) {
    points.splice(start, end - start, `[${PUT}${number}]`);
  }
  return points.join("");
};

/** Elements for `text`. `known` are the numbers that have a card; `exact`: only marks from `marked` count. */
export const render = (text, { known, exact }) => {
  const fragment = globalThis.DOMPurify.sanitize(markdown.render(text, { known, exact }), ALLOWED);
  for (const link of fragment.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  for (const block of fragment.querySelectorAll("pre, table")) {
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    block.replaceWith(scroll);
    scroll.append(block);
  }
  return fragment;
};
