// Labels of resources, in the language of the browser if there is one.

import { useEffect, useState } from "preact/hooks";
import { select, type Term } from "./api";

const predicates = ["http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel", "http://xmlns.com/foaf/0.1/name",
  "https://schema.org/name", "http://schema.org/name", "http://purl.org/dc/terms/title", "http://purl.org/dc/elements/1.1/title"];

const maxIRIs = 300;

// rank orders the labels of a resource: the languages of the browser, then none, then others.
function rank(t: Term): number {
  const tag = t["xml:lang"]?.toLowerCase();
  if (!tag) return 50;
  const i = navigator.languages.findIndex(l => l.toLowerCase().split("-")[0] === tag.split("-")[0]);
  return i >= 0 ? i : 100;
}

const safe = (iri: string) => !/[<>"{}|^`\\\s]/.test(iri);

export async function labelsOf(iris: string[], signal: AbortSignal): Promise<Record<string, string>> {
  const some = [...new Set(iris)].filter(safe).slice(0, maxIRIs);
  if (!some.length) return {};
  const rows = await select(`SELECT ?x ?l WHERE { VALUES ?x { ${some.map(i => `<${i}>`).join(" ")} } VALUES ?p { ${predicates.map(i => `<${i}>`).join(" ")} } ?x ?p ?l } LIMIT 3000`, signal);
  const labels: Record<string, string> = {}, ranks: Record<string, number> = {};
  for (const { x, l } of rows) {
    if (l.type === "literal" && rank(l) < (ranks[x.value] ?? Infinity)) {
      labels[x.value] = l.value;
      ranks[x.value] = rank(l);
    }
  }
  return labels;
}

// useLabels returns the labels of the IRIs as soon as they are known.
export function useLabels(iris: string[]): Record<string, string> {
  const [labels, setLabels] = useState<Record<string, string>>({});
  const key = iris.join(" ");
  useEffect(() => {
    const control = new AbortController();
    const missing = iris.filter(iri => labels[iri] === undefined);
    labelsOf(missing, control.signal).then(found => setLabels(now => ({ ...now, ...found })), () => {}); // the page is whole without them
    return () => control.abort();
  }, [key]);
  return labels;
}
