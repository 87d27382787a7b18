// The results of a text search, and what the index cannot answer yet.

import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, json } from "./api";
import { useLabels } from "./labels";
import { useLoad, type Loaded } from "./load";
import { shorten } from "./prefixes";
import { address } from "./route";
import { SearchBox, searchAddress, Snippet } from "./search-box";
import { asQuery, parts, search, type Filter, type IndexStatus } from "./search";
import { parseTerm } from "./terms";
import { TermView } from "./term-view";

const firstHits = 20, growth = 5, mostHits = 1000; // the last one is the server's
const someSubjects = 5, mostSubjects = 100;
const retryAfter = 2000; // milliseconds, while an index is built

// TextSearch is the search box with the results of text, if there is one.
export function TextSearch({ text, filter }: { text?: string; filter: Filter }) {
  const index = useIndex(), status = index.value;
  if (index.error) return <p role="alert" class="error">Text search: {index.error}</p>;
  if (status === null) return <p class="dim">This node has no text search, because it is read-only.</p>;
  if (status?.predicates.length === 0) return <p role="status" class="dim">Text search: no predicate is indexed. The command <code>trefoil text add PREDICATE</code> makes its literals searchable.</p>;
  const incomplete = status?.predicates.filter(p => !p.complete).map(p => p.predicate) ?? [], building = incomplete.map(shorten);
  return <>
    <SearchBox text={text} filter={filter} index={status ?? undefined} />
    {status?.problem ? <p role="alert" class="error">The text index is behind: {status.problem}</p>
      : building.length > 0 && <p role="status" class="dim">The index of {building.join(", ")} is being built. Its literals are found when it is complete.</p>}
    {text !== undefined && <Results key={searchAddress(text, filter)} text={text} filter={filter} building={filter.p ? incomplete.includes(filter.p) : incomplete.length > 0} />}
  </>;
}

// useIndex returns the indexed predicates; null if the node has no text search. While one is built they are read again.
function useIndex(): Loaded<IndexStatus | null> {
  const index = useLoad<IndexStatus | null>(signal => json<IndexStatus>("text", { signal }).catch(err => {
    if (err instanceof Failure && err.status === 404) return null;
    throw err;
  }), []);
  useEffect(() => {
    if (!index.value || index.value.predicates.every(p => p.complete)) return;
    const timer = setTimeout(index.again, retryAfter);
    return () => clearTimeout(timer);
  }, [index.value]);
  return index;
}

type Shown = Awaited<ReturnType<typeof search>> & { building?: string };

// Results searches again when building ends, so that no results stand beside the line that says it.
function Results({ text, filter, building }: { text: string; filter: Filter; building: boolean }) {
  const [limit, setLimit] = useState(firstHits), [subjects, setSubjects] = useState(someSubjects);
  // 1. Search, and again if the server is not ready although the index is complete.
  const found = useLoad<Shown>(signal => search(text, filter, { limit, subjects: Math.min(subjects + 1, mostSubjects), signal }).catch(err => {
    if (err instanceof Failure && err.kind === "loading") return { hits: [], more: false, building: err.message };
    throw err;
  }), [limit, subjects, building]);
  useEffect(() => {
    if (!found.value?.building || building) return;
    const timer = setTimeout(found.again, retryAfter);
    return () => clearTimeout(timer);
  }, [found.value, building]);
  // 2. The results so far stay until there are more.
  const last = useRef<Shown>(undefined);
  if (found.value) last.current = found.value;
  const shown = last.current, hits = shown?.hits ?? [];
  const terms = hits.map(h => (h.subjects ?? []).slice(0, subjects).map(s => parseTerm(s)!));
  const labels = useLabels(terms.flat().filter(t => t.type === "uri").map(t => t.value));
  if (found.error) return <p role="alert" class="error">{found.error}</p>;
  return <section aria-labelledby="results">
    <h2 id="results">Literals with {text}</h2>
    <p role="status" class="status">{!shown ? "…" : shown.building ?? (hits.length === 0 ? "No literal has these words. A * behind the beginning of a word finds more." : `${shown.more ? "The best " : ""}${hits.length.toLocaleString()} ${hits.length === 1 ? "result" : "results"}`)}</p>
    <ol class="hits">{hits.map((h, i) => <li key={i}>
      <p lang={tag(h.lang)}><Snippet text={h.snippet} /></p>
      <p class="dim">score <span class="number">{h.score.toPrecision(3)}</span>{h.lang && ` · @${h.lang}`}{h.datatype && ` · ${shorten(h.datatype)}`} · {h.predicates.map((p, i) => <>{i > 0 && ", "}<TermView term={{ type: "uri", value: p }} /></>)}</p>
      <ul class="flow">{terms[i].map((t, n) => <li key={n}>{t.type === "uri" && labels[t.value] && labels[t.value] !== plain(h.snippet) && `${labels[t.value]} `}<TermView term={t} /></li>)}
        {(h.subjects ?? []).length > subjects && <li><button type="button" class="link" onClick={() => setSubjects(mostSubjects)}>More subjects</button></li>}
      </ul>
    </li>)}</ol>
    {hits.length > 0 && <div class="bar">
      {shown!.more && limit < mostHits && <button type="button" disabled={!found.value} onClick={() => setLimit(Math.min(limit * growth, mostHits))}>More</button>}
      <a href={address("query", asQuery(text, filter))}>As a query of SPARQL</a>
    </div>}
  </section>;
}

// plain is a snippet without its marks.
const plain = (snippet: string) => parts(snippet).join("");

// tag returns the language of a literal if a browser may know it.
const tag = (lang?: string) => lang && /^[a-z]{2}(-|$)/i.test(lang) ? lang : undefined;
