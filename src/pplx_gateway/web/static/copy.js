// Copies text, and says on the button that it did.

import { t } from "./i18n.js";

const SHOWN_MS = 1600;

/** The clipboard needs a secure context; on plain HTTP from another machine the old way is left. */
const put = async (text) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("copy was refused");
};

/** Has `button` copy what `text()` gives. */
export const copies = (button, text) => {
  button.addEventListener("click", async () => {
    const before = button.dataset.label ?? button.textContent;
    button.dataset.label = before;
    try {
      await put(text());
      button.textContent = t("copied");
    } catch {
      button.textContent = t("notCopied");
    }
    setTimeout(() => (button.textContent = before), SHOWN_MS);
  });
  return button;
};
