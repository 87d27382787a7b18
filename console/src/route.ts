// Addresses of views: #query=TEXT, #browse=TERM, #search=WORDS&p=IRI&lang=TAG, #data, #cluster, #operations. ?query=TEXT
// is taken, too.

import { useEffect, useState } from "preact/hooks";
import type { Filter } from "./search";

export type View = "query" | "browse" | "search" | "data" | "cluster" | "operations";
export interface Route { view: View; argument?: string; filter: Filter }

const views: View[] = ["query", "browse", "search", "data", "cluster", "operations"];

export function parse(hash: string): Route {
  const all = new URLSearchParams(hash.replace(/^#/, "")), filter = { p: all.get("p") || undefined, lang: all.get("lang") || undefined };
  for (const [name, value] of all) {
    if (views.includes(name as View)) return { view: name as View, argument: value || undefined, filter };
  }
  return { view: "query", filter };
}

export const address = (view: View, argument?: string, filter: Filter = {}) => {
  const more = Object.entries(filter).filter(([, value]) => value) as [string, string][];
  return argument === undefined ? `#${view}` : `#${new URLSearchParams([[view, argument], ...more])}`;
};

// adopt turns ?query=TEXT into #query=TEXT. It must run before the page reads its address.
export function adopt() {
  const query = new URLSearchParams(location.search).get("query");
  if (location.search) history.replaceState(null, "", location.pathname + (query ? address("query", query) : location.hash));
}

// replace shows an address without a new entry of the history, and without a new run.
export const replace = (view: View, argument?: string) => history.replaceState(null, "", address(view, argument));

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parse(hash);
}
