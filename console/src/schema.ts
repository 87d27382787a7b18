// The classes, predicates and graphs of the store with their counts, from its own orders.

import { useEffect, useState } from "preact/hooks";
import { events, json, select, url } from "./api";
import { learn } from "./prefixes";
import { rdfType } from "./terms";

export interface Named { iri: string; count?: number; exact?: boolean }
export interface Schema { classes: Named[]; predicates: Named[]; error?: string }

const limit = 2000, maxSteps = 200;

// counted runs a query of the variables x and n. The columns of the store count such groups without reading rows.
async function counted(pattern: string, signal?: AbortSignal): Promise<Named[]> {
  const found = await select(`SELECT ?x (COUNT(*) AS ?n) WHERE { ${pattern} } GROUP BY ?x ORDER BY DESC(?n) LIMIT ${limit}`, signal);
  return found.filter(row => row.x?.type === "uri").map(row => ({ iri: row.x.value, count: Number(row.n.value), exact: true }));
}

interface Page { triples: Record<"s" | "p" | "o" | "g", { type: string; value: string } | undefined>[] }

// leap lists the distinct first terms of an order: each step seeks behind the last one.
async function leap(order: string, position: "p" | "g", signal?: AbortSignal, prefix?: string, next: "s" | "p" | "o" | "g" = position): Promise<Named[]> {
  const found: Named[] = [];
  for (let gt: string | undefined; found.length < maxSteps;) {
    const [t] = (await json<Page>(url("range", { order, prefix, gt, limit: 1 }), { signal })).triples;
    const term = t?.[next];
    if (!term || term.type !== "uri") break;
    gt = `<${term.value}>`;
    found.push({ iri: term.value });
  }
  return found;
}

// withCounts adds estimates, which cost little.
const withCounts = (all: Named[], params: (term: string) => Record<string, string>, signal?: AbortSignal) => Promise.all(all.map(async n =>
  ({ ...n, ...await json<{ count: number; exact: boolean }>(url("count", { ...params(`<${n.iri}>`), estimate: true }), { signal }) })));

export async function graphs(signal?: AbortSignal): Promise<Named[]> {
  return withCounts(await leap("gspo", "g", signal), g => ({ g }), signal);
}

// predicates are those of the default graph. If it is empty, those of all graphs.
export async function predicates(signal?: AbortSignal): Promise<Named[]> {
  const found = await counted("?s ?x ?o", signal);
  return found.length ? found : withCounts(await leap("pos", "p", signal), p => ({ p }), signal);
}

export async function classes(signal?: AbortSignal): Promise<Named[]> {
  const found = await counted(`?s a ?x`, signal);
  return found.length ? found : withCounts(await leap("pos", "p", signal, `<${rdfType}>`, "o"), o => ({ p: "a", o }), signal);
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
        const [c, p] = await Promise.all([classes(mine.signal), predicates(mine.signal)]);
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
