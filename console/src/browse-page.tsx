// Text search, and the page of a resource: what it says, what refers to it, its hyperlinks and its rank.

import { useRef, useState } from "preact/hooks";
import { Failure, json, message, select, url, type Term } from "./api";
import { useLabels } from "./labels";
import { useLoad } from "./load";
import { expand, shorten } from "./prefixes";
import { address } from "./route";
import type { Named, Schema } from "./schema";
import type { Filter } from "./search";
import { TextSearch } from "./search-page";
import { TermView } from "./term-view";

const pageSize = 100;

interface Annotation { app?: string; app64?: string; type: string; text?: string; data?: string }
interface Triple { s: Term; p: Term; o: Term; g?: Term; annotations?: Annotation[] }
interface Page { triples: Triple[]; next: string | null }

// BrowsePage shows the resource of name, or the literals with some words, or what there is to begin with.
export function BrowsePage({ name, words, filter, schema }: { name?: string; words?: string; filter: Filter; schema: Schema | null }) {
  return <>
    <Find name={name} />
    <TextSearch text={words} filter={filter} />
    {name !== undefined ? <Resource key={name} name={name} /> : words === undefined && <Start schema={schema} />}
  </>;
}

function Find({ name }: { name?: string }) {
  const input = useRef<HTMLInputElement>(null);
  return <form class="bar" role="search" aria-label="Resource" onSubmit={e => {
    e.preventDefault();
    const text = input.current!.value.trim().replace(/^<(.*)>$/, "$1");
    if (text) location.hash = address("browse", text.startsWith("_:") ? text : expand(text) ?? text);
  }}>
    <label class="grow">IRI or prefixed name <input key={name} ref={input} defaultValue={name ?? ""} autocapitalize="off" spellcheck={false} /></label>
    <button class="first">Show</button>
  </form>;
}

function Start({ schema }: { schema: Schema | null }) {
  const list = (title: string, all?: Named[]) => <section>
    <h2>{title}</h2>
    {all?.length === 0 && <p class="dim">none yet</p>}
    <ul class="flow">{all?.slice(0, 300).map(n => <li key={n.iri}><a href={address("browse", n.iri)} title={n.iri}>{shorten(n.iri)}</a> <span class="dim">{n.count?.toLocaleString()}</span></li>)}</ul>
  </section>;
  return <>{schema?.error && <p class="error">{schema.error}</p>}{list("Classes", schema?.classes)}{list("Predicates", schema?.predicates)}</>;
}

function Resource({ name }: { name: string }) {
  const blank = name.startsWith("_:"), term = blank ? name : `<${name}>`;
  const title = useLabels(blank ? [] : [name])[name];
  const counts = useLoad(async signal => {
    const count = (position: string) => json<{ count: number; exact: boolean }>(url("count", { [position]: term, estimate: true }), { signal });
    const [s, o, p, g] = await Promise.all(["s", "o", ...blank ? [] : ["p", "g"]].map(count));
    return { s, o, p, g };
  }, [term]);
  const number = (n?: { count: number; exact: boolean }) => n && `${n.exact ? "" : "about "}${n.count.toLocaleString()}`;
  const c = counts.value;
  return <article>
    <h2>{title ?? (blank ? name : shorten(name))}</h2>
    <p class="iri"><code>{name}</code></p>
    {!blank && <div class="bar"><a href={address("query", `DESCRIBE <${name}>`)}>Describe</a>
      {!!c?.p?.count && <a href={address("query", `SELECT ?s ?o WHERE {\n  ?s <${name}> ?o .\n}\nLIMIT 100\n`)}>Its {number(c.p)} triples as predicate</a>}
      {!!c?.g?.count && <a href={address("query", `SELECT ?s ?p ?o WHERE {\n  GRAPH <${name}> { ?s ?p ?o }\n}\nLIMIT 100\n`)}>Its {number(c.g)} triples as graph</a>}
    </div>}
    {counts.error && <p role="alert" class="error">{counts.error}</p>}
    {c && <>
      <section aria-labelledby="out"><h3 id="out">What it says ({number(c.s)})</h3><Triples params={{ s: term, annotations: true }} other="o" /></section>
      <section aria-labelledby="in"><h3 id="in">What refers to it ({number(c.o)})</h3><Triples params={{ o: term }} other="s" /></section>
    </>}
    {!blank && <Hyperlinks iri={name} />}
  </article>;
}

