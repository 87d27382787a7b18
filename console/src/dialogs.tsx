// Dialogs: a question, a text, the token. They are elements of the browser, which keep the focus inside.

import { render, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { events, getToken, setToken } from "./api";

// open shows a dialog until it is closed, and returns the value that it was closed with.
function open(content: (close: (value: string) => void) => ComponentChildren, label: string): Promise<string> {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", label);
  document.body.append(dialog);
  const back = document.activeElement as HTMLElement | null;
  render(<>{content(value => dialog.close(value))}</>, dialog);
  dialog.showModal();
  return new Promise(resolve => dialog.addEventListener("close", () => {
    render(null, dialog);
    dialog.remove();
    back?.focus();
    resolve(dialog.returnValue);
  }));
}

// confirmed asks before something that cannot be undone. If word is set, it must be typed first.
export async function confirmed(title: string, text: ComponentChildren, yes: string, word?: string): Promise<boolean> {
  const value = await open(close => <Question title={title} text={text} yes={yes} word={word} close={close} />, title);
  return value === "yes";
}

function Question({ title, text, yes, word, close }: { title: string; text: ComponentChildren; yes: string; word?: string; close: (v: string) => void }) {
  const [typed, setTyped] = useState("");
  return <form onSubmit={e => { e.preventDefault(); if (!word || typed === word) close("yes"); }}>
    <h2>{title}</h2>
    <div class="dialog-text">{text}</div>
    {word && <label>Type <b>{word}</b> to go on <input value={typed} autocomplete="off" onInput={e => setTyped(e.currentTarget.value)} /></label>}
    <div class="bar">
      <button class="danger" disabled={!!word && typed !== word}>{yes}</button>
      <button type="button" onClick={() => close("")}>Cancel</button>
    </div>
  </form>;
}

// prompted asks for a text. It returns "" if the user cancels.
export async function prompted(title: string, label: string, text: string, value: string, yes: string): Promise<string> {
  return open(close => <Prompt title={title} label={label} text={text} value={value} yes={yes} close={close} />, title);
}

function Prompt({ title, label, text, value, yes, close }: { title: string; label: string; text: string; value: string; yes: string; close: (v: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current!.select(), []);
  return <form onSubmit={e => { e.preventDefault(); close(input.current!.value.trim()); }}>
    <h2>{title}</h2>
    <p class="dialog-text">{text}</p>
    <label class="grow">{label} <input ref={input} defaultValue={value} required maxLength={200} autocomplete="off" /></label>
    <div class="bar">
      <button class="first">{yes}</button>
      <button type="button" onClick={() => close("")}>Cancel</button>
    </div>
  </form>;
}

export const showText = (title: string, text: string) => open(close => <>
  <h2>{title}</h2>
  <pre tabIndex={0} class="dialog-text">{text}</pre>
  <div class="bar">
    <button type="button" onClick={() => close("")}>Close</button>
    {navigator.clipboard && <button type="button" onClick={() => navigator.clipboard.writeText(text)}>Copy</button>}
  </div>
</>, title);

// TokenLine asks for the token when the node has refused a request.
export function TokenLine() {
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const refused = (e: Event) => setText((e as CustomEvent<string>).detail);
    events.addEventListener("token", refused);
    return () => events.removeEventListener("token", refused);
  }, []);
  if (!text) return null;
  return <form class="token" onSubmit={e => {
    e.preventDefault();
    setText("");
    setToken(input.current!.value.trim());
  }}>
    <span role="alert">{text}</span>
    <label>Token <input ref={input} type="password" autocomplete="current-password" /></label>
    <button class="first">Use it</button>
    {getToken() && <button type="button" onClick={() => { setText(""); setToken(""); }}>Forget the old one</button>}
  </form>;
}
