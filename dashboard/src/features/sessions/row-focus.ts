/** Moves the focus along the rows of a list: Enter and every screen reader do the rest. */
export function moveRowFocus(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLElement>("[data-row-link]") ?? [])];
  const at = links.findIndex((link) => link === document.activeElement);
  const next = at === -1 ? 0 : Math.min(links.length - 1, Math.max(0, at + by));
  links[next]?.focus();
  links[next]?.scrollIntoView({ block: "nearest" });
}
