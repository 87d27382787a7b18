// A table of any length: only the rows in sight are elements. It sorts, filters and resizes columns.

import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";
import type { Term } from "./api";
import { useLabels } from "./labels";
import { compareTerms, parseTerm, shown } from "./terms";
import { TermView } from "./term-view";

const rowHeight = 29;

// useRows returns the rows in sight, and the heights of what is above and below.
function useRows(count: number) {
  const box = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const options = {
    count, overscan: 20, estimateSize: () => rowHeight, getScrollElement: () => box.current,
    scrollToFn: elementScroll, observeElementRect, observeElementOffset, onChange: () => redraw(undefined as never),
  };
  const [virtual] = useState(() => new Virtualizer<HTMLDivElement, Element>(options));
  virtual.setOptions(options);
  useEffect(() => virtual._didMount(), []);
  useEffect(() => virtual._willUpdate());
  const items = virtual.getVirtualItems();
  return { box, items, above: items[0]?.start ?? 0, below: virtual.getTotalSize() - (items.at(-1)?.end ?? 0) };
}

interface Sort { column: number; down: boolean }

export function Table({ vars, rows }: { vars: string[]; rows: string[] }) {
  const [filter, setFilter] = useState("");
  const [sort, setSort] = useState<Sort | null>(null);
  const [widths, setWidths] = useState<Record<number, number>>({});
  // The answer grows in place, so its length is a part of its identity.
  const order = useMemo(() => arrange(rows, filter, sort), [rows, rows.length, filter, sort]);
  const { box, items, above, below } = useRows(order.length);
  const [labelled, setLabelled] = useState(false);
  const inSight = items.map(item => terms(rows[order[item.index]], vars.length));
  const labels = useLabels(labelled ? inSight.flatMap(row => row.flatMap(t => t?.type === "uri" ? [t.value] : [])) : []);
  const guess = useMemo(() => guessWidths(vars, rows.slice(0, 100)), [vars, rows, Math.min(rows.length, 100)]);
  const width = (i: number) => widths[i] ?? guess[i];

  return <>
    <div class="bar">
      <label class="grow">Filter <input type="search" value={filter} onInput={e => setFilter(e.currentTarget.value)} /></label>
      <label><input type="checkbox" checked={labelled} onChange={e => setLabelled(e.currentTarget.checked)} /> Labels</label>
      <span role="status" class="dim">{filter && `${order.length.toLocaleString()} of ${rows.length.toLocaleString()}`}</span>
    </div>
    <div class="scroll" ref={box} tabIndex={0} role="region" aria-label="Result table">
      <table aria-rowcount={order.length + 1} style={{ width: `${vars.reduce((n, _, i) => n + width(i), 0)}px` }}>
        <colgroup>{vars.map((v, i) => <col key={v} style={{ width: `${width(i)}px` }} />)}</colgroup>
        <thead><tr aria-rowindex={1}>
          {vars.map((v, i) => <th key={v} scope="col" aria-sort={sort?.column === i ? (sort.down ? "descending" : "ascending") : "none"}>
            <button type="button" class="link" onClick={() => setSort(next(sort, i))}>
              {v}<span aria-hidden="true">{sort?.column === i ? (sort.down ? " ▼" : " ▲") : ""}</span></button>
            <Handle label={`Width of column ${v}`} width={width(i)} set={n => setWidths({ ...widths, [i]: n })} />
          </th>)}
        </tr></thead>
        <tbody>
          {above > 0 && <tr style={{ height: `${above}px` }}><td colSpan={vars.length || 1} /></tr>}
          {items.map((item, n) => <tr key={item.index} aria-rowindex={item.index + 2} class={item.index % 2 ? "odd" : ""}>
            {inSight[n].map((t, i) => <td key={i}><div class="cell"><TermView term={t} label={t?.type === "uri" ? labels[t.value] : undefined} /></div></td>)}
          </tr>)}
          {below > 0 && <tr style={{ height: `${below}px` }}><td colSpan={vars.length || 1} /></tr>}
        </tbody>
      </table>
    </div>
  </>;
}

// terms reads a row. A row without columns is one empty text.
const terms = (row: string | undefined, n: number): (Term | null)[] => row === undefined || n === 0 ? [] : row.split("\t").map(parseTerm);

const next = (sort: Sort | null, column: number): Sort | null =>
  sort?.column !== column ? { column, down: false } : sort.down ? null : { column, down: true };

// arrange returns the indexes of the rows that pass the filter, sorted.
function arrange(rows: string[], filter: string, sort: Sort | null): number[] {
  const wanted = filter.toLowerCase();
  let order = rows.map((_, i) => i);
  if (wanted) order = order.filter(i => rows[i].toLowerCase().includes(wanted) || rows[i].split("\t").some(text => shown(parseTerm(text)).toLowerCase().includes(wanted)));
  if (sort) {
    const keys = new Map(order.map(i => [i, parseTerm(rows[i].split("\t")[sort.column] ?? "")]));
    order.sort((a, b) => compareTerms(keys.get(a)!, keys.get(b)!) * (sort.down ? -1 : 1) || a - b);
  }
  return order;
}

function guessWidths(vars: string[], rows: string[]): number[] {
  const longest = vars.map(v => v.length + 3);
  for (const row of rows) row.split("\t").forEach((text, i) => longest[i] = Math.max(longest[i] ?? 0, shown(parseTerm(text)).length));
  return longest.map(n => Math.min(Math.max(n * 8 + 24, 70), innerWidth < 600 ? 220 : 420));
}

// Handle changes a column's width by the pointer or the arrow keys.
function Handle({ label, width, set }: { label: string; width: number; set: (n: number) => void }) {
  const from = useRef<{ x: number; width: number } | null>(null);
  const change = (n: number) => set(Math.min(Math.max(n, 50), 2000));
  return <span class="handle" role="separator" aria-orientation="vertical" aria-label={label} tabIndex={0}
    aria-valuenow={Math.round(width)} aria-valuemin={50} aria-valuemax={2000}
    onPointerDown={e => { from.current = { x: e.clientX, width }; e.currentTarget.setPointerCapture(e.pointerId); }}
    onPointerMove={e => { if (from.current) change(from.current.width + e.clientX - from.current.x); }}
    onPointerUp={() => { from.current = null; }}
    onKeyDown={e => {
      if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
        e.preventDefault();
        change(width + (e.key === "ArrowRight" ? 20 : -20));
      }
    }} />;
}
