#!/usr/bin/env bash
# trefoil in some seconds once it is built: generate, load, serve and ask a sample, then stop.
set -euo pipefail

trefoil=$(realpath "${1:?the trefoil binary}")
work=$(mktemp -d)
server=

finish() {
  if [ -n "$server" ]; then
    kill -TERM "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap finish EXIT
cd "$work"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }
# run shows a command as one would type it, then runs it.
run() {
  printf '$ trefoil'
  for word in "$@"; do
    case $word in
      *[!A-Za-z0-9_./:=-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$trefoil" "$@"
}

ub=http://trefoil.example/onto/univ-bench.owl#

say "1. A sample: universities with their people, courses and publications, 200,000 triples"
echo '$ trefoil generate --kind lubm --triples 200k --seed 1 >sample.nt'
"$trefoil" generate --kind lubm --triples 200k --seed 1 >sample.nt

say "2. Load it, sorted three ways: by subject, by predicate and by object"
run load --data store sample.nt

say "3. Serve it on loopback"
echo '$ trefoil serve --data store --listen 127.0.0.1:0 &'
: >serve.log # the loop may read it before the server's own shell makes it
"$trefoil" serve --data store --listen 127.0.0.1:0 2>>serve.log &
server=$!
url=
for _ in $(seq 100); do
  url=$(sed -n 's/.*\(http:\/\/127\.0\.0\.1:[0-9]*\).*/\1/p' serve.log | head -n 1)
  [ -z "$url" ] || break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
cat serve.log
[ -n "$url" ] || { echo "demo: the server did not start" >&2; exit 1; }

say "4. A range: who was born in the first days of 1998? (order POS: predicate, then object by value)"
run range --to "$url" --order pos --prefix "<${ub}birthDate>" --ge '"1998-01-01"^^xsd:date' --lt '"1998-01-15"^^xsd:date' --limit 5

say "5. A pattern: all about one department"
run match --to "$url" '<http://www.Department0.University0.edu> ? ?'

say "6. SPARQL: which heads of departments advise the most students? And how the store finds the answer"
query="PREFIX ub: <${ub}>
SELECT ?head (COUNT(?student) AS ?students) {
  ?head ub:headOf ?department . ?student ub:advisor ?head
} GROUP BY ?head ORDER BY DESC(?students) ?head LIMIT 3"
run query --to "$url" --format table -e "$query"
run query --to "$url" --explain -e "$query"

say "7. Triples over plain HTTP, as JSON"
if command -v curl >/dev/null 2>&1; then
  echo "\$ curl -H 'Accept: application/json' '$url/triples?p=<${ub}headOf>&limit=1'"
  curl -sS -g -G -H 'Accept: application/json' --data-urlencode "p=<${ub}headOf>" -d limit=1 "$url/triples"
  echo
fi
run count --to "$url" "? <${ub}takesCourse> ?"

say "8. Stop the server and verify the store"
kill -TERM "$server"
wait "$server"
server=
run check --data store

say "Try next, with your own files:"
cat <<'TEXT'
  bin/trefoil load --data mystore FILE...          N-Triples, N-Quads, Turtle, TriG, RDF/XML, JSON-LD; .gz .bz2 .zst .xz
  bin/trefoil serve --data mystore                 http://127.0.0.1:7333, with a console in the browser
  bin/trefoil query -e 'SELECT ...'                SPARQL 1.2; trefoil update changes data
  bin/trefoil range --order osp --starts '"Mü'     all triples whose object is a string that begins with Mü
  bin/trefoil convert FILE.ttl                     strict check, canonical N-Quads
  bin/trefoil --help                               and docs/TUTORIAL.md, docs/api
TEXT
