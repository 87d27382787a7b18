// A term as people read it. Every IRI is a link to its page.

import type { Term } from "./api";
import { numberOf, partsOf, shown, tagOf } from "./terms";
import { address } from "./route";
import { showText } from "./dialogs";

const maxCell = 200;
const maxDepth = 4; // of triple terms that are shown inside of each other

export function TermView({ term, label, depth = 0 }: { term: Term | null; label?: string; depth?: number }) {
  if (!term) return <span class="dim">–</span>;
  if (term.type === "triple") {
    return <span class="triple">{"<<( "}{depth < maxDepth
      ? partsOf(term).map((part, i) => <>{i > 0 && " "}<TermView term={part} depth={depth + 1} /></>)
      : <button type="button" class="link" onClick={() => showText("Triple term", term.value)}>…</button>}{" )>>"}</span>;
  }
  if (term.type !== "literal") {
    const argument = term.type === "bnode" ? "_:" + term.value : term.value;
    return <a href={address("browse", argument)} title={argument}>{label ?? shown(term)}</a>;
  }
  const tag = tagOf(term);
  const cut = term.value.length > maxCell;
  return <>
    {cut ? <button type="button" class="link" title="Show the whole value" onClick={() => showText("Value", term.value)}>
      {term.value.slice(0, maxCell)}… ({term.value.length.toLocaleString()} characters)</button>
      : <span class={numberOf(term) !== undefined ? "number" : undefined}>{term.value}</span>}
    {tag && <span class="tag"> {tag}</span>}
  </>;
}
