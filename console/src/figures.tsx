// Numbers, sizes and times as people read them, and lists of them.

import type { ComponentChildren } from "preact";

export const amount = (n: number) => n.toLocaleString();

export function bytes(n: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  for (; n >= 1024 && i < units.length - 1; i++) n /= 1024;
  return `${i === 0 ? n : n.toFixed(1)} ${units[i]}`;
}

export function duration(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return seconds < 3600 ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s` : `${Math.floor(seconds / 3600)} h ${Math.round(seconds % 3600 / 60)} min`;
}

// Figures shows names with their values, without those that are undefined.
export function Figures({ all }: { all: [string, ComponentChildren][] }) {
  return <dl class="figures">{all.filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>;
}
