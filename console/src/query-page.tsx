// The query page: tabs, the editor, what runs, and its answer.

import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { Failure, aborted, emit, message } from "./api";
import { completer } from "./completion";
import { confirmed, prompted } from "./dialogs";
import { Editor } from "./editor";
import { addRun, clearHistory, readHistory, readTabs, storeTabs, type Tab } from "./keep";
import { useLoad } from "./load";
import { declared, setCurrent, stored } from "./prefixes";
import { Results } from "./results";
import { address, replace } from "./route";
import { explain, query, update, type Answer } from "./run";
import { readSaved, saveQuery } from "./saved";
import type { Schema } from "./schema";
import { Sidebar } from "./sidebar";
import { firstText, isUpdate, undeclared } from "./sparql";

// Work is what a tab has run last.
interface Work { text: string; begun: number; took?: number; control?: AbortController; answer?: Answer; error?: string; stopped?: boolean }

// A longer text does not become the address of the page: browsers have limits.
const maxLink = 100_000;

type Mode = "run" | "explain" | "explain-run";

export function QueryPage({ asked, schema }: { asked?: string; schema: Schema | null }) {
  const [{ tabs, active }, setTabs] = useState(readTabs);
  const [history, setHistory] = useState(readHistory);
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(null);
  const states = useRef(new Map<number, Editor["view"]["state"]>());
  const works = useRef(new Map<number, Work>());
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const work = works.current.get(active);
  const saved = useLoad(readSaved, []);
  const [said, setSaid] = useState("");

  // The editor lives longer than a rendering, so it calls what the last one left here.
  const latest = useRef({ run: (_: Mode) => {}, changed: (_: string) => {}, schema });
  latest.current.schema = schema;
  latest.current.changed = text => setTabs(now => ({ ...now, tabs: now.tabs.map(t => t.id === now.active ? { ...t, text } : t) }));

  useLayoutEffect(() => storeTabs(tabs, active), [tabs, active]);
  useEffect(() => {
    editor.current = new Editor(host.current!, tabs.find(t => t.id === active)?.text ?? firstText, {
      changed: text => latest.current.changed(text),
      run: () => latest.current.run("run"),
      complete: completer(() => latest.current.schema),
    });
    return () => editor.current!.view.destroy();
  }, []);

  // A link to a query fills the editor and runs it. If it is there already, as after a step back, its answer is too.
  useEffect(() => {
    if (asked === undefined || !editor.current || works.current.get(active)?.text === asked) return;
    if (editor.current.text !== asked) editor.current.replace(asked);
    latest.current.run("run");
  }, [asked]);

  const running = !!work?.control;
  useTick(running, redraw);

  latest.current.run = async mode => {
    declareUsed();
    const text = editor.current!.text, id = active, changes = isUpdate(text);
    works.current.get(id)?.control?.abort();
    editor.current!.unmark();
    if (changes && mode === "run" && !await confirmed("Change the data?", <>
      <p>This update changes the data of the node. It cannot be undone here.</p><pre tabIndex={0}>{text.slice(0, 2000)}</pre></>, "Run the update")) return;
    const mine: Work = { text, begun: performance.now(), control: new AbortController() };
    works.current.set(id, mine);
    setCurrent(declared(text));
    if (mode === "run" && text.length <= maxLink && address("query", text) !== location.hash) window.history.pushState(null, "", address("query", text));
    redraw(undefined as never);
    const signal = mine.control!.signal;
    try {
      mine.answer = mode !== "run" ? await explain(text, mode === "explain-run", signal)
        : changes ? await update(text, signal)
          : await query(text, signal, answer => { mine.answer = answer; });
    } catch (err) {
      fail(mine, err, works.current.get(id) === mine && id === active);
    }
    mine.took = performance.now() - mine.begun;
    mine.control!.abort(); // hangs up if the answer was not read to its end
    mine.control = undefined;
    if (changes && mode === "run" && !mine.stopped) emit("data"); // also after an error: a part may be done
    if (mode === "run") setHistory(now => addRun(now, { text, at: Date.now(), result: summary(mine) }));
    redraw(undefined as never);
  };

  // declareUsed declares the known prefixes that the text uses, because SPARQL has no others.
  const declareUsed = () => {
    const text = editor.current!.text, own = declared(text), all = stored();
    const lines = undeclared(text, own, all).map(name => `PREFIX ${name}: <${all[name]}>\n`).join("");
    if (lines) editor.current!.view.dispatch({ changes: { from: 0, insert: lines } });
  };

  // fail keeps an error, and marks its place if its text is still in the editor.
  const fail = (mine: Work, err: unknown, visible: boolean) => {
    if (aborted(err)) {
      mine.stopped = true;
      return;
    }
    mine.error = message(err);
    if (err instanceof Failure && err.line) {
      mine.error = `Line ${err.line}, column ${err.column}: ${mine.error}`;
      if (visible && editor.current!.text === mine.text) editor.current!.mark(err.line, err.column, err.message);
    }
  };

  const use = (text: string, name?: string) => {
    editor.current!.replace(text);
    if (name) rename(active, name);
    latest.current.run("run");
  };
  // save stores the text of the editor by a name, which becomes the name of the tab.
  const save = async () => {
    setSaid("");
    const text = editor.current!.text, id = active;
    const name = await prompted("Save the query", "Name", "The query is stored as triples, so others see it. If the node takes no change from you, it is kept in this browser.", tabs.find(t => t.id === id)!.name, "Save");
    if (!name) return;
    const before = saved.value?.find(q => q.name === name);
    if (before && before.text !== text && !await confirmed(`Replace ${name}?`, <pre tabIndex={0}>{before.text.slice(0, 2000)}</pre>, "Replace")) return;
    try {
      const refusal = await saveQuery(name, text);
      setSaid(refusal ? `Kept in this browser, because the node refused: ${refusal}` : "Saved in the store.");
      rename(id, name);
    } catch (err) {
      setSaid(message(err));
    }
    saved.again();
  };
  const show = (id: number, all: Tab[]) => {
    states.current.set(active, editor.current!.view.state);
    editor.current!.view.setState(states.current.get(id) ?? editor.current!.newState(all.find(t => t.id === id)!.text));
    setTabs({ tabs: all, active: id });
    replace("query", works.current.get(id)?.text);
  };
  const add = () => {
    const id = Math.max(...tabs.map(t => t.id)) + 1;
    show(id, [...tabs, { id, name: `Query ${id}`, text: firstText }]);
  };
  const close = (id: number) => {
    works.current.get(id)?.control?.abort();
    const rest = tabs.filter(t => t.id !== id);
    if (id === active) show(rest[0].id, rest);
    else setTabs({ tabs: rest, active });
  };
  const rename = (id: number, name: string) => setTabs(now => ({ ...now, tabs: now.tabs.map(t => t.id === id ? { ...t, name } : t) }));

  return <div class="columns">
    <section aria-label="Query">
      <Tabs tabs={tabs} active={active} show={id => show(id, tabs)} add={add} close={close} rename={rename} />
      <div ref={host} class="editor" data-testid="editor" />
      <div class="bar">
        <button type="button" class="first" title="Ctrl+Enter" onClick={() => latest.current.run("run")}>Run</button>
        <button type="button" disabled={!running} onClick={() => work?.control?.abort()}>Stop</button>
        <button type="button" title="Shows the plan, and runs nothing" onClick={() => latest.current.run("explain")}>Explain</button>
        <button type="button" title="Runs the query and shows what each step did" onClick={() => latest.current.run("explain-run")}>Explain with a run</button>
        <button type="button" onClick={save}>Save …</button>
        <CopyLink text={() => editor.current!.text} />
        <span role="status" class="dim link-text">{said}</span>
      </div>
      <p role="status" class="status">{work ? summary(work) : "Ctrl+Enter runs the query."}</p>
      {work?.error && <p role="alert" class="error">{work.error}</p>}
      {work?.answer && <Results key={`${active} ${work.begun}`} answer={work.answer} text={work.text} ended={!running && !work.error && !work.stopped} />}
    </section>
    <Sidebar schema={schema} saved={saved} history={history} use={use} forget={() => setHistory(clearHistory())} />
  </div>;
}

