// Parts of the page that are loaded when they are shown.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function lazy<P extends object>(load: () => Promise<{ default: ComponentType<P> }>): ComponentType<P> {
  return function Lazy(props: P) {
    const [state, setState] = useState<{ part?: ComponentType<P>; error?: string }>({});
    useEffect(() => {
      load().then(m => setState({ part: m.default }), () => setState({ error: "This part of the page cannot be loaded. The node may have been updated: reload the page." }));
    }, []);
    if (state.error) return <p role="alert" class="error">{state.error}</p>;
    return state.part ? <state.part {...props} /> : <p class="dim">…</p>;
  };
}
