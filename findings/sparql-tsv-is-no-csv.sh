#!/usr/bin/env bash
# SPARQL's TSV results read by pandas or pyarrow lose the kind of each term, and quotation marks.
#
# Guess:   SPARQL TSV is tab-separated text, so read_csv with a tab as separator gives the terms as they were sent.
# Seen:    pandas 3.0.0 and pyarrow 22.0.0: the string "1" and the integer 1 are both 1; "Ann"@en is Ann@en; "say \"hi\" now"@en is
#          say \hi\" now"@en. Terms stand in Turtle's quotes with backslashes, both readers take them for CSV's quotes. duckdb 1.4.2
#          guesses the quotes right and keeps the terms.
# Matters: it goes unseen: no error, right number of rows. Joins of the frame with other data find "1" beside 1 and no Ann, and
#          terms cannot be sent back to the store.
# Instead: pandas.read_csv(..., sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False, dtype=str), then parse the terms; or ask for
#          JSON. CSV results are for reading as CSV, but have no types at all.
# Source:  SPARQL 1.1 Query Results CSV and TSV Formats, section 4.
# Needs:   python3 with venv.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
printf '%s\n' numpy==2.4.6 python-dateutil==4.0.0 six==1.17.0 tzdata==2026.6 >pins
python3 -m venv v && v/bin/pip -q install -c pins 'pandas==3.0.0' 'pyarrow==22.0.0' 'duckdb==1.4.2' 'pyoxigraph==0.5.13'
v/bin/python - <<'END'
import csv, duckdb, pandas, pyarrow.csv, pyoxigraph

query = r'SELECT ?x { VALUES (?n ?x) { (1 "1") (2 1) (3 "Ann"@en) (4 "say \"hi\" now"@en) } } ORDER BY ?n'
pyoxigraph.Store().query(query).serialize("rows.tsv", format=pyoxigraph.QueryResultsFormat.TSV)
sent = open("rows.tsv").read().splitlines()
seen = {
    "pandas": list(pandas.read_csv("rows.tsv", sep="\t")["?x"]),
    "pyarrow": pyarrow.csv.read_csv("rows.tsv", parse_options=pyarrow.csv.ParseOptions(delimiter="\t"))["?x"].to_pylist(),
    "duckdb": [row[0] for row in duckdb.sql("SELECT * FROM read_csv('rows.tsv', delim='\t', header=true)").fetchall()],
    "without quotes": list(pandas.read_csv("rows.tsv", sep="\t", quoting=csv.QUOTE_NONE, keep_default_na=False, dtype=str)["?x"]),
}
print("sent:", *sent, sep="\n")
for name, terms in seen.items():
    print(f"{name}:", *terms, sep="\n")
lost = ["1", "1", "Ann@en", r'say \hi\" now"@en']
if seen != {"pandas": lost, "pyarrow": lost, "duckdb": sent[1:], "without quotes": sent[1:]}:
    raise SystemExit("behaviour has changed")
END
