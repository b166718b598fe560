// Which views stand beside each other: one on a phone, two on a tablet, three on a wide screen.

import { find } from "./dom.js";
import { tabs } from "./tabs.js";

const WIDE = matchMedia("(min-width: 1240px)");
const MIDDLE = matchMedia("(min-width: 860px)");

export const layout = () => {
  const views = tabs(find("#views"));
  const arrange = () => views.fix(WIDE.matches ? ["talk", "setup"] : MIDDLE.matches ? ["talk"] : []);
  WIDE.addEventListener("change", arrange);
  MIDDLE.addEventListener("change", arrange);
  arrange();
  return {
    /** Does nothing for a view that shows already. */
    select: (name) => {
      if (!document.getElementById(`tab-${name}`).hidden) views.select(name);
    },
  };
};
