#!/usr/bin/env bash
# The canonical hash of a dataset with "x"@en-GB depends on the library: RDF 1.2 lower-cases the tag, RDF 1.1 does not.
#
# Guess:   RDFC-1.0 is one standard, so each implementation gives the same canonical N-Quads for the same dataset.
# Seen:    rdf-canonize 5.0.0 and PyLD 3.3.0 write "colour"@en-GB, pyoxigraph 0.5.13 writes "colour"@en-gb. The hashes differ for
#          each dataset with a tag that has a capital: en-GB, de-CH, zh-Hant.
# Matters: hashes, signatures and names of blank nodes made before and after a move between libraries do not meet. Verification
#          fails although nothing was changed.
# Instead: lower-case tags before canonicalization in whichever library; keep the library and version beside each stored hash.
# Source:  RDF 1.2 N-Quads, section 3 (canonical form: "Alphabetic characters in LANG_DIR MUST use only the lowercase letters");
#          the canonical form in appendix A of RDF Dataset Canonicalization has no such rule.
# Needs:   node 20 with npm, python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' cachetools==8.0.2 frozendict==2.5.1 lxml==6.1.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'PyLD==3.3.0' 'pyoxigraph==0.5.13'
npm install --silent --no-audit --no-fund --prefix . --before=2026-11-20 'rdf-canonize@5.0.0' >/dev/null
printf '%s\n' '_:x <http://example.org/p> "colour"@en-GB .' >data.nq
cat >canonical.mjs <<'END'
import fs from 'node:fs';
import {canonize, NQuads} from 'rdf-canonize';
process.stdout.write(await canonize(NQuads.parse(fs.readFileSync('data.nq', 'utf8')), {algorithm: 'RDFC-1.0', format: 'application/n-quads'}));
END
cat >canonical.py <<'END'
from pyld import jsonld
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse
text = open("data.nq").read()
print(jsonld.normalize(text, {"inputFormat": "application/n-quads", "format": "application/n-quads", "algorithm": "URDNA2015"}), end="")
dataset = Dataset(parse(text, format=RdfFormat.N_QUADS))
dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
print(str(dataset).strip())
END
seen=$(node canonical.mjs && v/bin/python canonical.py)
echo "$seen"
want='_:c14n0 <http://example.org/p> "colour"@en-GB .
_:c14n0 <http://example.org/p> "colour"@en-GB .
_:c14n0 <http://example.org/p> "colour"@en-gb .'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
