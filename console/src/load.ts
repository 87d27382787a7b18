// Requests of a view: they end when the view goes, and run again after a change or a new token.

import { useEffect, useReducer, useState } from "preact/hooks";
import { aborted, events, message } from "./api";

export interface Loaded<T> { value?: T; error?: string; again: () => void }

// With every the request is repeated after so many milliseconds, while the page is in sight.
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, inputs: unknown[], every?: number): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: string }>({});
  const [turn, again] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    events.addEventListener("data", again as () => void);
    events.addEventListener("signed-in", again as () => void);
    return () => {
      events.removeEventListener("data", again as () => void);
      events.removeEventListener("signed-in", again as () => void);
    };
  }, []);
  useEffect(() => setState({}), inputs);
  useEffect(() => {
    const control = new AbortController();
    let timer = 0;
    const next = () => {
      if (every && !control.signal.aborted) timer = setTimeout(() => document.hidden ? next() : again(undefined as never), every);
    };
    load(control.signal).then(value => setState({ value }), err => { if (!aborted(err)) setState(now => ({ ...every ? now : {}, error: message(err) })); }).finally(next);
    return () => { control.abort(); clearTimeout(timer); };
  }, [...inputs, turn]);
  return { ...state, again: () => again(undefined as never) };
}
