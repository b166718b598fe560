// Tabs by the rules of the ARIA practices: arrows, Home and End move, one tab stop. Tabs that are hidden are left out.

/** `list` holds buttons with aria-controls. Gives {select, selected}; `changed` is told the name of each new tab. */
export const tabs = (list, changed = () => {}) => {
  const all = [...list.querySelectorAll("[role=tab]")];
  const shown = () => all.filter((tab) => !tab.hidden);
  const panelOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));
  let selected = all.find((tab) => tab.getAttribute("aria-selected") === "true") ?? all[0];

  const select = (name) => {
    selected = all.find((tab) => tab.getAttribute("aria-controls") === name) ?? selected;
    for (const tab of all) {
      tab.setAttribute("aria-selected", String(tab === selected));
      tab.tabIndex = tab === selected ? 0 : -1;
      // A panel whose tab is hidden stands beside the others for good.
      panelOf(tab).toggleAttribute("data-away", !tab.hidden && tab !== selected);
    }
    changed(name);
  };

  const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  list.addEventListener("keydown", (event) => {
    const open = shown();
    const at = open.indexOf(document.activeElement);
    let next;
    if (event.key in moves) next = open[(at + moves[event.key] + open.length) % open.length];
    else if (event.key === "Home") next = open[0];
    else if (event.key === "End") next = open.at(-1);
    else return;
    event.preventDefault();
    select(next.getAttribute("aria-controls"));
    next.focus();
  });
  for (const tab of all) tab.addEventListener("click", () => select(tab.getAttribute("aria-controls")));

  return {
    select,
    selected: () => selected.getAttribute("aria-controls"),
    /** Hides the tabs in `names`, whose panels then always show, and shows the others. */
    fix: (names) => {
      for (const tab of all) {
        const fixed = names.includes(tab.getAttribute("aria-controls"));
        tab.hidden = fixed;
        const panel = panelOf(tab);
        panel.setAttribute("role", fixed ? "region" : "tabpanel");
      }
      select((selected.hidden ? shown()[0] : selected).getAttribute("aria-controls"));
    },
  };
};
