// The dialog that asks for the gateway's key, and the button that opens it.

import { find } from "./dom.js";
import { hasKey, onKey, setKey } from "./gateway.js";
import { t } from "./i18n.js";

/** Wires #key-dialog and #key-button. Gives a function that opens the dialog, with a sentence why. */
export const keyDialog = () => {
  const dialog = find("#key-dialog");
  const input = find("input", dialog);
  const why = find(".why", dialog);
  const button = find("#key-button");

  const open = (reason = "") => {
    why.textContent = reason;
    why.hidden = !reason;
    why.classList.toggle("plea", !hasKey()); // where none was given, none was wrong
    if (!dialog.open) dialog.showModal();
    input.focus();
  };
  const give = (value) => {
    input.value = "";
    dialog.close();
    setKey(value);
  };
  const show = () => {
    button.dataset.state = hasKey() ? "set" : "none";
    button.setAttribute("aria-label", t(hasKey() ? "key.isSet" : "key.notSet"));
    button.title = button.getAttribute("aria-label");
  };

  find("form", dialog).addEventListener("submit", (event) => {
    event.preventDefault();
    give(input.value);
  });
  find("[data-forget]", dialog).addEventListener("click", () => give(""));
  find("[data-close]", dialog).addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => (input.value = ""));
  button.addEventListener("click", () => open());
  onKey(show);
  show();
  return open;
};
