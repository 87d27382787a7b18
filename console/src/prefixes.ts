// Prefixes: well-known ones, those made up for the store, those that it keeps, and those of the query that is shown.

export const wellKnown: Record<string, string> = {
  rdf: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
  rdfs: "http://www.w3.org/2000/01/rdf-schema#",
  xsd: "http://www.w3.org/2001/XMLSchema#",
  owl: "http://www.w3.org/2002/07/owl#",
  skos: "http://www.w3.org/2004/02/skos/core#",
  foaf: "http://xmlns.com/foaf/0.1/",
  schema: "https://schema.org/",
  dc: "http://purl.org/dc/elements/1.1/",
  dcterms: "http://purl.org/dc/terms/",
  dcat: "http://www.w3.org/ns/dcat#",
  prov: "http://www.w3.org/ns/prov#",
  sh: "http://www.w3.org/ns/shacl#",
  void: "http://rdfs.org/ns/void#",
  geo: "http://www.opengis.net/ont/geosparql#",
  wgs84: "http://www.w3.org/2003/01/geo/wgs84_pos#",
  vcard: "http://www.w3.org/2006/vcard/ns#",
  time: "http://www.w3.org/2006/time#",
  qb: "http://purl.org/linked-data/cube#",
  org: "http://www.w3.org/ns/org#",
  dbr: "http://dbpedia.org/resource/",
  dbo: "http://dbpedia.org/ontology/",
  wd: "http://www.wikidata.org/entity/",
  wdt: "http://www.wikidata.org/prop/direct/",
  links: "urn:trefoil:links:",
  ann: "urn:trefoil:annotations#",
  trefoil: "urn:trefoil:",
};

// declared returns the prefixes that a text declares.
export function declared(text: string): Record<string, string> {
  const all: Record<string, string> = {};
  for (const found of text.matchAll(/\bprefix\s+([^\s:<>#"']*):\s*<([^<>"{}|^`\\\s]*)>/gi)) all[found[1]] = found[2];
  return all;
}

// learned are prefixes that the page made up for the namespaces of the store. kept are those of the store
// itself. current are those of the last query. The later ones win: well-known, learned, kept, current.
let learned: Record<string, string> = {}, kept: Record<string, string> = {}, current: Record<string, string> = {};
let table = sorted();

export function known(): Record<string, string> {
  return { ...wellKnown, ...learned, ...kept, ...current };
}

// stored are the known prefixes but those of a query.
export function stored(): Record<string, string> {
  return { ...wellKnown, ...learned, ...kept };
}

export function setCurrent(prefixes: Record<string, string>) {
  current = prefixes;
  table = sorted();
}

// setKept takes the prefixes of the store, before learn.
export function setKept(prefixes: Record<string, string>) {
  kept = prefixes;
  table = sorted();
}

// learn makes a prefix for each namespace of the IRIs that has none. Its name is the last part of the
// namespace, or the host.
export function learn(iris: string[]) {
  const spaces = new Set(Object.values({ ...wellKnown, ...kept, ...current }));
  learned = {};
  for (const iri of iris) {
    const space = /^[a-z][a-z0-9+.-]*:.*[#/:](?=[^#/:]+$)/i.exec(iri)?.[0];
    if (!space || spaces.has(space)) continue;
    spaces.add(space);
    const parts = space.replace(/^[a-z0-9+.-]+:\/*/i, "").replace(/[#/:]+$/, "").replace(/\.(owl|rdf|ttl|n3)$/, "").toLowerCase().split(/[/:]+/);
    // A host is known by the name before its top-level domain.
    if (/^https?:/i.test(space)) parts[0] = parts[0].split(".").at(-2) ?? parts[0];
    const part = parts.findLast(text => /^[a-z][a-z0-9-]{0,15}$/.test(text)) ?? "ns";
    let name = part;
    for (let n = 2; name in wellKnown || name in learned || name in kept || name in current; n++) name = part + n;
    learned[name] = space;
  }
  table = sorted();
}

// sorted has the longest namespaces first, so that the closest one is found. Of two names for one, those of the query win, then those of the store.
function sorted(): [string, string][] {
  const valid = known();
  return [current, kept, learned, wellKnown].flatMap(all => Object.entries(all)).filter(([name, space]) => space && valid[name] === space)
    .sort((a, b) => b[1].length - a[1].length);
}

// shorten writes an IRI with a prefix, if one fits and what follows is short enough to be a name.
export function shorten(iri: string): string {
  for (const [name, space] of table) {
    if (iri.startsWith(space)) {
      const rest = iri.slice(space.length);
      return /^[\p{L}\p{N}_][\p{L}\p{N}_.-]*$|^$/u.test(rest) && !rest.endsWith(".") ? `${name}:${rest}` : iri;
    }
  }
  return iri;
}

// expand returns the IRI of a prefixed name, or undefined.
export function expand(name: string): string | undefined {
  const colon = name.indexOf(":");
  const space = known()[name.slice(0, colon)];
  return colon >= 0 && space !== undefined ? space + name.slice(colon + 1) : undefined;
}
