// What users do with Comunica on a running node: `comunica.mjs URL`. Ends with an
// error at the first thing that is not as it must be.

import { QueryEngine } from '@comunica/query-sparql';

const url = process.argv[2];
const engine = new QueryEngine();
const prefixes = 'PREFIX e: <http://example.org/comunica/> ';

function check(condition, what) {
  if (!condition) throw new Error('not so: ' + what);
  console.log('ok: ' + what);
}

async function rows(query, source) {
  const stream = await engine.queryBindings(prefixes + query, { sources: [source] });
  return (await stream.toArray()).map(b => Object.fromEntries([...b].map(([v, t]) => [v.value, t.value])));
}

async function update(text) {
  const response = await fetch(url + '/sparql', { method: 'POST', headers: { 'Content-Type': 'application/sparql-update' }, body: prefixes + text });
  check(response.ok, 'update: ' + response.status);
}

const people = 350; // more than a few pages of fragments
let data = '';
for (let i = 0; i < people; i++) data += `e:p${i} a e:Person ; e:age ${20 + i % 50} ; e:knows e:p${(i + 1) % people} ; e:name "Näme ${i}"@en . `;
await update(`INSERT DATA { ${data} e:city e:label "Łódź" , "quoted \\"x\\""@pl }`);

const sources = {
  'SPARQL': { type: 'sparql', value: url + '/sparql' },
  'SPARQL, found out': url + '/sparql',
  'fragments': { type: 'qpf', value: url + '/fragments' },
  'fragments, found out': url + '/fragments',
};
for (const [name, source] of Object.entries(sources)) {
  const all = await rows('SELECT ?s WHERE { ?s a e:Person }', source);
  check(all.length === people && new Set(all.map(r => r.s)).size === people, `${name}: a pattern of ${all.length} rows`);
  const join = await rows('SELECT ?a ?b ?n WHERE { ?a e:age 23 ; e:knows ?b . ?b e:name ?n }', source);
  check(join.length === people / 50 && join.every(r => r.n.startsWith('Näme ')), `${name}: a join of ${join.length} rows`);
  const labels = await rows('SELECT ?l WHERE { e:city e:label ?l } ', source);
  check(labels.map(r => r.l).sort().join() === 'quoted "x",Łódź', `${name}: literals`);
  const exact = await rows('SELECT ?s WHERE { ?s e:label "quoted \\"x\\""@pl }', source);
  check(exact.length === 1, `${name}: a pattern with a literal`);
  const filtered = await rows('SELECT ?s ?g WHERE { ?s e:age ?g FILTER(?g >= 68) } ORDER BY DESC(?g) ?s LIMIT 5', source);
  check(filtered.length === 5 && filtered[0].g === '69', `${name}: filter, order, limit`);
  const [{ n }] = await rows('SELECT (COUNT(*) AS ?n) WHERE { ?s e:knows ?o }', source);
  check(Number(n) === people, `${name}: count`);
  check(await engine.queryBoolean(prefixes + 'ASK { e:p0 e:knows e:p1 }', { sources: [source] }), `${name}: ask`);
  const quads = await (await engine.queryQuads(prefixes + 'CONSTRUCT { ?s e:old true } WHERE { ?s e:age 69 }', { sources: [source] })).toArray();
  check(quads.length === people / 50, `${name}: construct`);
}
const both = await engine.queryBindings(prefixes + 'SELECT ?s ?n WHERE { ?s e:age 20 ; e:name ?n }',
  { sources: [sources['SPARQL'], sources['fragments']] });
check((await both.toArray()).length >= people / 50, 'federated over both doors');
console.log('done');
