// The numbers of an answer as a chart. The first column is the axis: numbers, dates or names.

import Plot, { type Series } from "./plot";
import { numberOf, parseTerm, shown } from "./terms";

const maxPoints = 2000;

export default function ChartView({ vars, rows }: { vars: string[]; rows: string[] }) {
  const terms = rows.slice(0, maxPoints).map(row => row.split("\t").map(parseTerm));
  const columns = vars.map((_, i) => terms.map(row => numberOf(row[i]) ?? null));
  const numeric = columns.map(c => c.some(n => n !== null));
  const alone = vars.length === 1 || !numeric.some((yes, i) => yes && i > 0);
  const dates = terms.map(row => /date/i.test(row[0]?.type === "literal" ? row[0].datatype ?? "" : "") ? Date.parse(row[0]!.value) / 1000 : NaN);
  const time = !alone && dates.every(d => !Number.isNaN(d)), numbers = !alone && columns[0].every(n => n !== null);
  const names = time || numbers ? undefined : terms.map((row, i) => alone ? String(i + 1) : shown(row[0]));
  // Lines need their points in the order of the axis.
  const x = time ? dates : numbers ? columns[0] as number[] : terms.map((_, i) => i);
  const order = x.map((_, i) => i).sort((a, b) => x[a] - x[b]);
  const series: Series[] = vars.flatMap((label, i) => numeric[i] && (alone || i > 0) ? [{ label, values: order.map(k => columns[i][k]), bars: !!names }] : []);
  return <>
    <Plot title={vars.join(", ")} x={order.map(k => x[k])} time={time} names={names} series={series} height={360} />
    {rows.length > maxPoints && <p class="dim">The first {maxPoints.toLocaleString()} rows.</p>}
  </>;
}
