// Terms as N-Triples and the TSV results of SPARQL write them, and their short forms.

import type { Term } from "./api";
import { shorten } from "./prefixes";

const xsd = "http://www.w3.org/2001/XMLSchema#";
export const rdfType = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

const unescapes: Record<string, string> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" };
const unescape = (text: string) => text.includes("\\")
  ? text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g, (_, u4, u8, c) =>
    u4 || u8 ? String.fromCodePoint(parseInt(u4 || u8, 16)) : unescapes[c] ?? c)
  : text;

// parseTerm reads a term. An empty text is an unbound variable: null.
export function parseTerm(text: string): Term | null {
  if (text === "") return null;
  if (text.startsWith("<<")) return { type: "triple", value: text };
  if (text[0] === "<") return { type: "uri", value: unescape(text.slice(1, -1)) };
  if (text.startsWith("_:")) return { type: "bnode", value: text.slice(2) };
  if (text[0] === '"') {
    const end = text.lastIndexOf('"'), tag = text.slice(end + 1);
    const term: Term = { type: "literal", value: unescape(text.slice(1, end)) };
    if (tag[0] === "@") term["xml:lang"] = tag.slice(1);
    else if (tag) term.datatype = unescape(tag.slice(3, -1));
    return term;
  }
  const kind = text === "true" || text === "false" ? "boolean" : /[eE]/.test(text) ? "double" : text.includes(".") ? "decimal" : "integer";
  return { type: "literal", value: text, datatype: xsd + kind };
}

const escape = (text: string) => text.replace(/[\\"\n\r\t]/g, c => ({ "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t" })[c]!);

// nt writes a term as N-Triples.
export function nt(t: Term): string {
  if (t.type === "uri") return `<${t.value}>`;
  if (t.type === "bnode") return `_:${t.value}`;
  if (t.type === "triple") return t.value;
  const tag = t["xml:lang"] ? "@" + t["xml:lang"] : t.datatype && t.datatype !== xsd + "string" ? `^^<${t.datatype}>` : "";
  return `"${escape(t.value)}"${tag}`;
}

// inner matches the subject, the predicate and the object in the text of a triple term.
const inner = /^<<\(\s*(<[^>]*>|_:\S+)\s*(<[^>]*>)\s*(.*?)\s*\)>>$/s;

// partsOf returns the terms of a triple term.
export function partsOf(t: Term): Term[] {
  const parts = inner.exec(t.value);
  return parts ? parts.slice(1).map(text => parseTerm(text)!) : [];
}

const numeric = /(integer|decimal|double|float|int|long|short|byte)$/i;

// numberOf returns the value of a numeric literal, or undefined.
export function numberOf(t: Term | null): number | undefined {
  if (t?.type !== "literal" || !t.datatype?.startsWith(xsd) || !numeric.test(t.datatype)) return undefined;
  return t.value === "INF" ? Infinity : t.value === "-INF" ? -Infinity : Number(t.value);
}

// shown returns the short form of a term for people, and for search and sorting.
export function shown(t: Term | null): string {
  if (!t) return "";
  switch (t.type) {
    case "uri": return shorten(t.value);
    case "bnode": return "_:" + t.value;
    case "triple": return `<<( ${partsOf(t).map(part => part.type === "triple" ? "<<( … )>>" : shown(part)).join(" ")} )>>`;
  }
  return t.value;
}

// tagOf returns the language or the datatype of a literal, if it is worth to be shown.
export function tagOf(t: Term): string {
  if (t["xml:lang"]) return "@" + t["xml:lang"];
  if (!t.datatype || t.datatype === xsd + "string" || numberOf(t) !== undefined) return "";
  return shorten(t.datatype);
}

// compareTerms orders numbers by value, before all other terms by their short forms. Unbound comes first.
export function compareTerms(a: Term | null, b: Term | null): number {
  if (!a || !b) return (a ? 1 : 0) - (b ? 1 : 0);
  const x = numberOf(a), y = numberOf(b);
  if (x !== undefined && y !== undefined) return x - y || 0;
  if (x !== undefined || y !== undefined) return x !== undefined ? -1 : 1;
  const s = shown(a), t = shown(b);
  return s < t ? -1 : s > t ? 1 : 0;
}

// splitTriple returns the terms of a line of N-Triples, joined by tabs, without the final dot.
export function splitTriple(line: string): string {
  const s = line.indexOf(" "), p = line.indexOf(" ", s + 1);
  return `${line.slice(0, s)}\t${line.slice(s + 1, p)}\t${line.slice(p + 1).replace(/\s*\.\s*$/, "")}`;
}
