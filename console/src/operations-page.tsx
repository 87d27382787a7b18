// What the node does: queries and requests over time, the queries that run, subscriptions, update functions.

import { useEffect, useState } from "preact/hooks";
import { Failure, ask, emit, json, message } from "./api";
import { confirmed } from "./dialogs";
import { Figures, amount, bytes, duration } from "./figures";
import { lazy } from "./lazy";
import { useLoad } from "./load";
import { Queries } from "./queries";

const Plot = lazy(() => import("./plot"));

const maxSamples = 300;

type Metrics = Record<string, number>;

// readMetrics adds up the series of each name.
async function readMetrics(signal: AbortSignal): Promise<Metrics> {
  const all: Metrics = { at: Date.now() / 1000 };
  for (const line of (await (await ask("metrics", { signal })).text()).split("\n")) {
    const found = /^([a-z_]+)(?:\{.*\})? (\S+)$/.exec(line);
    if (found) all[found[1]] = (all[found[1]] ?? 0) + Number(found[2]);
  }
  return all;
}

export function OperationsPage() {
  const metrics = useLoad(readMetrics, [], 2000);
  const [samples, setSamples] = useState<Metrics[]>([]);
  useEffect(() => {
    if (metrics.value) setSamples(now => [...now, metrics.value!].slice(-maxSamples));
  }, [metrics.value]);
  const m = metrics.value;
  return <>
    <h2>This node</h2>
    {metrics.error && <p role="alert" class="error">{metrics.error}</p>}
    {m && <Figures all={[
      ["Queries and updates that run", amount(m.trefoil_sparql_running ?? 0)], ["Of them waiting", amount(m.trefoil_sparql_waiting ?? 0)], ["Their memory", bytes(m.trefoil_sparql_bytes ?? 0)],
      ["Requests being answered", amount(m.trefoil_http_requests_in_flight ?? 0)], ["Memory of the process", bytes(m.process_resident_memory_bytes ?? 0)],
      ["Up for", m.process_start_time_seconds && duration(m.at - m.process_start_time_seconds)], ["Queries since the start", amount(m.trefoil_sparql_operations_total ?? 0)],
      ["Writes that were refused", amount(m.trefoil_store_writes_refused_total ?? 0)],
    ]} />}
    {samples.length > 2 && <div class="halves">
      <Rates title="Queries and updates a second" samples={samples} names={{ "queries and updates": "trefoil_sparql_operations_total" }} />
      <Rates title="Rows a second" samples={samples} names={{ read: "trefoil_sparql_rows_read_total", answered: "trefoil_sparql_rows_total" }} />
      <Rates title="Triples written a second" samples={samples} names={{ added: "trefoil_store_triples_added_total", deleted: "trefoil_store_triples_deleted_total", loaded: "trefoil_store_triples_loaded_total" }} />
      <section><h3>Memory</h3><Plot title="memory in MiB" time x={samples.map(s => s.at)} series={[{ label: "process, MiB", values: samples.map(s => (s.process_resident_memory_bytes ?? 0) / 2 ** 20) },
        { label: "queries, MiB", values: samples.map(s => (s.trefoil_sparql_bytes ?? 0) / 2 ** 20) }]} /></section>
    </div>}
    <Queries />
    <Registered title="Subscriptions" path="subscriptions" />
    <Registered title="Update functions" path="functions" />
  </>;
}

// Rates shows how fast counters grow.
function Rates({ title, samples, names }: { title: string; samples: Metrics[]; names: Record<string, string> }) {
  const later = samples.slice(1);
  return <section><h3>{title}</h3><Plot title={title} time x={later.map(s => s.at)} series={Object.entries(names).map(([label, name]) => ({
    label, values: later.map((s, i) => Math.max(((s[name] ?? 0) - (samples[i][name] ?? 0)) / (s.at - samples[i].at || 1), 0)),
  }))} /></section>;
}

interface Item { name: string; filter?: Record<string, string>; url?: string; mode?: string; pattern?: string; kinds?: string[]; state?: Record<string, unknown> }

function Registered({ title, path }: { title: string; path: "subscriptions" | "functions" }) {
  const all = useLoad(async signal => {
    try {
      return (await json<Record<string, Item[]>>(path, { signal }))[path] ?? [];
    } catch (err) {
      if (err instanceof Failure && err.status === 404) return null; // this node has none
      throw err;
    }
  }, [], 10_000);
  const [error, setError] = useState("");
  const remove = async (name: string) => {
    setError("");
    if (!await confirmed(`Delete ${name}?`, "It cannot be undone here.", "Delete")) return;
    await ask(`${path}/${encodeURIComponent(name)}`, { method: "DELETE" }).then(() => emit("data"), err => setError(message(err)));
  };
  const text = (v: unknown) => typeof v === "object" && v ? Object.entries(v).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ") : String(v ?? "");
  if (all.value === null) return null;
  return <section aria-label={title}>
    <h2>{title}</h2>
    {(error || all.error) && <p role="alert" class="error">{error || all.error}</p>}
    {all.value?.length === 0 && <p class="dim">none</p>}
    {!!all.value?.length && <table class="plain">
      <thead><tr><th scope="col">Name</th><th scope="col">Selects</th><th scope="col">State</th><td /></tr></thead>
      <tbody>{all.value.map(item => <tr key={item.name}>
        <th scope="row">{item.name}</th><td>{item.filter ? text(item.filter) : `${item.mode} ${item.pattern} ${item.kinds?.join(", ") ?? ""}`}{item.url && ` to ${item.url}`}</td><td>{text(item.state)}</td>
        <td><button type="button" aria-label={`Delete ${item.name}`} onClick={() => remove(item.name)}>Delete …</button></td>
      </tr>)}</tbody>
    </table>}
  </section>;
}
