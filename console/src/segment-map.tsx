// The map of segments and partitions: which machine owns which, and what moves.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { colour, resolved } from "./colour";
import { amount } from "./figures";

interface Segment { id: number; partition: number; from: string; until: string; order: string; last: string; owner: number; next?: number; state?: string }
export interface SegmentMap {
  epoch: number; total: number; moving: number; rebuilt: number; lost: number;
  machines: { id: string; partitions: number; segments: number }[]; partitions: number[]; segments: Segment[];
}

export const maxSegments = 5000;

// Neighbours in the list of machines get hues far apart.
const hue = (machine: number) => Math.round(150 + machine * 137.5) % 360;
const colourOf = (machine: number) => `light-dark(hsl(${hue(machine)} 50% 42%), hsl(${hue(machine)} 50% 65%))`;

export function MapView({ map: m, names }: { map: SegmentMap; names: Record<string, string> }) {
  const [at, setAt] = useState(0);
  const [only, setOnly] = useState<number | null>(null); // a machine whose cells are shown
  const name = (machine: number) => names[m.machines[machine].id] ?? `the excluded machine ${m.machines[machine].id}`;
  const index = Math.min(at, m.segments.length - 1), chosen = m.segments[index];
  const text = describe(chosen, name);
  const size = m.segments.length <= 300 ? 20 : m.segments.length <= 1500 ? 12 : 8;
  const orders = ["spo", "pos", "osp", "gspo"].map(order => ({ order, first: m.segments.findIndex(s => s.order === order), count: m.segments.filter(s => s.order === order).length })).filter(o => o.count);
  const inks: Inks = { machines: m.machines.map((_, i) => resolved(colourOf(i))), text: colour("--text"), warm: colour("--warm"), bad: colour("--bad") };
  return <section aria-labelledby="map">
    <h2 id="map">Segments and partitions</h2>
    <p>{amount(m.total)} {m.total === 1 ? "segment" : "segments"} in the order of their keys{m.total > m.segments.length && `, the first ${amount(m.segments.length)} of them`}. {changes(m)}</p>
    {orders.map(({ order, first, count }) => <div key={order} class="strip">
      <span class="dim">{order.toUpperCase()}</span>
      <Cells count={count} size={size} gap={size > 10 ? 2 : 1} pick={i => setAt(first + i)} label={`${amount(count)} ${count === 1 ? "segment that begins" : "segments that begin"} in order ${order.toUpperCase()}`}
        paint={(context, i, x, y, side) => {
          const s = m.segments[first + i];
          paintSegment(context, s, inks, x, y, side, only !== null && s.owner !== only && s.next !== only);
          if (first + i === index) outline(context, x, y, side, inks.text);
        }} />
    </div>)}
    <div class="bar">
      <label class="grow">Segment <input type="range" min={0} max={m.segments.length - 1} value={index} aria-valuetext={text} onInput={e => setAt(Number(e.currentTarget.value))} /></label>
    </div>
    <p class="segment">{text}</p>
    <h3>The {amount(m.partitions.length)} partitions</h3>
    <Cells count={m.partitions.length} size={6} gap={1} label={`Partitions: ${m.machines.map((v, i) => `${amount(v.partitions)} of ${name(i)}`).join(", ")}`}
      paint={(context, i, x, y, side) => {
        context.globalAlpha = only !== null && m.partitions[i] !== only ? 0.15 : 1;
        context.fillStyle = inks.machines[m.partitions[i]];
        context.fillRect(x, y, side, side);
        context.globalAlpha = 1;
        if (i === chosen?.partition) outline(context, x, y, side, inks.text);
      }} />
    <div class="wide" tabIndex={0} role="region" aria-label="Owners">
      <table class="plain">
        <thead><tr><th scope="col">Machine</th><th scope="col">Segments</th><th scope="col">Partitions</th><td /></tr></thead>
        <tbody>{m.machines.map((v, i) => <tr key={v.id}>
          <th scope="row"><span class="swatch" style={{ background: colourOf(i) }} /> {name(i)}</th><td class="number">{amount(v.segments)}</td><td class="number">{amount(v.partitions)}</td>
          <td>{m.machines.length > 1 && <button type="button" aria-pressed={only === i} onClick={() => setOnly(only === i ? null : i)}>Show only {name(i)}</button>}</td>
        </tr>)}</tbody>
      </table>
    </div>
  </section>;
}

