// Colours of the page for what is drawn on a canvas.

// colour returns a custom property of style.css as the current scheme has it.
export const colour = (name: string) => resolved(`var(${name})`);

// resolved returns a colour of CSS as the current scheme has it.
export function resolved(css: string): string {
  const probe = document.createElement("span");
  probe.style.color = css;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
