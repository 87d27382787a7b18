// The data: files that are loaded, graphs with exports and deletion, predicates and classes.

import { useReducer, useRef, useState } from "preact/hooks";
import { ask, emit, message, save, url } from "./api";
import { confirmed } from "./dialogs";
import { amount, bytes } from "./figures";
import { useLoad } from "./load";
import { shorten } from "./prefixes";
import { address } from "./route";
import { countGraph, graphs, type Named, type Schema } from "./schema";
import { send, syntaxes, typeOf, type Upload } from "./upload";

const systemGraph = "urn:trefoil:system";

export function DataPage({ schema }: { schema: Schema | null }) {
  return <>
    <Uploads />
    <Graphs />
    <div class="halves">
      <Names title="Classes" all={schema?.classes} />
      <Names title="Predicates" all={schema?.predicates} />
    </div>
    {schema?.error && <p class="error">{schema.error}</p>}
  </>;
}

function Uploads() {
  const [uploads] = useState<Upload[]>([]);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [type, setType] = useState(""), [graph, setGraph] = useState(""), [keepGoing, setKeepGoing] = useState(true), [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null), running = useRef<AbortController | null>(null);
  const changed = () => redraw(undefined as never);
  // add loads files one after another, because a node loads one at a time.
  const add = async (files: Iterable<File>) => {
    uploads.push(...[...files].map((file): Upload => ({ file, state: "waits", sent: 0 })));
    changed();
    if (running.current) return;
    const control = running.current = new AbortController();
    for (let u: Upload | undefined; (u = uploads.find(one => one.state === "waits")) && !control.signal.aborted;) {
      const found = type || typeOf(u.file.name);
      if (found) await send(u, found, { graph: graph.trim() || undefined, keepGoing }, control.signal, changed);
      else Object.assign(u, { state: "failed", error: "Its name does not tell the syntax. Choose one above, and add the file again." });
    }
    running.current = null;
    if (control.signal.aborted) for (const u of uploads) if (u.state === "waits") Object.assign(u, { state: "failed", error: "Stopped before it began." });
    changed();
  };
  return <section aria-labelledby="load">
    <h2 id="load">Load files</h2>
    <div class="bar">
      <label>Syntax <select value={type} onChange={e => setType(e.currentTarget.value)}><option value="">by the file's name</option>{syntaxes.map(([name, t]) => <option key={t} value={t}>{name}</option>)}</select></label>
      <label class="grow">Graph <input value={graph} placeholder="the default graph" autocapitalize="off" spellcheck={false} onInput={e => setGraph(e.currentTarget.value)} /></label>
      <label><input type="checkbox" checked={keepGoing} onChange={e => setKeepGoing(e.currentTarget.checked)} /> Leave malformed statements out</label>
    </div>
    <div class={over ? "drop over" : "drop"} data-testid="drop"
      onDragOver={e => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
      onDrop={e => { e.preventDefault(); setOver(false); add(e.dataTransfer!.files); }}>
      <p>Drop files here, also compressed ones (gz, bz2, zst, xz).</p>
      <button type="button" class="first" onClick={() => input.current!.click()}>Choose files</button>
      <input ref={input} type="file" multiple hidden aria-label="Files" onChange={e => { add([...e.currentTarget.files!]); e.currentTarget.value = ""; }} />
      {running.current && <button type="button" onClick={() => running.current?.abort()}>Stop</button>}
    </div>
    <ul class="uploads" aria-live="polite">{uploads.map((u, i) => <UploadView key={i} u={u} />).reverse()}</ul>
  </section>;
}

function UploadView({ u }: { u: Upload }) {
  const s = u.summary;
  return <li>
    <b>{u.file.name}</b> <span class="dim">{bytes(u.file.size)}</span>{" "}
    {u.state === "waits" && "waits"}
    {u.state === "sends" && <><progress max={u.file.size || 1} value={u.sent} aria-label={`Sent of ${u.file.name}`} /> {bytes(u.sent)} sent</>}
    {u.state === "loads" && <><progress aria-label={`Loading ${u.file.name}`} /> loads …</>}
    {u.error && <p class="error">{u.error}</p>}
    {s && <>{amount(s.new)} new, {amount(s.duplicates)} there already{s.rejected > 0 && <>, <span class="warm">{amount(s.rejected)} left out</span></>}</>}
    {!!s?.rejects?.length && <table class="plain rejects">
      <thead><tr><th scope="col">Line</th><th scope="col">Column</th><th scope="col">Error</th><th scope="col">Statement</th></tr></thead>
      <tbody>{s.rejects.map((r, i) => {
        const [, line, column] = /:(\d+):(\d+)$/.exec(r.where) ?? [];
        return <tr key={i}><td>{line ?? r.where}</td><td>{column}</td><td>{r.message}</td><td>{r.statement.slice(0, 500)}</td></tr>;
      })}</tbody>
    </table>}
  </li>;
}

const exports: [string, string, string][] = [["Turtle", "text/turtle", "ttl"], ["N-Triples", "application/n-triples", "nt"]];

function Graphs() {
  const all = useLoad(async signal => {
    const [first, named] = await Promise.all([countGraph("", signal), graphs(signal)]);
    return [{ iri: "", ...first }, ...named] as Named[];
  }, []);
  const [busy, setBusy] = useState(""), [error, setError] = useState("");
  const during = async (what: string, task: () => Promise<void>) => {
    setBusy(what);
    setError("");
    await task().catch(err => setError(message(err)));
    setBusy("");
  };
  // Links with a token are not possible, so the file is made here. Browsers keep large ones on the disk.
  const fetchFile = (path: string, accept: string, name: string) => during(`Exporting ${name} …`, async () => save(await (await ask(path, { accept })).blob(), name));
  const clear = async (name: string, count: number | undefined, path: string) => {
    const text = `All ${count === undefined ? "" : amount(count) + " "}triples of ${name} are deleted, with their annotations. ${path === "sparql" ? "Saved queries are among them. " : ""}It cannot be undone here.`;
    if (!await confirmed(`Delete ${name}?`, text, "Delete", "delete")) return;
    await during(`Deleting ${name} …`, async () => {
      await ask(path, path === "sparql" ? { form: { update: "CLEAR ALL" } } : { method: "DELETE" });
      emit("data");
    });
  };
  const target = (g: Named) => url("data", { graph: g.iri || undefined }) + (g.iri ? "" : "?default");
  return <section aria-labelledby="graphs">
    <h2 id="graphs">Graphs</h2>
    {all.error && <p role="alert" class="error">{all.error}</p>}
    <p role="status">{busy}</p>
    {error && <p role="alert" class="error">{error}</p>}
    {all.value && <div class="wide" tabIndex={0} role="region" aria-label="Table of graphs">
      <table class="plain">
        <thead><tr><th scope="col">Graph</th><th scope="col">Triples</th><th scope="col">Export</th><td /></tr></thead>
        <tbody>{all.value.map(g => {
          const name = g.iri ? shorten(g.iri) : "the default graph";
          return <tr key={g.iri}>
            <th scope="row">{g.iri ? <a href={address("browse", g.iri)} title={g.iri}>{name}</a> : name}</th>
            <td class="number">{g.exact === false && "about "}{amount(g.count ?? 0)}</td>
            <td><div class="bar">{exports.map(([label, type, ending]) => <button key={ending} type="button" disabled={!!busy} aria-label={`${label} of ${name}`}
              onClick={() => fetchFile(target(g), type, `graph.${ending}`)}>{label}</button>)}</div></td>
            <td>{g.iri !== systemGraph && <button type="button" disabled={!!busy || !g.count} aria-label={`Delete ${name}`} onClick={() => clear(name, g.count, target(g))}>Delete …</button>}</td>
          </tr>;
        })}</tbody>
      </table>
    </div>}
    <div class="bar">
      <button type="button" disabled={!!busy} onClick={() => fetchFile("triples", "application/n-quads", "store.nq")}>Export everything as N-Quads</button>
      <button type="button" disabled={!!busy} onClick={() => clear("everything", undefined, "sparql")}>Delete everything …</button>
    </div>
  </section>;
}

function Names({ title, all }: { title: string; all?: Named[] }) {
  const [more, setMore] = useState(false);
  const some = more ? all : all?.slice(0, 30);
  return <section aria-label={title}>
    <h2>{title}{all && ` (${amount(all.length)})`}</h2>
    {some?.length === 0 && <p class="dim">none yet</p>}
    {!!some?.length && <table class="plain">
      <thead><tr><th scope="col">Name</th><th scope="col">Triples</th></tr></thead>
      <tbody>{some.map(n => <tr key={n.iri}><td><a href={address("browse", n.iri)} title={n.iri}>{shorten(n.iri)}</a></td><td class="number">{n.exact === false && "about "}{n.count?.toLocaleString()}</td></tr>)}</tbody>
    </table>}
    {!more && !!all && all.length > 30 && <button type="button" onClick={() => setMore(true)}>Show all</button>}
  </section>;
}
