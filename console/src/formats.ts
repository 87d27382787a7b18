// Answers as files, written from the rows that the page has, so that the query need not run again.

import type { Term } from "./api";
import { parseTerm, nt, rdfType } from "./terms";
import { declared, expand, known, shorten } from "./prefixes";
import type { Answer } from "./run";

export interface Format { name: string; label: string; ending: string; type: string }

const formats: Record<string, Format> = {
  json: { name: "json", label: "JSON", ending: "json", type: "application/sparql-results+json" },
  csv: { name: "csv", label: "CSV", ending: "csv", type: "text/csv" },
  tsv: { name: "tsv", label: "TSV", ending: "tsv", type: "text/tab-separated-values" },
  results: { name: "xml", label: "XML", ending: "srx", type: "application/sparql-results+xml" },
  ttl: { name: "ttl", label: "Turtle", ending: "ttl", type: "text/turtle" },
  nt: { name: "nt", label: "N-Triples", ending: "nt", type: "application/n-triples" },
  nq: { name: "nq", label: "N-Quads", ending: "nq", type: "application/n-quads" },
  trig: { name: "trig", label: "TriG", ending: "trig", type: "application/trig" },
  jsonld: { name: "jsonld", label: "JSON-LD", ending: "jsonld", type: "application/ld+json" },
  rdfxml: { name: "xml", label: "RDF/XML", ending: "rdf", type: "application/rdf+xml" },
};

export function formatsOf(a: Answer): Format[] {
  const names = a.kind === "rows" ? ["json", "csv", "tsv", "results"] : a.kind === "triples" ? ["ttl", "nt", "nq", "trig", "jsonld", "rdfxml"]
    : a.kind === "boolean" ? ["json", "results"] : [];
  return names.map(name => formats[name]);
}

// write returns an answer in a format, or undefined if only the node can write it.
export function write(a: Answer, f: Format, query: string): Blob | undefined {
  if (a.kind === "boolean") {
    return blob(f, [f.name === "json" ? JSON.stringify({ head: {}, boolean: a.value }) : `${sparqlXML}<head/><boolean>${a.value}</boolean></sparql>\n`]);
  }
  if ((a.kind !== "rows" && a.kind !== "triples") || a.more) return undefined;
  if (a.kind === "triples") {
    if (f.name === "nt" || f.name === "nq") return blob(f, a.rows.map(row => row.replaceAll("\t", " ") + " .\n"));
    if (f.name === "ttl" || f.name === "trig") return blob(f, turtle(a.rows, declared(query)));
    if (a.rows.some(row => /\t<<|@[\w-]+--\w+$/.test(row))) return undefined; // as above
    const parts = f.name === "xml" ? rdfXML(a.rows) : jsonLD(a.rows);
    return parts && blob(f, parts);
  }
  const terms = a.rows.map(row => row.split("\t").map(parseTerm));
  // The node writes triple terms and directions, because each format has its own form of them.
  if (f.name !== "tsv" && terms.some(row => row.some(t => t?.type === "triple" || t?.["xml:lang"]?.includes("--")))) return undefined;
  switch (f.name) {
    case "tsv": return blob(f, [a.vars.map(v => "?" + v).join("\t") + "\n", ...a.rows.map(row => row + "\n")]);
    case "csv": return blob(f, [a.vars, ...terms.map(row => row.map(t => t ? (t.type === "bnode" ? "_:" : "") + t.value : ""))]
      .map(row => row.map(quoteCSV).join(",") + "\r\n"));
    case "json": return blob(f, [JSON.stringify({ head: { vars: a.vars }, results: { bindings: terms.map(row => binding(a.vars, row)) } })]);
    default: return blob(f, [sparqlXML, "<head>", ...a.vars.map(v => `<variable name="${xml(v)}"/>`), "</head><results>\n",
      ...terms.map(row => `<result>${row.map((t, i) => t ? `<binding name="${xml(a.vars[i])}">${termXML(t)}</binding>` : "").join("")}</result>\n`), "</results></sparql>\n"]);
  }
}

const blob = (f: Format, parts: string[]) => new Blob(parts, { type: f.type });
const quoteCSV = (text: string) => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
const binding = (vars: string[], row: (Term | null)[]) => Object.fromEntries(row.flatMap((t, i) => t ? [[vars[i], t]] : []));

