#!/usr/bin/env bash
# jsonld.js refuses to canonize two anonymous people who know each other.
#
# Guess:   the limit on work in rdf-canonize is for large or hostile graphs; small ones are canonized with default settings.
# Seen:    jsonld.js 9.0.0 with rdf-canonize 5.0.0: "Maximum deep iterations exceeded (2)" for two blank nodes that point at each
#          other. The default, maxWorkFactor 1, allows n steps for n alike nodes; a ring needs
#          more, whatever its size. PyLD 3.3.0 canonizes it.
# Matters: symmetric properties (knows, spouse, adjacent, sameAs between blank nodes) are usual; credentials and hashes of such
#          data fail in JavaScript only, on the day when somebody adds the second direction.
# Instead: pass canonizeOptions {maxWorkFactor: 2} to jsonld.canonize, or give such nodes IRIs.
# Source:  RDF Dataset Canonicalization, section 7.1 (Dataset Poisoning); rdf-canonize's README on maxWorkFactor.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' cachetools==8.0.2 frozendict==2.5.1 lxml==6.1.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'PyLD==3.3.0'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'jsonld@9.0.0' 'rdf-canonize@5.0.0' >/dev/null
cat >people.json <<'END'
{"@context": {"knows": {"@id": "http://xmlns.com/foaf/0.1/knows", "@type": "@id"}},
 "@graph": [{"@id": "_:ann", "knows": "_:bob"}, {"@id": "_:bob", "knows": "_:ann"}]}
END
cat >canonize.mjs <<'END'
import fs from 'node:fs';
import jsonld from 'jsonld';
const people = JSON.parse(fs.readFileSync('people.json', 'utf8'));
for (const canonizeOptions of [{}, {maxWorkFactor: 2}]) {
  await jsonld.canonize(people, {format: 'application/n-quads', canonizeOptions}).then(text => process.stdout.write(text), error => console.log(error.message));
}
END
cat >canonize.py <<'END'
import json
from pyld import jsonld
print(jsonld.normalize(json.load(open("people.json")), {"format": "application/n-quads", "algorithm": "URDNA2015"}))
END
seen=$(node canonize.mjs && v/bin/python canonize.py)
echo "$seen"
ring='_:c14n0 <http://xmlns.com/foaf/0.1/knows> _:c14n1 .
_:c14n1 <http://xmlns.com/foaf/0.1/knows> _:c14n0 .'
want="Maximum deep iterations exceeded (2).
$ring
$ring"
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
