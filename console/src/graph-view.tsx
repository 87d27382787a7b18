// An answer as a graph: resources and values as nodes. It is loaded when it is wanted, because its library is large.

import { useEffect, useRef, useState } from "preact/hooks";
import cytoscape from "cytoscape";
import type { Term } from "./api";
import { colour } from "./colour";
import { address } from "./route";
import { nt, parseTerm, shown } from "./terms";

const maxEdges = 500;

interface Edge { from: Term; to: Term; label: string }

// edgesOf reads each row as an edge: subject, predicate and object if the second column is an IRI, else the first two columns.
function edgesOf(rows: string[]): Edge[] {
  const edges: Edge[] = [];
  for (const row of rows) {
    const [a, b, c] = row.split("\t").map(parseTerm);
    if (a && a.type !== "literal" && b?.type === "uri" && c) edges.push({ from: a, to: c, label: shown(b) });
    else if (a && a.type !== "literal" && b) edges.push({ from: a, to: b, label: "" });
    if (edges.length === maxEdges) break;
  }
  return edges;
}

// The library writes a style element unless there is one with this ID; the page's policy forbids it. Its rule is in style.css.
function standIn() {
  if (document.getElementById("__________cytoscape_stylesheet")) return;
  const meta = document.createElement("meta");
  meta.id = "__________cytoscape_stylesheet";
  document.head.append(meta);
}

// brief cuts a label: an IRI from the left, because its end tells it from others.
function brief(t: Term): string {
  const text = shown(t);
  return text.length <= 28 ? text : t.type === "uri" ? "…" + text.slice(-24) : text.slice(0, 27) + "…";
}

export default function GraphView({ rows }: { rows: string[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ nodes: 0, edges: 0 });
  useEffect(() => {
    standIn();
    const edges = edgesOf(rows), nodes = new Map<string, Term>();
    for (const e of edges) nodes.set(nt(e.from), e.from).set(nt(e.to), e.to);
    setSize({ nodes: nodes.size, edges: edges.length });
    const text = colour("--text"), dim = colour("--dim"), accent = colour("--accent"), field = colour("--field");
    const graph = cytoscape({
      container: box.current!,
      elements: [
        ...[...nodes].map(([id, t]) => ({ data: { id, label: brief(t), literal: t.type === "literal" ? 1 : 0, argument: t.type === "bnode" ? "_:" + t.value : t.value } })),
        ...edges.map((e, i) => ({ data: { id: `edge ${i}`, source: nt(e.from), target: nt(e.to), label: e.label } })),
      ],
      style: [
        { selector: "node", style: { label: "data(label)", color: text, "background-color": accent, "font-size": 11, width: 16, height: 16, "text-valign": "bottom", "text-margin-y": 3, "text-outline-color": field, "text-outline-width": 2 } },
        { selector: "node[literal = 1]", style: { shape: "rectangle", "background-color": dim, width: 10, height: 10 } },
        { selector: "edge", style: { label: "data(label)", color: dim, "font-size": 9, width: 1.5, "line-color": dim, "target-arrow-color": dim, "target-arrow-shape": "triangle", "curve-style": "bezier", "text-rotation": "autorotate", "text-outline-color": field, "text-outline-width": 2 } },
      ],
      layout: { name: nodes.size > 150 ? "concentric" : "cose", animate: false },
    });
    graph.on("tap", "node[literal = 0]", e => { location.hash = address("browse", e.target.data("argument")); });
    return () => graph.destroy();
  }, [rows]);
  const text = `${size.nodes} nodes and ${size.edges} edges`;
  return <>
    <div ref={box} class="graph" role="img" aria-label={`Graph of ${text}. The table has the same data.`} />
    <p class="dim">{text}{size.edges === maxEdges && `, the first ones`}. A click on a resource opens its page.</p>
  </>;
}
