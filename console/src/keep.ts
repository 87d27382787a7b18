// What this browser keeps: tabs, the history of runs, and queries that the node did not take.

import { firstText } from "./sparql";

export interface Tab { id: number; name: string; text: string }
export interface Run { text: string; at: number; result: string }

const maxHistory = 100, maxText = 100_000;

function read<T>(name: string, otherwise: T): T {
  try {
    return JSON.parse(localStorage.getItem(name) ?? "null") ?? otherwise;
  } catch {
    return otherwise; // a private window, or not ours
  }
}

function store(name: string, value: unknown) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch { /* a private window, or no room: the page goes on without */ }
}

export function readTabs(): { tabs: Tab[]; active: number } {
  const kept = read<{ tabs: Tab[]; active: number }>("trefoil.tabs", { tabs: [], active: 1 });
  return kept.tabs.length ? kept : { tabs: [{ id: 1, name: "Query 1", text: firstText }], active: 1 };
}

export const storeTabs = (tabs: Tab[], active: number) => store("trefoil.tabs", { tabs, active });

export interface Kept { name: string; text: string }
export const readKept = () => read<Kept[]>("trefoil.queries", []);
export const storeKept = (queries: Kept[]) => store("trefoil.queries", queries);

export const readHistory = () => read<Run[]>("trefoil.history", []);

// addRun returns the history with a run in front. A text is in it once.
export function addRun(history: Run[], run: Run): Run[] {
  const all = run.text.length > maxText ? history : [run, ...history.filter(r => r.text !== run.text)].slice(0, maxHistory);
  store("trefoil.history", all);
  return all;
}

export function clearHistory(): Run[] {
  store("trefoil.history", []);
  return [];
}
