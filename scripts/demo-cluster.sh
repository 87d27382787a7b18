#!/usr/bin/env bash
# Five trefoil nodes on this machine in about a minute: they form a cluster, hold
# generated data, and lose two of them to kill -9 while queries run.
set -euo pipefail

triples=${TRIPLES:-100k}
. "$(dirname "$0")/nodes.sh" "${1:?the trefoil binary}" 5

# spread waits until each of five members answers for some of the data: segments
# are split as they grow, and moved by and by.
spread() {
  local at=$1 text=
  for _ in $(seq 300); do
    text=$(status "$at" 2>/dev/null || true)
    [ "$(grep -o '"segments": *[1-9]' <<<"$text" | wc -l)" = 6 ] && break
    sleep 0.1
  done
  whole 5 "$at"
}

say "1. Five nodes, each a process with a directory and a port of its own"
start_all

say "2. Load a sample through any of them: $triples triples of universities, people and courses"
echo "\$ trefoil generate --kind lubm --triples $triples --seed 1 >sample.nt"
"$trefoil" generate --kind lubm --triples "$triples" --seed 1 >sample.nt
echo "\$ trefoil load --to $(url 3) sample.nt"
"$trefoil" load --to "$(url 3)" sample.nt 2>load.log || { cat load.log >&2; fail "the load failed"; }
sed -n '/^read/p;/^new/p;/^time/p' load.log
echo "Their segments are split and spread over the five:"
spread "$(url 1)"
echo "\$ trefoil cluster status --to $(url 2)"
"$trefoil" cluster status --to "$(url 2)"

say "3. The same question to each node: which heads of departments advise the most students?"
ub=http://trefoil.example/onto/univ-bench.owl#
query="PREFIX ub: <${ub}>
SELECT ?head (COUNT(?student) AS ?students) {
  ?head ub:headOf ?department . ?student ub:advisor ?head
} GROUP BY ?head ORDER BY DESC(?students) ?head LIMIT 3"
ask() { "$trefoil" query --to "$1" --format csv -e "$query" && "$trefoil" count --to "$1" "? <${ub}takesCourse> ?" && "$trefoil" count --to "$1" '? ? ?'; }
echo "\$ trefoil query --to $(url 1) -e '$query'"
ask "$(url 1)" >want
"$trefoil" query --to "$(url 1)" --format table -e "$query"
for i in 1 2 3 4 5; do
  ask "$(url "$i")" >got || fail "node $i does not answer"
  cmp -s want got || fail "node $i answers something else"
  echo "node $i: the same solutions; $(sed -n '$p' got) triples in all"
done

say "4. Kill two of the five at once, and go on asking the other three"
(
  n=0
  while [ ! -e enough ]; do
    for i in 1 3 5; do
      if ask "$(url "$i")" >loop 2>loop.err; then
        cmp -s want loop || { cp loop wrong; exit 1; }
        n=$((n + 1))
        echo "$n" >answers
      else
        echo "$(cat loop.err)" >>refusals
      fi
    done
  done
) &
asking=$!
process[6]=$asking
for _ in $(seq 100); do [ -e answers ] && break || sleep 0.1; done
echo "\$ kill -9 ${process[2]} ${process[4]}      # nodes 2 and 4"
kill -KILL "${process[2]}" "${process[4]}"
wait "${process[2]}" "${process[4]}" 2>/dev/null || true
killed=$SECONDS
before=$(cat answers)
whole 3 "$(url 1)"
echo "whole again, on three, after $((SECONDS - killed)) s"
for _ in $(seq 300); do [ "$(cat answers)" -gt $((before + 5)) ] && break || sleep 0.1; done
touch enough
wait "$asking" || fail "a wrong answer: $(cat wrong)"
[ "$(cat answers)" -gt $((before + 5)) ] || fail "no answers after the kill: $(tail -n 1 refusals)"
echo "$(cat answers) times asked, $((3 * $(cat answers))) answers, every one complete and right;"
echo "$(cat refusals 2>/dev/null | wc -l) times a node had to say that it cannot answer now."

say "5. The three have made the lost copies again: nothing is rebuilding, nothing is lost"
echo "\$ trefoil cluster status --to $(url 5)"
"$trefoil" cluster status --to "$(url 5)"

say "6. The two come back, as new machines: the others have gone on without them"
for i in 2 4; do start "$i" --join "${address[1]}"; done
whole 5 "$(url 1)"
"$trefoil" cluster status --to "$(url 4)"
for i in 1 2 3 4 5; do
  ask "$(url "$i")" >got || fail "node $i does not answer"
  cmp -s want got || fail "node $i answers something else"
done
echo
echo "All five give the same solutions as at first."

say "Try next: \"A cluster\" in docs/TUTORIAL.md, and docs/operations/cluster.md for what to do when something fails"