// changes says in a line what moves.
function changes(m: SegmentMap): ComponentChildren {
  const all = [m.moving && `${amount(m.moving)} move to other machines`, m.rebuilt && `${amount(m.rebuilt)} have lost their owner and are rebuilt`, m.lost && `${amount(m.lost)} may have lost rows`].filter(Boolean);
  return all.length ? <span class="warm">{all.join(", ")}.</span> : "Each is whole on its machine.";
}

// describe says all of a segment in a line.
function describe(s: Segment | undefined, name: (machine: number) => string): string {
  if (!s) return "";
  const orders = (s.order === s.last ? `order ${s.order}` : `orders ${s.order} to ${s.last}`).toUpperCase().replace(/^ORDERS?/, text => text.toLowerCase()).replace(" TO ", " to ");
  const keys = s.from || s.until ? `from ${s.from || "the beginning"} until ${s.until || "the end"}` : "whole";
  const state = { moving: `; moves to ${name(s.next ?? s.owner)}`, rebuilt: `, which is gone; rebuilt on ${name(s.next ?? s.owner)}`, lost: "; some of its rows may be lost for good" }[s.state ?? ""] ?? "";
  return `Segment ${s.id}, ${orders}, ${keys}: partition ${s.partition} of ${name(s.owner)}${state}`;
}

interface Inks { machines: string[]; text: string; warm: string; bad: string }

function paintSegment(context: CanvasRenderingContext2D, s: Segment, inks: Inks, x: number, y: number, side: number, dim: boolean) {
  context.globalAlpha = dim ? 0.15 : 1;
  if (s.state !== "rebuilt") {
    context.fillStyle = inks.machines[s.owner];
    context.fillRect(x, y, side, side);
  }
  if (s.next !== undefined) { // the lower right half is the next owner's
    context.fillStyle = inks.machines[s.next];
    context.beginPath();
    context.moveTo(x + side, y);
    context.lineTo(x + side, y + side);
    context.lineTo(x, y + side);
    context.fill();
  }
  if (s.state === "rebuilt" || s.state === "lost") outline(context, x, y, side, s.state === "lost" ? inks.bad : inks.warm);
  context.globalAlpha = 1;
}

function outline(context: CanvasRenderingContext2D, x: number, y: number, side: number, stroke: string) {
  context.strokeStyle = stroke;
  context.lineWidth = 2;
  context.strokeRect(x, y, side, side);
}

interface CellsProps {
  count: number; size: number; gap: number; label: string; pick?: (i: number) => void;
  paint: (context: CanvasRenderingContext2D, i: number, x: number, y: number, side: number) => void;
}

// Cells paints squares in rows that fill the width.
function Cells({ count, size, gap, label, pick, paint }: CellsProps) {
  const box = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, []);
  const columns = Math.max(Math.floor(width / size), 1), rows = Math.ceil(count / columns);
  useEffect(() => {
    const scale = devicePixelRatio, element = canvas.current!;
    element.width = columns * size * scale;
    element.height = rows * size * scale;
    const context = element.getContext("2d")!;
    context.scale(scale, scale);
    for (let i = 0; i < count; i++) paint(context, i, i % columns * size + gap, Math.floor(i / columns) * size + gap, size - 2 * gap);
  });
  return <div ref={box} class="cells">
    <canvas ref={canvas} role="img" aria-label={label} style={{ width: `${columns * size}px`, height: `${rows * size}px` }}
      onClick={e => {
        const i = Math.floor(e.offsetY / size) * columns + Math.floor(e.offsetX / size);
        if (i < count) pick?.(i);
      }} />
  </div>;
}