// Triples lists triples page by page. other is the end that is not the resource.
function Triples({ params, other }: { params: Record<string, string | boolean>; other: "s" | "o" }) {
  const [more, setMore] = useState<Page[]>([]), [error, setError] = useState("");
  const first = useLoad(signal => json<Page>(url("triples", { ...params, limit: pageSize }), { signal }).then(p => { setMore([]); return p; }), [JSON.stringify(params)]);
  const pages = first.value ? [first.value, ...more] : [];
  const all = pages.flatMap(p => p.triples), next = pages.at(-1)?.next;
  const labels = useLabels(all.map(t => t[other]).filter(t => t.type === "uri").map(t => t.value));
  if (first.error) return <p role="alert" class="error">{first.error}</p>;
  if (!first.value) return <p class="dim">…</p>;
  if (!all.length) return <p class="dim">nothing</p>;
  return <>
    <table class="plain">
      <thead><tr><th scope="col">{other === "o" ? "Predicate" : "Subject"}</th><th scope="col">{other === "o" ? "Object" : "Predicate"}</th></tr></thead>
      <tbody>{all.map((t, i) => {
        const end = <><Labelled term={t[other]} labels={labels} />{t.g && <span class="dim"> in <TermView term={t.g} /></span>}{t.annotations?.map(a => <Note key={a.app ?? a.app64} note={a} />)}</>;
        // A predicate stands once before its objects.
        const same = other === "o" && i > 0 && all[i - 1].p.value === t.p.value;
        return other === "o" ? <tr key={i}><td>{!same && <TermView term={t.p} />}</td><td>{end}</td></tr> : <tr key={i}><td>{end}</td><td><TermView term={t.p} /></td></tr>;
      })}</tbody>
    </table>
    {next && <button type="button" onClick={() => json<Page>(url("triples", { ...params, limit: pageSize, cursor: next })).then(p => setMore([...more, p]), err => setError(message(err)))}>More</button>}
    {error && <p role="alert" class="error">{error}</p>}
  </>;
}

function Labelled({ term, labels }: { term: Term; labels: Record<string, string> }) {
  const label = term.type === "uri" ? labels[term.value] : undefined;
  if (term.type === "uri" && imageIRI.test(term.value)) return <a href={address("browse", term.value)}><img class="image" src={term.value} alt={label ?? "Image in the data"} /></a>;
  return <>{label && `${label} `}<TermView term={term} /></>;
}

// The page asks no other host, so it shows the images that it gets as data: in annotations, and in IRIs.
const imageType = /^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/;
const imageIRI = /^data:image\/(png|jpeg|gif|webp|avif|svg\+xml)[;,]/;

function Note({ note: a }: { note: Annotation }) {
  const source = a.data && imageType.test(a.type) ? `data:${a.type};base64,${a.data}` : "";
  return <div class="note"><b>{a.app ?? a.app64}</b> <span class="dim">{a.type}</span> {source ? <img class="image" src={source} alt={`Annotation of ${a.app ?? a.app64}`} /> : a.text ?? `${Math.floor((a.data ?? "").length * 3 / 4).toLocaleString()} bytes`}</div>;
}

interface Links { forward: string[]; backward: string[]; out: number; in: number; rank?: number }

// Hyperlinks are those of the graph of links, if the page is in it.
function Hyperlinks({ iri }: { iri: string }) {
  const links = useLoad<Links | null>(async signal => {
    const post = <T,>(path: string, o: object) => json<T>("links/" + path, { body: JSON.stringify({ urls: [iri], ...o }), type: "application/json", signal });
    try {
      const { uids } = await post<{ uids: (string | null)[] }>("uids", {});
      if (uids[0] === null) return null;
    } catch (err) {
      // The node has no graph of links, or the IRI is no address of a page.
      if (err instanceof Failure && (err.status === 404 || err.status === 400)) return null;
      throw err;
    }
    const directions = ["forward", "backward"];
    const [out, into] = await Promise.all(directions.map(direction => post<{ degrees: number[] }>("degrees", { direction })));
    const [forward, backward] = await Promise.all(directions.map(direction => post<{ lists: string[][] }>("sample", { direction, n: pageSize, mode: "consistent", as: "urls" })));
    // Without a finished PageRank this is an error, and then there is no rank.
    const scores = await select(`SELECT ?score WHERE { <${iri}> <urn:trefoil:links:pagerank> ?score }`, signal).catch(() => []);
    return { out: out.degrees[0], in: into.degrees[0], forward: forward.lists[0], backward: backward.lists[0], rank: scores[0] && Number(scores[0].score.value) };
  }, [iri]);
  if (links.error) return <p role="alert" class="error">Hyperlinks: {links.error}</p>;
  const l = links.value;
  if (!l) return null;
  const list = (title: string, all: string[], n: number) => <section>
    <h3>{title} ({n.toLocaleString()}{n > all.length && `, a sample of ${all.length}`})</h3>
    <ul>{all.map(to => <li key={to}><a href={address("browse", to)}>{to}</a></li>)}</ul>
  </section>;
  return <section aria-labelledby="hyperlinks">
    <h2 id="hyperlinks">Hyperlinks</h2>
    <p>{l.rank === undefined ? <span class="dim">No PageRank is computed on this node.</span> : <>PageRank <b>{l.rank.toPrecision(4)}</b></>}</p>
    {list("Links to", l.forward, l.out)}
    {list("Linked from", l.backward, l.in)}
  </section>;
}
