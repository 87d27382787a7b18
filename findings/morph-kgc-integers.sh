#!/usr/bin/env bash
# morph-kgc sends every xsd:integer through a double: identifiers of 17 digits and more become other identifiers.
#
# Guess:   a column mapped with rr:datatype xsd:integer keeps its digits: the file is read as text.
# Seen:    morph-kgc 2.10.0: 9007199254740993 becomes 9007199254740992, 1234567890123456789 becomes 1234567890123456768, and what
#          exceeds 64 bits another number altogether, on some processors a negative one. As xsd:unsignedLong all digits stay.
# Matters: keys of posts, users, transactions and times in nanoseconds are that large. Two rows get one identifier, joins with
#          other data miss, a large amount is negative; no error, no warning, and the literals are well-formed.
# Instead: map such columns with xsd:long or xsd:unsignedLong (or another derived type that fits), which are left as text.
# Source:  R2RML, section 10.3 (a datatype in the map is put on the value as a string); XML Schema 1.1 Datatypes, section 3.4.13 (integer
#          has no bound).
# Needs:   python3.11 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' duckdb==1.5.6 elementpath==4.8.0 falcon==4.4.0 jsonpath-python==1.0.6 numpy==2.4.6 pandas==2.3.3 pyoxigraph==0.3.22 \
  pyparsing==3.3.3 python-dateutil==4.0.0 pytz==2026.6 rdflib==7.2.1 ruamel.yaml==0.18.17 ruamel.yaml.clib==0.2.15 tzdata==2026.6 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'morph-kgc==2.10.0'
printf '%s\n' row,id 1,9007199254740993 2,1234567890123456789 3,18446744073709551615 >posts.csv
cat >mapping.ttl <<'END'
@prefix rr: <http://www.w3.org/ns/r2rml#> . @prefix rml: <http://semweb.mmlab.be/ns/rml#> . @prefix ql: <http://semweb.mmlab.be/ns/ql#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix ex: <http://example.org/> .
<#posts> rml:logicalSource [ rml:source "posts.csv"; rml:referenceFormulation ql:CSV ];
  rr:subjectMap [ rr:template "http://example.org/{row}" ];
  rr:predicateObjectMap [ rr:predicate ex:integer; rr:objectMap [ rml:reference "id"; rr:datatype xsd:integer ] ],
    [ rr:predicate ex:long; rr:objectMap [ rml:reference "id"; rr:datatype xsd:unsignedLong ] ].
END
printf '%s\n' '[CONFIGURATION]' 'logging_level=ERROR' '[posts]' 'mappings=mapping.ttl' >config.ini
cat >map.py <<'END'
import morph_kgc, re
triples = sorted(re.findall(r'/(\d)> <http://example.org/(\w+)> "([^"]*)"', "\n".join(morph_kgc.materialize_set("config.ini"))))
for name in ("integer", "long"):
    values = [value for _, kind, value in triples if kind == name]
    print(name, *values[:2], "lost" if values[2] != "18446744073709551615" else "kept")
END
seen=$(v/bin/python -W ignore map.py)
echo "$seen"
want='integer 9007199254740992 1234567890123456768 lost
long 9007199254740993 1234567890123456789 kept'
[ "$seen" = "$want" ] || { echo "behaviour has changed; it was:" "$want" >&2; exit 1; }
