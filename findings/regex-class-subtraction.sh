#!/usr/bin/env bash
# REGEX with a class subtraction finds the wrong strings in rdflib and Oxigraph, without an error.
#
# Guess:   SPARQL's REGEX has XPath's regular expressions, so "^[a-z-[aeiou]]$" finds the consonants everywhere.
# Seen:    of b, e, -, "e]", "-]": rdflib 7.6.0 finds "e]" and "-]", pyoxigraph 0.5.13 finds b, e and -; right is b alone.
#          "^x$" finds "x" followed by a line feed in rdflib. pySHACL 0.40.1 reports b as a violation of this sh:pattern.
# Matters: the languages of Python and Rust give the same characters another meaning. Filters, SHACL patterns and data checks
#          that are right by the specification delete or keep the wrong rows when they run beside a store.
# Instead: write classes out ("^[b-df-hj-np-tv-z]$") or combine two filters; end with "^x$" only if no line feed can follow.
# Source:  SPARQL 1.1 Query, section 17.4.3.14, which names XPath 2.0 Functions and Operators, section 7.6.1, which is built on the
#          regular expressions of XML Schema (charClassSub; appendix G in version 1.1).
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' html5rdf==1.2.1 importlib_metadata==10.2.0 isodate==0.7.2 lazy-importer==0.1.0 owlrl==7.6.2 packaging==26.4 prettytable==3.18.0 pyparsing==3.3.3 wcwidth==0.9.4 zipp==4.1.2 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13' 'pyshacl==0.40.1'
v/bin/python -W ignore - <<'END'
import pyoxigraph, pyshacl, rdflib

def found(pattern, *texts):
    values = " ".join('"%s"' % text for text in texts)
    query = 'SELECT ?x { VALUES ?x { %s } FILTER REGEX(?x, "%s") }' % (values, pattern)
    return sorted(str(row[0]) for row in rdflib.Graph().query(query)), sorted(row["x"].value for row in pyoxigraph.Store().query(query))
seen = found("^[a-z-[aeiou]]$", "b", "e", "-", "e]", "-]")
print("consonants, rdflib:", seen[0], "pyoxigraph:", seen[1])
if seen != (["-]", "e]"], ["-", "b", "e"]):
    raise SystemExit("behaviour has changed")
seen = found("^x$", "x\\n")
print("^x$ in x and a line feed, rdflib:", seen[0], "pyoxigraph:", seen[1])
if seen != (["x\n"], []):
    raise SystemExit("behaviour has changed")
if found("^[b-df-hj-np-tv-z]$", "b", "e", "-") != (["b"], ["b"]):
    raise SystemExit("behaviour has changed: the class written out")
# A shape that "b" fulfils.
prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> . "
shape = rdflib.Graph().parse(data=prefixes + ':S a sh:NodeShape; sh:targetNode :a; sh:property [sh:path :p; sh:pattern "^[a-z-[aeiou]]$"].', format="turtle")
conforms = pyshacl.validate(rdflib.Graph().parse(data=prefixes + ':a :p "b" .', format="turtle"), shacl_graph=shape)[0]
print("pySHACL, b:", "conforms" if conforms else "violates")
if conforms:
    raise SystemExit("behaviour has changed")
END
