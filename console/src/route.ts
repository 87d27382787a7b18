// Addresses of views: #query=TEXT, #browse=TERM, #data, #cluster, #operations. ?query=TEXT is taken, too.

import { useEffect, useState } from "preact/hooks";

export type View = "query" | "browse" | "data" | "cluster" | "operations";
export interface Route { view: View; argument?: string }

const views: View[] = ["query", "browse", "data", "cluster", "operations"];

export function parse(hash: string): Route {
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (views.includes(name as View)) return { view: name as View, argument: value || undefined };
  }
  return { view: "query" };
}

export const address = (view: View, argument?: string) => argument === undefined ? `#${view}` : `#${new URLSearchParams({ [view]: argument })}`;

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
