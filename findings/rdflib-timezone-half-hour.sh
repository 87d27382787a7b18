#!/usr/bin/env bash
# rdflib's TIMEZONE drops the minutes of a time zone.
#
# Guess:   TIMEZONE of a dateTime in India is "PT5H30M", as in the example of the SPARQL specification for other zones.
# Seen:    rdflib 7.6.0: "PT5H" for +05:30, "-PT3H" for Newfoundland's -03:30, and "P0D" for -00:30, as for UTC.
#          pyoxigraph 0.5.13 has PT5H30M, -PT3H30M, -PT30M.
# Matters: a sixth of mankind lives in zones with minutes. A query that is tried in rdflib and run in a store, or a conversion
#          to UTC built on TIMEZONE, is wrong by half an hour with no message.
# Instead: use TZ(), which keeps "+05:30", or let the store compute; compare dateTimes themselves.
# Source:  SPARQL 1.1 Query, section 17.4.5.8; which names XPath's fn:timezone-from-dateTime.
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' isodate==0.7.2 pyparsing==3.3.3 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'rdflib==7.6.0' 'pyoxigraph==0.5.13'
v/bin/python - <<'END'
import pyoxigraph, rdflib

for zone, wrong, right in (("+05:30", "PT5H", "PT5H30M"), ("-03:30", "-PT3H", "-PT3H30M"), ("-00:30", "P0D", "-PT30M")):
    moment = f'"2026-01-01T00:00:00{zone}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    query = f"SELECT (TIMEZONE({moment}) AS ?zone) (TZ({moment}) AS ?text) {{}}"
    here = [str(term) for term in next(iter(rdflib.Graph().query(query)))]
    peer = next(iter(pyoxigraph.Store().query(query)))
    print(zone, "rdflib:", here[0], "pyoxigraph:", peer["zone"].value)
    if here != [wrong, zone] or peer["zone"].value != right:
        raise SystemExit("behaviour has changed")
END
