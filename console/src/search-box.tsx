// The search box: a combobox with completions, and the filters of a search.

import { useEffect, useRef, useState } from "preact/hooks";
import { aborted, message } from "./api";
import { shorten } from "./prefixes";
import { address } from "./route";
import { parts, suggest, type Filter, type IndexStatus, type Suggestion } from "./search";
import { shown } from "./terms";

const delay = 150; // milliseconds from the last key to the request

export const searchAddress = (text: string, filter: Filter) => address("search", text, { p: filter.p, lang: filter.lang });

// Snippet shows a part of a literal with the words of the query marked. Its text is never taken for HTML.
export const Snippet = ({ text }: { text: string }) => <bdi>{parts(text).map((part, i) => i % 2 ? <mark key={i}>{part}</mark> : part)}</bdi>;

// addressOf is the page of the subject that a suggestion names.
const addressOf = (s: Suggestion & { kind: "subject" }) => address("browse", s.subject.type === "bnode" ? "_:" + s.subject.value : s.subject.value);

export function SearchBox({ text, filter, index }: { text?: string; filter: Filter; index?: IndexStatus }) {
  const [value, setValue] = useState(text ?? ""), [mine, setMine] = useState(filter);
  const [found, setFound] = useState<Suggestion[]>([]), [active, setActive] = useState(-1), [note, setNote] = useState("");
  const [typed, setTyped] = useState<string>(); // what suggestions are wanted for
  const input = useRef<HTMLInputElement>(null), list = useRef<HTMLUListElement>(null);
  const close = () => { setTyped(undefined); setFound([]); setActive(-1); setNote(""); };
  const type = (text: string) => { setValue(text); setTyped(text); setActive(-1); };
  useEffect(() => { setValue(text ?? ""); setMine(filter); close(); }, [text, filter.p, filter.lang]);

  // A newer text ends the request of an older one.
  useEffect(() => {
    if (!typed?.trim()) { setFound([]); setNote(""); return; }
    const control = new AbortController();
    const timer = setTimeout(() => suggest(typed, mine, control.signal).then(all => {
      setFound(all);
      setNote(all.length ? `${all.length} suggestions; the arrow keys go through them, Enter without a choice shows all results.` : "Nothing begins so.");
    }, err => { if (!aborted(err)) { setFound([]); setNote(message(err)); } }), delay);
    return () => { clearTimeout(timer); control.abort(); };
  }, [typed, mine.p, mine.lang]);
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active]);

  const go = (text: string, filter: Filter) => { close(); if (text.trim()) location.hash = searchAddress(text.trim(), filter); };
  const choose = (s: Suggestion) => {
    if (s.kind === "word") { input.current!.focus(); return type(s.text); }
    close();
    location.hash = addressOf(s);
  };
  // narrow changes a filter, and the results if they are shown.
  const narrow = (change: Filter) => {
    const next = { ...mine, ...change };
    setMine(next);
    if (text !== undefined) go(value, next);
  };
  const key = (e: KeyboardEvent) => {
    const n = found.length;
    if (e.isComposing) return;
    if (e.key === "ArrowDown" && n) setActive((active + 1) % n);
    else if (e.key === "ArrowDown") return setTyped(value);
    else if (e.key === "ArrowUp" && n) setActive((active <= 0 ? n : active) - 1);
    else if (e.key === "Enter" && active >= 0) choose(found[active]);
    else if (e.key === "Escape") n || note ? close() : setValue("");
    else return;
    e.preventDefault();
  };
  const open = found.length > 0;
  return <form class="search" role="search" aria-label="Text" onSubmit={e => { e.preventDefault(); go(value, mine); }}>
    <div class="bar">
      <div class="grow combobox">
        <label for="search">Words</label>
        <input id="search" ref={input} role="combobox" aria-expanded={open} aria-controls="suggestions" aria-autocomplete="list" aria-activedescendant={active >= 0 ? `suggestion-${active}` : undefined}
          aria-describedby="search-note" autocomplete="off" autocapitalize="off" spellcheck={false} value={value} placeholder={'graph AND (store OR "data base") -relational'}
          onInput={e => type(e.currentTarget.value)} onKeyDown={key} onBlur={close} />
        <ul id="suggestions" ref={list} role="listbox" aria-label="Suggestions" hidden={!open}>
          {found.map((s, i) => <li key={i} id={`suggestion-${i}`} role="option" aria-selected={i === active}
            onMouseDown={e => e.preventDefault()} onClick={() => choose(s)}>
            {s.kind === "word" ? <><b>{s.word}</b> <span class="dim">word</span></>
              : <><Snippet text={s.snippet} /> <span class="dim">{shorten(s.predicate)} of {shown(s.subject)}{s.others && " and others"}</span></>}
          </li>)}
        </ul>
      </div>
      <label>Predicate <select value={mine.p ?? ""} onChange={e => narrow({ p: e.currentTarget.value || undefined })}>
        <option value="">all that are indexed</option>
        {[...new Set([...index?.predicates.map(p => p.predicate) ?? [], ...mine.p ? [mine.p] : []])].map(p => <option key={p} value={p}>{shorten(p)}</option>)}
      </select></label>
      <label>Language <input class="short" list="languages" value={mine.lang ?? ""} placeholder="any" autocapitalize="off" spellcheck={false} title="A tag such as en, or none for literals without a language"
        onChange={e => narrow({ lang: e.currentTarget.value.trim() || undefined })} /></label>
      <datalist id="languages">{["none", ...new Set(navigator.languages.map(l => l.split("-")[0]))].map(l => <option key={l} value={l} />)}</datalist>
      <button class="first">Search</button>
    </div>
    <p id="search-note" class="status" role="status">{note}</p>
  </form>;
}
