// Colours of the page for what is drawn on a canvas.

// colour returns a custom property of style.css as the current scheme has it.
export function colour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
