#!/usr/bin/env bash
# rdflib writes the doubles INF and NaN as inf and nan, which are no doubles.
#
# Guess:   a double that is read from N-Triples is written to N-Triples with a lexical form that xsd:double has.
# Seen:    rdflib 7.6.0: "INF" becomes "inf", "-INF" "-inf", "NaN" "nan", and "1E400" "inf", for xsd:double and xsd:float, in
#          N-Triples. Its Turtle has INF and NaN.
# Matters: measurements with an infinite bound or a missing value pass through rdflib and are ill-typed in a store that checks
#          lexical forms: filters and sums over them are errors, and a pattern with "INF"^^xsd:double does not find them.
# Instead: write Turtle, not N-Triples, or set rdflib.NORMALIZE_LITERALS = False before reading.
# Source:  XML Schema 1.1 Datatypes, section 3.3.5: the special values are INF, -INF and NaN, in these letters.
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0'
v/bin/python - <<'END'
import rdflib

XSD = "http://www.w3.org/2001/XMLSchema#"
def triple(text, kind):
    return f'<http://example.org/a> <http://example.org/p> "{text}"^^<{XSD}{kind}> .\n'
def through(text, kind):
    return rdflib.Graph().parse(data=triple(text, kind), format="nt").serialize(format="nt")
for kind in ("double", "float"):
    for text, want in {"INF": "inf", "-INF": "-inf", "NaN": "nan", "1E400": "inf"}.items():
        seen = through(text, kind)
        print(text, "->", seen.strip())
        if seen.strip() != triple(want, kind).strip():
            raise SystemExit("behaviour has changed")
# The ways out.
graph = rdflib.Graph().parse(data=triple("INF", "double"), format="nt")
if '"INF"^^xsd:double' not in graph.serialize(format="turtle"):
    raise SystemExit("behaviour has changed: Turtle")
rdflib.NORMALIZE_LITERALS = False
if through("INF", "double").strip() != triple("INF", "double").strip():
    raise SystemExit("behaviour has changed: NORMALIZE_LITERALS")
END