const sparqlXML = '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">';
// XML cannot hold most control characters.
const xml = (text: string) => text.replace(/[<>&"\r]/g, c => `&#${c.charCodeAt(0)};`).replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g, "\ufffd");

function termXML(t: Term): string {
  if (t.type !== "literal") return `<${t.type}>${xml(t.value)}</${t.type}>`;
  const tag = t["xml:lang"] ? ` xml:lang="${xml(t["xml:lang"])}"` : t.datatype ? ` datatype="${xml(t.datatype)}"` : "";
  return `<literal${tag}>${xml(t.value)}</literal>`;
}

// jsonLD writes triples as expanded JSON-LD, a node object for each subject.
function jsonLD(rows: string[]): string[] {
  const nodes = new Map<string, Record<string, unknown>>();
  const name = (t: Term) => (t.type === "bnode" ? "_:" : "") + t.value;
  for (const [s, p, o] of rows.map(row => row.split("\t").map(text => parseTerm(text)!))) {
    const node = nodes.get(name(s)) ?? { "@id": name(s) }, isType = p.value === rdfType && o.type !== "literal";
    const value = isType ? name(o) : o.type !== "literal" ? { "@id": name(o) } : { "@value": o.value, "@language": o["xml:lang"], "@type": o.datatype };
    ((node[isType ? "@type" : p.value] ??= []) as unknown[]).push(value);
    nodes.set(name(s), node);
  }
  return [JSON.stringify([...nodes.values()], null, 1) + "\n"];
}

// rdfXML writes triples as RDF/XML. It returns undefined if XML cannot hold them: the node has the error.
function rdfXML(rows: string[]): string[] | undefined {
  const out = [`<?xml version="1.0"?>\n<rdf:RDF xmlns:rdf="${rdfType.replace("type", "")}">\n`];
  const name = (t: Term, iri: string) => t.type === "bnode" ? `rdf:nodeID="${xml(t.value)}"` : `${iri}="${xml(t.value)}"`;
  for (const row of rows) {
    const [s, p, o] = row.split("\t").map(text => parseTerm(text)!);
    const local = /[A-Za-z_][\w.-]*$/.exec(p.value)?.[0];
    if (!local || !/^[\w.-]*$/.test(s.type === "bnode" ? s.value : "") || /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/.test(o.value)) return undefined;
    const open = `<p:${local} xmlns:p="${xml(p.value.slice(0, -local.length))}"`;
    const tag = o["xml:lang"] ? ` xml:lang="${xml(o["xml:lang"])}"` : o.datatype ? ` rdf:datatype="${xml(o.datatype)}"` : "";
    out.push(`<rdf:Description ${name(s, "rdf:about")}>${o.type === "literal" ? `${open}${tag}>${xml(o.value)}</p:${local}>` : `${open} ${name(o, "rdf:resource")}/>`}</rdf:Description>\n`);
  }
  return [...out, "</rdf:RDF>\n"];
}

// turtle writes triples with the prefixes that they need. Neighbours with one subject share it.
export function turtle(rows: string[], prefixes: Record<string, string>): string[] {
  const used: Record<string, string> = {}, out: string[] = [];
  const term = (text: string, predicate = false): string => {
    const t = parseTerm(text)!;
    if (t.type === "literal" && t.datatype) {
      const type = name(t.datatype);
      return type ? `${nt({ ...t, datatype: undefined })}^^${type}` : nt(t);
    }
    if (t.type !== "uri") return nt(t);
    return predicate && t.value === "http://www.w3.org/1999/02/22-rdf-syntax-ns#type" ? "a" : name(t.value) ?? text;
  };
  const name = (iri: string): string | undefined => {
    const short = shorten(iri), prefix = short.slice(0, short.indexOf(":"));
    const space = prefixes[prefix] ?? known()[prefix];
    // Only plain names: a writer must escape all others.
    if (short === iri || !space || expand(short) !== iri || !/^[a-z][a-z0-9]*:[A-Za-z_][A-Za-z0-9_]*$/i.test(short)) return undefined;
    used[prefix] = space;
    return short;
  };
  let subject = "";
  for (const row of rows) {
    const [s, p, o] = row.split("\t");
    out.push(s === subject ? ` ;\n    ${term(p, true)} ${term(o)}` : `${subject && " .\n"}${term(s)} ${term(p, true)} ${term(o)}`);
    subject = s;
  }
  if (subject) out.push(" .\n");
  return [...Object.entries(used).map(([prefix, space]) => `@prefix ${prefix}: <${space}> .\n`), ...out];
}
