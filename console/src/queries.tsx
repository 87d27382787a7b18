// The queries that run at all members of the cluster, or at this node alone, with a button to stop each, and the slow ones of the last time.

import { useState } from "preact/hooks";
import { Failure, ask, json, message } from "./api";
import { amount, bytes, duration } from "./figures";
import { useLoad } from "./load";

interface Query { id: string; machine?: string; node?: string; kind: string; text: string; user: string; start: string; milliseconds: number; rows: number; memory: number }
interface Slow extends Query { bytes: number; status: number }

// Times below ten seconds are in milliseconds.
const took = (ms: number) => ms < 10_000 ? `${ms.toLocaleString()} ms` : duration(ms / 1000);

// Absent is a member whose part an answer lacks.
export interface Absent { machine: string; node: string; error: string }

export function AbsentMembers({ all, what }: { all?: Absent[]; what: string }) {
  return <>{all?.map(m => <p key={m.machine} role="alert" class="error">{what} of {m.node} {what.endsWith("s") ? "are" : "is"} missing: {m.error}</p>)}</>;
}

export function Queries() {
  const all = useLoad(async signal => {
    try {
      return await json<{ running: Query[]; slow: Slow[]; absent?: Absent[] }>("queries", { signal, quiet: true });
    } catch (err) {
      if (err instanceof Failure && err.status === 401) return null; // not an operator
      throw err;
    }
  }, [], 1000);
  const [error, setError] = useState("");
  const stop = async ({ id }: Query) => {
    setError("");
    // A query that has ended meanwhile needs no stop.
    await ask(`queries/${id}`, { method: "DELETE" }).catch(err => { if (!(err instanceof Failure && err.status === 404)) setError(message(err)); });
    all.again();
  };
  if (all.value === null) return <p class="dim">The list of queries needs the operators' token.</p>;
  return <>
    <section aria-label="Running queries">
      <h2>Running queries</h2>
      <AbsentMembers all={all.value?.absent} what="The queries" />
      {(error || all.error) && <p role="alert" class="error">{error || all.error}</p>}
      {all.value?.running.length === 0 && <p class="dim">none</p>}
      {!!all.value?.running.length && <div class="wide" tabIndex={0} role="region" aria-label="Table of running queries"><table class="plain">
        <thead><tr><th scope="col">Text</th><th scope="col">Node</th><th scope="col">Time</th><th scope="col">Rows</th><th scope="col">Memory</th><th scope="col">User</th><td /></tr></thead>
        <tbody>{all.value.running.map(q => <tr key={q.id}>
          <th scope="row"><Text of={q} /></th><td>{q.node}</td><td>{took(q.milliseconds)}</td><td>{amount(q.rows)}</td><td>{bytes(q.memory)}</td><td>{q.user}</td>
          <td><button type="button" aria-label={`Stop ${q.kind} ${q.id}`} onClick={() => stop(q)}>Stop</button></td>
        </tr>)}</tbody>
      </table></div>}
    </section>
    <section aria-label="Slow queries">
      <h2>Slow queries</h2>
      {all.value?.slow.length === 0 && <p class="dim">none</p>}
      {!!all.value?.slow.length && <div class="wide" tabIndex={0} role="region" aria-label="Table of slow queries"><table class="plain">
        <thead><tr><th scope="col">Text</th><th scope="col">Node</th><th scope="col">Began</th><th scope="col">Time</th><th scope="col">Rows</th><th scope="col">Answer</th><th scope="col">User</th></tr></thead>
        <tbody>{all.value.slow.map(q => <tr key={q.id}>
          <th scope="row"><Text of={q} /></th><td>{q.node}</td><td>{new Date(q.start).toLocaleString()}</td><td>{took(q.milliseconds)}</td><td>{amount(q.rows)}</td><td>{q.status}, {bytes(q.bytes)}</td><td>{q.user}</td>
        </tr>)}</tbody>
      </table></div>}
    </section>
  </>;
}

// Text shows the beginning of a text. The whole of it is behind a click, as far as the node keeps it.
function Text({ of: { kind, text } }: { of: Query }) {
  if (text.length < 100 && !text.includes("\n")) return <><span class="dim">{kind}</span> <code>{text}</code></>;
  return <details><summary><span class="dim">{kind}</span> <code>{text.replace(/\s+/g, " ").slice(0, 100)}</code></summary><pre>{text}</pre></details>;
}
