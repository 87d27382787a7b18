// Saved queries: triples of a graph of their own if the node takes them, else texts in this browser.

import { Failure, ask, select } from "./api";
import { readKept, storeKept } from "./keep";
import { nt } from "./terms";

// local queries are in this browser only.
export interface Saved { name: string; text: string; local?: boolean }

const graph = "urn:trefoil:queries", most = 1000;
const rdfs = "http://www.w3.org/2000/01/rdf-schema#", spin = "http://spinrdf.org/sp#", dcterms = "http://purl.org/dc/terms/";

const iri = (name: string) => `<${graph}:${encodeURIComponent(name)}>`;
const refused = (err: unknown) => err instanceof Failure && err.status === 403;

// readSaved returns the queries of the store and those of this browser. A user may have no right to read the former.
export async function readSaved(signal: AbortSignal): Promise<Saved[]> {
  const found = await select(`SELECT ?name ?text WHERE { GRAPH <${graph}> { ?q <${rdfs}label> ?name ; <${spin}text> ?text } } ORDER BY ?name LIMIT ${most}`, signal)
    .catch(err => { if (refused(err)) return []; throw err; });
  return [...found.map(row => ({ name: row.name.value, text: row.text.value })), ...readKept().map(q => ({ ...q, local: true }))];
}

// saveQuery replaces the query of a name. It returns why the query is in this browser only, or "" if it is in the store.
export async function saveQuery(name: string, text: string): Promise<string> {
  const others = readKept().filter(q => q.name !== name);
  const literal = (value: string) => nt({ type: "literal", value });
  const update = `DELETE { GRAPH <${graph}> { ${iri(name)} ?p ?o } }
    INSERT { GRAPH <${graph}> { ${iri(name)} a <${spin}Command> ; <${rdfs}label> ${literal(name)} ; <${spin}text> ${literal(text)} ; <${dcterms}modified> ?now } }
    WHERE { BIND(NOW() AS ?now) OPTIONAL { GRAPH <${graph}> { ${iri(name)} ?p ?o } } }`;
  try {
    await ask("sparql", { form: { update } });
    storeKept(others);
    return "";
  } catch (err) {
    if (!refused(err)) throw err;
    storeKept([...others, { name, text }]);
    return (err as Failure).message;
  }
}

export async function removeQuery(q: Saved): Promise<void> {
  if (q.local) storeKept(readKept().filter(kept => kept.name !== q.name));
  else await ask("sparql", { form: { update: `DELETE WHERE { GRAPH <${graph}> { ${iri(q.name)} ?p ?o } }` } });
}
