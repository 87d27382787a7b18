// A chart on a canvas, in the colours of the page.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { colour } from "./colour";

export interface Series { label: string; values: (number | null)[]; bars?: boolean }
export interface PlotProps { title: string; x: number[]; time?: boolean; names?: string[]; series: Series[]; height?: number }

const colours = ["--accent", "--variable", "--string", "--keyword", "--number"];
// short writes a number for an axis.
const short = (n: number) => Math.abs(n) >= 10_000 ? Intl.NumberFormat(undefined, { notation: "compact" }).format(n) : n.toLocaleString();

export default function Plot({ title, x, time, names, series, height = 220 }: PlotProps) {
  const box = useRef<HTMLDivElement>(null), plot = useRef<uPlot>(null);
  const data: uPlot.AlignedData = [x, ...series.map(s => s.values)];
  const shape = JSON.stringify([time, names, series.map(s => [s.label, s.bars])]);
  useEffect(() => {
    const host = box.current!;
    const axis = { stroke: colour("--dim"), grid: { stroke: colour("--edge"), width: 1 }, ticks: { stroke: colour("--edge"), width: 1 } };
    const made = plot.current = new uPlot({
      width: host.clientWidth, height, legend: { show: series.length > 1 },
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: !!time, range: names ? (_, min, max) => [min - 0.6, max + 0.6] : undefined }, y: { range: (_, min, max) => [Math.min(min, 0), max > 0 ? max * 1.05 : 1] } },
      axes: [{ ...axis, ...names ? { size: 90, rotate: -40, values: (_: uPlot, at: number[]) => at.map(i => names[i]?.replace(/^.*[:/#](?=.)/, "").slice(0, 18) ?? "") } : {} }, { ...axis, size: 60, values: (_: uPlot, at: number[]) => at.map(short) }],
      series: [{}, ...series.map((s, i) => ({
        label: s.label, stroke: colour(colours[i % colours.length]), width: 2, spanGaps: true, points: { show: !time && !s.bars },
        ...s.bars ? { paths: uPlot.paths.bars!({ size: [0.7, 60] }), fill: colour(colours[i % colours.length]) } : {},
      }))],
    }, data, host);
    const watch = new ResizeObserver(() => made.setSize({ width: host.clientWidth, height }));
    watch.observe(host);
    return () => { watch.disconnect(); made.destroy(); };
  }, [shape]);
  useEffect(() => plot.current?.setData(data), [x, series]);
  const last = series.map(s => `${s.label} ${s.values.at(-1) ?? "none"}`).join(", ");
  return <div ref={box} class="plot" role="img" aria-label={`Chart of ${title}. The last values: ${last}.`} />;
}
