// Light or dark: as the system says, until the button says otherwise. Nothing is kept.

import { find } from "./dom.js";
import { t } from "./i18n.js";

const ORDER = ["auto", "light", "dark"];

export const themeButton = () => {
  const button = find("#theme-button");
  let chosen = "auto";
  const show = () => {
    document.documentElement.dataset.theme = chosen;
    button.setAttribute("aria-label", t(`theme.${chosen}`));
    button.title = button.getAttribute("aria-label");
  };
  button.addEventListener("click", () => {
    chosen = ORDER[(ORDER.indexOf(chosen) + 1) % ORDER.length];
    show();
  });
  show();
};