// useTick draws again while something runs, for the time and the rows.
function useTick(running: boolean, redraw: (n: never) => void) {
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => redraw(undefined as never), 200);
    return () => clearInterval(timer);
  }, [running]);
}

const seconds = (ms: number) => ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
const things = (n: number, one: string) => `${n.toLocaleString()} ${n === 1 ? one : one + "s"}`;

// summary says in a line how the work stands.
function summary(w: Work): string {
  const a = w.answer, time = seconds(w.took ?? performance.now() - w.begun);
  const count = a && (a.kind === "rows" || a.kind === "triples") ? things(a.rows.length, a.kind === "rows" ? "row" : "triple") : "";
  if (w.control) return `Running … ${count ? count + ", " : ""}${time}`;
  if (w.stopped) return `Stopped after ${time}${count && `; ${count} had arrived`}`;
  if (w.error) return `Failed after ${time}${count && `; ${count} had arrived`}`;
  switch (a?.kind) {
    case "rows": case "triples": return a.more ? `The first ${count}; there are more (${time})` : `${count} (${time})`;
    case "boolean": return `Answered (${time})`;
    case "updated": return a.repeated ? `Done before (${time})` : `Done: ${a.added.toLocaleString()} added, ${a.deleted.toLocaleString()} deleted (${time})`;
    case "plan": return a.explanation.ran ? `The plan, and what a run did (${time})` : `The plan (${time})`;
    default: return "";
  }
}

interface TabsProps { tabs: Tab[]; active: number; show: (id: number) => void; add: () => void; close: (id: number) => void; rename: (id: number, name: string) => void }

function Tabs({ tabs, active, show, add, close, rename }: TabsProps) {
  const current = tabs.find(t => t.id === active)!;
  return <div class="bar tabs">
    <div class="segments" role="group" aria-label="Queries">
      {tabs.map(t => <button key={t.id} type="button" aria-pressed={t.id === active} onClick={() => show(t.id)}>{t.name}</button>)}
      <button type="button" aria-label="New query" title="New query" onClick={add}>+</button>
    </div>
    <label class="name">Name <input size={12} value={current.name} onChange={e => rename(active, e.currentTarget.value || current.name)} /></label>
    {tabs.length > 1 && <button type="button" onClick={() => close(active)}>Close {current.name}</button>}
  </div>;
}

// CopyLink copies a link that fills the editor and runs the query. Without a clipboard it shows the link.
function CopyLink({ text }: { text: () => string }) {
  const [said, setSaid] = useState("");
  return <>
    <button type="button" onClick={async () => {
      const link = new URL(address("query", text()), location.href).href;
      setSaid(await navigator.clipboard?.writeText(link).then(() => "The link is in the clipboard.", () => link) ?? link);
    }}>Copy link</button>
    <span role="status" class="dim link-text">{said}</span>
  </>;
}
