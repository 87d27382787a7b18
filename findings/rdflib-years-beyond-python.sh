#!/usr/bin/env bash
# rdflib and pySHACL take years before 1 and after 9999, and nanoseconds, for something else than they are.
#
# Guess:   dates of xsd:date and xsd:dateTime compare by value, whatever their year and their fraction of a second.
# Seen:    rdflib 7.6.0: year 12020 > year 2000 is false; 44 BC < year 2000 has no value, so that a filter drops the row; two
#          moments 789 nanoseconds apart are equal. pySHACL 0.40.1 reports both dates as violations of sh:datatype xsd:date.
#          The reason: values are Python's datetime, with years 1 to 9999 and microseconds.
# Matters: DBpedia and Wikidata have Caesar's death and the far future, traces have nanoseconds. A shape or a filter tried in
#          rdflib gives other rows than a store, and valid data fails validation.
# Instead: compare such dates in the store; in shapes use sh:pattern on the lexical form, or xsd:gYear, which rdflib leaves alone.
# Source:  XML Schema 1.1 Datatypes, sections 3.3.7 and 3.3.9 (years have any number of digits and a sign) and 5.4: years to 9999
#          and milliseconds suffice, but what is beyond must not be treated as invalid nor changed silently.
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' html5rdf==1.2.1 importlib_metadata==10.2.0 isodate==0.7.2 lazy-importer==0.1.0 owlrl==7.6.2 packaging==26.4 prettytable==3.18.0 pyparsing==3.3.3 wcwidth==0.9.4 zipp==4.1.2 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13' 'pyshacl==0.40.1'
v/bin/python - <<'END'
import logging, pyoxigraph, pyshacl, rdflib

logging.disable(logging.CRITICAL)
XSD = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "
comparisons = {
    '"12020-01-01"^^xsd:date > "2000-01-01"^^xsd:date': ("false", "true"),
    '"-0044-03-15"^^xsd:date < "2000-01-01"^^xsd:date': (None, "true"),
    '"2026-01-01T00:00:00.123456789Z"^^xsd:dateTime = "2026-01-01T00:00:00.123456Z"^^xsd:dateTime': ("true", "false"),
}
for text, want in comparisons.items():
    query = XSD + f"SELECT (({text}) AS ?x) {{}}"
    row = list(rdflib.Graph().query(query))
    here = str(row[0][0]) if row and row[0][0] is not None else None
    peer = next(iter(pyoxigraph.Store().query(query)))["x"].value
    print(text, "rdflib:", here, "pyoxigraph:", peer)
    if (here, peer) != want:
        raise SystemExit("behaviour has changed")
prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
shape = rdflib.Graph().parse(data=prefixes + ":S a sh:NodeShape; sh:targetNode :a; sh:property [sh:path :p; sh:datatype xsd:date].", format="turtle")
for date, want in {"2026-01-01": True, "12020-01-01": False, "-0044-03-15": False}.items():
    data = rdflib.Graph().parse(data=prefixes + f':a :p "{date}"^^xsd:date .', format="turtle")
    conforms = pyshacl.validate(data, shacl_graph=shape)[0]
    print("pySHACL, sh:datatype xsd:date:", date, "conforms" if conforms else "violates")
    if conforms != want:
        raise SystemExit("behaviour has changed")
END
