// Beside the editor: examples, saved queries, classes and predicates of the store, and what was run before.

import { useState } from "preact/hooks";
import { address } from "./route";
import { shorten } from "./prefixes";
import type { Named, Schema } from "./schema";
import type { Run } from "./keep";
import { confirmed } from "./dialogs";
import type { Loaded } from "./load";
import { removeQuery, type Saved } from "./saved";
import { message } from "./api";

const examples: [string, string][] = [
  ["The first triples", "SELECT * WHERE {\n  ?s ?p ?o .\n}\nLIMIT 50\n"],
  ["How many triples there are", "SELECT (COUNT(*) AS ?triples) WHERE {\n  ?s ?p ?o .\n}\n"],
  ["Named graphs", "SELECT ?g (COUNT(*) AS ?triples) WHERE {\n  GRAPH ?g { ?s ?p ?o }\n}\nGROUP BY ?g\nLIMIT 50\n"],
];

const ofClass = (iri: string) => `SELECT ?thing ?p ?o WHERE {\n  ?thing a <${iri}> ;\n    ?p ?o .\n}\nLIMIT 50\n`;
const ofPredicate = (iri: string) => `SELECT ?s ?o WHERE {\n  ?s <${iri}> ?o .\n}\nLIMIT 50\n`;

interface Props { schema: Schema | null; saved: Loaded<Saved[]>; history: Run[]; use: (text: string, name?: string) => void; forget: () => void }

export function Sidebar({ schema, saved, history, use, forget }: Props) {
  return <aside aria-label="Examples, saved queries, schema and history">
    <details open><summary>Examples</summary>
      <ul>{examples.map(([name, text]) => <li key={name}><button type="button" class="link" onClick={() => use(text)}>{name}</button></li>)}</ul>
    </details>
    <SavedQueries saved={saved} hidden={schema?.error === saved.error} use={use} />
    {schema?.error ? <p class="error">{schema.error}</p> : <>
      <List title="Classes" all={schema?.classes} use={iri => use(ofClass(iri))} />
      <List title="Predicates" all={schema?.predicates} use={iri => use(ofPredicate(iri))} />
    </>}
    <details><summary>History</summary>
      {history.length === 0 ? <p class="dim">Nothing was run yet.</p> : <>
        <ul class="history">{history.map(run => <li key={run.at}>
          <button type="button" class="link" title={run.text} onClick={() => use(run.text)}>{run.text.replace(/\s+/g, " ").slice(0, 90)}</button>
          <span class="dim"> {new Date(run.at).toLocaleString()}, {run.result}</span>
        </li>)}</ul>
        <button type="button" onClick={forget}>Clear the history</button>
      </>}
    </details>
  </aside>;
}

// With hidden an error is left out, because it is shown already.
function SavedQueries({ saved, hidden, use }: Pick<Props, "saved" | "use"> & { hidden: boolean }) {
  const [error, setError] = useState("");
  const remove = async (q: Saved) => {
    setError("");
    if (!await confirmed(`Delete ${q.name}?`, <pre tabIndex={0}>{q.text.slice(0, 2000)}</pre>, "Delete")) return;
    await removeQuery(q).catch(err => setError(message(err)));
    saved.again();
  };
  const all = saved.value;
  return <details open><summary>Saved queries{!!all?.length && ` (${all.length.toLocaleString()})`}</summary>
    {(error || saved.error && !hidden) && <p role="alert" class="error">{error || saved.error}</p>}
    {!all?.length && <p class="dim">{all ? "none yet" : "…"}</p>}
    <ul data-list="saved">{all?.map(q => <li key={`${q.local} ${q.name}`} class="named">
      <span><button type="button" class="link" title={q.text} onClick={() => use(q.text, q.name)}>{q.name}</button>{q.local && <span class="dim"> in this browser</span>}</span>
      <button type="button" class="link dim" aria-label={`Delete the query ${q.name}`} title="Delete" onClick={() => remove(q)}>✕</button>
    </li>)}</ul>
  </details>;
}

function List({ title, all, use }: { title: string; all?: Named[]; use: (iri: string) => void }) {
  const [more, setMore] = useState(false);
  const some = more ? all : all?.slice(0, 50);
  return <details open><summary>{title}{all && all.length > 0 && ` (${all.length.toLocaleString()})`}</summary>
    {!some ? <p class="dim">…</p> : some.length === 0 ? <p class="dim">none yet</p> : <ul data-list={title.toLowerCase()}>
      {some.map(n => <li key={n.iri} class="named">
        <button type="button" class="link" title={`Query ${n.iri}`} onClick={() => use(n.iri)}>{shorten(n.iri)}</button>
        <a href={address("browse", n.iri)} title={`Browse ${n.iri}`} class="count">{n.exact === false && "~"}{n.count?.toLocaleString()}</a>
      </li>)}
    </ul>}
    {!more && all && all.length > 50 && <button type="button" onClick={() => setMore(true)}>Show all</button>}
  </details>;
}
