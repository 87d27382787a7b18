// Text search: its requests, queries that are still typed, and the marked words of snippets.

import { Failure, json, url, type Term } from "./api";
import { parseTerm } from "./terms";

// Filter narrows a search: p is a predicate, lang a range of language tags or "none".
export interface Filter { p?: string; lang?: string }

interface Hit { score: number; lang?: string; datatype?: string; predicates: string[]; snippet: string; subjects?: string[] }
interface Answer { hits: Hit[]; more: boolean }

// IndexStatus is the answer of GET /text.
export interface IndexStatus { predicates: { predicate: string; complete: boolean }[]; problem?: string }

// search returns the best literals, without their whole texts, which may be long.
export const search = (q: string, filter: Filter, o: { limit: number; subjects: number; signal?: AbortSignal }) =>
  json<Answer>(url("search", { q, p: filter.p && `<${filter.p}>`, lang: filter.lang, limit: o.limit, subjects: o.subjects, brief: true }), { signal: o.signal });

// closed returns a query that somebody is still typing, without an operator at its end, and with its quotes and
// parentheses closed.
export function closed(text: string): string {
  for (let last = ""; last !== text;) {
    last = text;
    text = text.trimEnd().replace(/(^|[\s(])(?:AND|OR|NOT|-|\()$/, "$1").replace(/\\$/, "");
  }
  let quoted = false, depth = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === '"') quoted = !quoted;
    else if (!quoted && text[i] === "(") depth++;
    else if (!quoted && text[i] === ")") depth--;
  }
  return text + (quoted ? '"' : "") + ")".repeat(Math.max(depth, 0));
}

// lastWord returns the word at the end of a query that may go on; "" if there is none, or if it stands in a phrase.
export function lastWord(text: string): string {
  const word = /(?:^|[\s(])([\p{L}\p{N}\p{M}]+)$/u.exec(text)?.[1] ?? "";
  const quotes = text.replace(/\\./gs, "").split('"').length - 1;
  return quotes % 2 || /^(AND|OR|NOT)$/.test(word) ? "" : word;
}

// parts splits a snippet. Those at odd places are words of the query.
export const parts = (snippet: string) => snippet.split(/⟦([^⟦⟧]*)⟧/);

const fold = (text: string) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

// Suggestion is what may be chosen below the search box: a word that completes the last one, or a subject of a literal.
export type Suggestion = { kind: "word"; word: string; text: string } | { kind: "subject"; subject: Term; predicate: string; snippet: string; others: boolean };

const maxHits = 8, maxWords = 3, maxSubjects = 3;

// suggest returns suggestions for a query that somebody is typing. Its last word is completed.
export async function suggest(text: string, filter: Filter, signal: AbortSignal): Promise<Suggestion[]> {
  // 1. Search. Some words are no prefixes, such as those of scripts without spaces.
  const word = lastWord(text), query = closed(text);
  if (!query) return [];
  const o = { limit: maxHits, subjects: maxSubjects + 1, signal };
  const { hits } = await search(word ? closed(text + "*") : query, filter, o).catch(err => {
    if (word && err instanceof Failure && err.where === "q") return search(query, filter, o);
    throw err;
  });
  // 2. Words that complete the last one.
  const words = new Map<string, string>();
  if (word) {
    for (const found of hits.flatMap(h => parts(h.snippet).filter((_, i) => i % 2))) {
      const folded = fold(found);
      if (folded.startsWith(fold(word)) && folded !== fold(word) && lastWord(found) && !words.has(folded)) words.set(folded, found.toLowerCase());
    }
  }
  const completed = [...words.values()].slice(0, maxWords).map((w): Suggestion => ({ kind: "word", word: w, text: text.slice(0, -word.length) + w }));
  // 3. The subjects of the hits.
  return [...completed, ...hits.flatMap(h => (h.subjects ?? []).slice(0, maxSubjects).map((s, i): Suggestion => ({
    kind: "subject", subject: parseTerm(s)!, predicate: h.predicates[0], snippet: h.snippet, others: i === maxSubjects - 1 && h.subjects!.length > maxSubjects,
  })))];
}

// asQuery returns a search as a query of SPARQL, which has all of its hits.
export function asQuery(text: string, filter: Filter): string {
  const string = JSON.stringify(text);
  const more = (filter.p ? ` ;\n    text:predicate <${filter.p}>` : "") + (filter.lang ? ` ;\n    text:language ${JSON.stringify(filter.lang === "none" ? "" : filter.lang)}` : "");
  return `PREFIX text: <urn:trefoil:text:>\nSELECT ?subject ?predicate ?literal ?score WHERE {\n  ?literal text:matches ${string} ;\n    text:score ?score${more} .\n  ?subject ${filter.p ? `<${filter.p}>` : "?predicate"} ?literal .\n}\nORDER BY DESC(?score)\nLIMIT 1000\n`;
}
