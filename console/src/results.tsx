// An answer: as a table, as text, as a graph, as a chart, and as a file.

import { useState } from "preact/hooks";
import { aborted, message, save } from "./api";
import { declared } from "./prefixes";
import { formatsOf, turtle, write, type Format } from "./formats";
import { PlanView } from "./plan";
import { stream, type Answer } from "./run";
import { Table } from "./table";
import { lazy } from "./lazy";
import { numberOf, parseTerm } from "./terms";

const GraphView = lazy(() => import("./graph-view"));
const ChartView = lazy(() => import("./chart-view"));

const maxRawRows = 2000;

type Look = "table" | "raw" | "graph" | "chart";

export function Results({ answer, text, ended }: { answer: Answer; text: string; ended: boolean }) {
  const [look, setLook] = useState<Look>("table");
  switch (answer.kind) {
    case "boolean": return <>
      <p class="boolean">{answer.value ? "yes" : "no"}</p>
      <Downloads answer={answer} text={text} />
    </>;
    case "updated": return null;
    case "plan": return <PlanView explanation={answer.explanation} />;
  }
  const first = answer.rows.slice(0, 50).map(row => row.split("\t").map(parseTerm));
  const looks: [Look, string][] = [["table", "Table"], ["raw", "Raw"]];
  if (first.some(([a, b]) => a && a.type !== "literal" && b)) looks.push(["graph", "Graph"]);
  if (answer.kind === "rows" && first.some(row => row.some(t => numberOf(t) !== undefined))) looks.push(["chart", "Chart"]);
  return <>
    <div class="bar">
      <div role="group" aria-label="View of the result" class="segments">
        {looks.map(([name, label]) => <button key={name} type="button" aria-pressed={look === name} onClick={() => setLook(name)}>{label}</button>)}
      </div>
      {ended && <Downloads answer={answer} text={text} />}
    </div>
    {look === "table" && <Table vars={answer.vars} rows={answer.rows} />}
    {look === "graph" && <GraphView rows={answer.rows} />}
    {look === "chart" && <ChartView vars={answer.vars} rows={answer.rows} />}
    {look === "raw" && <Raw vars={answer.vars} rows={answer.rows} triples={answer.kind === "triples"} text={text} />}
  </>;
}

function Raw({ vars, rows, triples, text }: { vars: string[]; rows: string[]; triples: boolean; text: string }) {
  const some = rows.slice(0, maxRawRows);
  const content = triples ? turtle(some, declared(text)).join("") : [vars.map(v => "?" + v).join("\t"), ...some].join("\n");
  return <>
    <pre class="raw" tabIndex={0} role="region" aria-label="Result as text">{content}</pre>
    {rows.length > maxRawRows && <p class="dim">The first {maxRawRows.toLocaleString()} of {rows.length.toLocaleString()}. A download has them all.</p>}
  </>;
}

// Downloads writes the answer that is here. The query runs again only if rows are missing, or if only the node has the format.
function Downloads({ answer, text }: { answer: Answer; text: string }) {
  const [status, setStatus] = useState("");
  const [running, setRunning] = useState<AbortController | null>(null);
  const download = async (f: Format) => {
    const here = write(answer, f, text);
    if (here) {
      save(here, "result." + f.ending);
      setStatus("");
      return;
    }
    const control = new AbortController();
    setRunning(control);
    setStatus("The node runs the query again for the file …");
    try {
      save(await stream(text, f.name, control.signal), "result." + f.ending);
      setStatus("");
    } catch (err) {
      setStatus(aborted(err) ? "Stopped." : message(err));
    }
    setRunning(null);
  };
  return <div class="bar" role="group" aria-label="Download">
    <span class="dim">Download</span>
    {formatsOf(answer).map(f => <button key={f.label} type="button" disabled={!!running} onClick={() => download(f)}>{f.label}</button>)}
    {running && <button type="button" onClick={() => running.abort()}>Stop</button>}
    <span role="status">{status}</span>
  </div>;
}
