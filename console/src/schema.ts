// The classes, predicates and graphs of the store with their counts, from its own orders.

import { useEffect, useState } from "preact/hooks";
import { events, json, select, url } from "./api";
import { learn, setKept } from "./prefixes";
import { rdfType } from "./terms";

export interface Named { iri: string; count?: number; exact?: boolean }
export interface Schema { classes: Named[]; predicates: Named[]; error?: string }

export const limit = 2000;
const maxSteps = 200, maxExact = 1_000_000;

// counted runs a query of the variables x and n. The columns of the store count such groups without reading rows.
async function counted(pattern: string, signal?: AbortSignal): Promise<Named[]> {
  const found = await select(`SELECT ?x (COUNT(*) AS ?n) WHERE { ${pattern} } GROUP BY ?x ORDER BY DESC(?n) LIMIT ${limit}`, signal);
  return found.filter(row => row.x?.type === "uri").map(row => ({ iri: row.x.value, count: Number(row.n.value), exact: true }));
}

interface Page { triples: Record<"s" | "p" | "o" | "g", { type: string; value: string } | undefined>[] }

// leap lists the distinct terms of an order behind its prefix: each step seeks behind the last one. With begin
// only the terms that begin so.
async function leap(order: string, position: "p" | "o" | "g", o: { signal?: AbortSignal; prefix?: string; begin?: string; most?: number }): Promise<Named[]> {
  const found: Named[] = [];
  let bound: Record<string, string> = o.begin === undefined ? {} : { ge: `<${o.begin}>` };
  while (found.length < (o.most ?? maxSteps)) {
    const [t] = (await json<Page>(url("range", { order, prefix: o.prefix, ...bound, limit: 1 }), { signal: o.signal })).triples;
    const term = t?.[position];
    if (term?.type !== "uri" || !term.value.startsWith(o.begin ?? "")) break;
    bound = { gt: `<${term.value}>` };
    found.push({ iri: term.value });
  }
  return found;
}

const ofPredicate = (p: string) => ({ p }), ofClass = (o: string) => ({ p: "a", o });

// beginning lists some classes or predicates that begin with a text. It is for stores that have more than
// the schema lists.
export async function beginning(kind: "class" | "predicate", begin: string, signal?: AbortSignal): Promise<Named[]> {
  const most = 30;
  return kind === "predicate" ? withCounts(await leap("pos", "p", { signal, begin, most }), ofPredicate, signal)
    : withCounts(await leap("pos", "o", { signal, begin, most, prefix: `<${rdfType}>` }), ofClass, signal);
}

// countOf counts triples: by an estimate, which costs little, and exactly if they are not too many.
export async function countOf(params: Record<string, string>, signal?: AbortSignal): Promise<{ count: number; exact: boolean }> {
  const count = (estimate?: boolean) => json<{ count: number; exact: boolean }>(url("count", { ...params, estimate }), { signal });
  const about = await count(true);
  return about.exact || about.count > maxExact ? about : count();
}

const withCounts = (all: Named[], params: (term: string) => Record<string, string>, signal?: AbortSignal) =>
  Promise.all(all.map(async n => ({ ...n, ...await countOf(params(`<${n.iri}>`), signal) })));

// countGraph counts the triples of a graph; "" is the default graph. The columns of the store count it without reading
// rows. Without them a large graph takes too long, and then the count is an estimate.
export async function countGraph(iri: string, signal?: AbortSignal): Promise<{ count: number; exact: boolean }> {
  const pattern = iri ? `GRAPH <${iri}> { ?s ?p ?o }` : "?s ?p ?o";
  return select(`SELECT (COUNT(*) AS ?n) WHERE { ${pattern} }`, signal).then(([row]) => ({ count: Number(row.n.value), exact: true }), () => countOf({ g: iri ? `<${iri}>` : "default" }, signal));
}

export async function graphs(signal?: AbortSignal): Promise<Named[]> {
  return Promise.all((await leap("gspo", "g", { signal })).map(async g => ({ ...g, ...await countGraph(g.iri, signal) })));
}

// predicates are those of the default graph. If it is empty, those of all graphs.
export async function predicates(signal?: AbortSignal): Promise<Named[]> {
  const found = await counted("?s ?x ?o", signal);
  return found.length ? found : withCounts(await leap("pos", "p", { signal }), ofPredicate, signal);
}

export async function classes(signal?: AbortSignal): Promise<Named[]> {
  const found = await counted(`?s a ?x`, signal);
  return found.length ? found : withCounts(await leap("pos", "o", { signal, prefix: `<${rdfType}>` }), ofClass, signal);
}

// useSchema reads the schema, and again after each change and each new token.
export function useSchema(): Schema | null {
  const [schema, setSchema] = useState<Schema | null>(null);
  useEffect(() => {
    let control: AbortController;
    const read = async () => {
      control?.abort();
      const mine = control = new AbortController();
      try {
        const [c, p, names] = await Promise.all([classes(mine.signal), predicates(mine.signal),
          json<{ prefixes: Record<string, string> }>(url("prefixes"), { signal: mine.signal })]);
        setKept(names.prefixes);
        learn([...c, ...p].map(n => n.iri));
        setSchema({ classes: c, predicates: p });
      } catch (err) {
        if (!mine.signal.aborted) setSchema({ classes: [], predicates: [], error: err instanceof Error ? err.message : String(err) });
      }
    };
    read();
    events.addEventListener("data", read);
    events.addEventListener("signed-in", read);
    return () => {
      control.abort();
      events.removeEventListener("data", read);
      events.removeEventListener("signed-in", read);
    };
  }, []);
  return schema;
}
