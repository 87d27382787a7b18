#!/usr/bin/env bash
# rudof counts bytes in sh:minLength and sh:maxLength: "Zürich" is longer than 6.
#
# Guess:   lengths in SHACL are those of SPARQL's STRLEN, characters, in each engine.
# Seen:    pyrudof 0.3.35: "Zürich" and "Łódź" violate sh:maxLength 6 and 4, "東京" passes sh:minLength 6. pySHACL 0.40.1 agrees with
#          the specification in all three.
# Matters: shapes with lengths pass with English test data and refuse names and labels in nearly every other language, or let
#          through what is too short; the report says only that the length is wrong.
# Instead: use sh:pattern "^.{1,6}$", which counts characters in both, or another engine, for constraints on lengths.
# Source:  SHACL, sh:minLength and sh:maxLength (the length is that of STRLEN); SPARQL 1.1 Query, section 17.4.3.2 (in characters).
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' html5rdf==1.2.1 importlib_metadata==10.2.0 isodate==0.7.2 lazy-importer==0.1.0 owlrl==7.6.2 packaging==26.4 prettytable==3.18.0 pyparsing==3.3.3 wcwidth==0.9.4 zipp==4.1.2 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'pyshacl==0.40.1' 'rdflib==7.6.0' 'pyrudof==0.3.35'
v/bin/python -W ignore - <<'END'
import logging, pyrudof, pyshacl, rdflib

logging.disable(logging.CRITICAL)
prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> . "
cases = {
    ("Zürich", "sh:maxLength 6"): (False, True),
    ("Łódź", "sh:maxLength 4"): (False, True),
    ("東京", "sh:minLength 6"): (True, False),
    ("Zurich", "sh:maxLength 6"): (True, True),
    ("Zürich", 'sh:pattern "^.{1,6}$"'): (True, True),
}
for (text, constraint), want in cases.items():
    data, shape = prefixes + ':a :p "%s" .' % text, prefixes + ":S a sh:NodeShape; sh:targetNode :a; sh:property [ sh:path :p; %s ] ." % constraint
    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_data(data)
    rudof.read_shacl(shape)
    seen = rudof.validate_shacl().conforms, pyshacl.validate(rdflib.Graph().parse(data=data, format="turtle"), shacl_graph=rdflib.Graph().parse(data=shape, format="turtle"))[0]
    print(text, constraint, "pyrudof conforms:", seen[0], "pySHACL conforms:", seen[1])
    if seen != want:
        raise SystemExit("behaviour has changed")
END
