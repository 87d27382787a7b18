#!/usr/bin/env bash
# Five trefoil nodes on this machine in about a minute: they form a cluster, hold
# generated data, and lose two of them to kill -9 while queries run.
set -euo pipefail

trefoil=$(realpath "${1:?the trefoil binary}")
triples=${TRIPLES:-100k}
work=$(mktemp -d)
declare -a process # by the node's number: the process that this script started

finish() {
  trap - EXIT
  for id in "${process[@]}"; do kill -KILL "$id" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$work"

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

fail() {
  printf '\ndemo-cluster: %s\n' "$*" >&2
  for log in n*.log; do
    printf '%s ends with\n' "$log" >&2
    tail -n 5 "$log" >&2
  done
  exit 1
}

# A port that nobody listens at, for each node.
port() {
  for _ in $(seq 200); do
    local p=$((10000 + RANDOM % 20000))
    if ! (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null; then
      echo "$p"
      return
    fi
  done
  fail "no free port"
}
declare -a address
for i in 1 2 3 4 5; do address[i]=127.0.0.1:$(port); done
url() { echo "http://${address[$1]}"; }

start() {
  local i=$1
  shift
  "$trefoil" serve --data "data$i" --listen "${address[$i]}" "$@" 2>"n$i.log" &
  process[i]=$!
}

status() { "$trefoil" cluster status --json --to "$1"; }

# whole waits until so many members are there, and nothing has been rebuilt or moved
# for a second.
whole() {
  local members=$1 at=$2 text= quiet=0
  for _ in $(seq 300); do
    text=$(status "$at" 2>/dev/null || true)
    if [ "$(grep -o '"state": *"up"' <<<"$text" | wc -l)" = "$members" ] &&
      ! grep -q '"state": *"down"' <<<"$text" &&
      ! grep -q '"waiting"' <<<"$text" && grep -q '"phase": *"idle"' <<<"$text" && grep -q '"rebuilding": *0' <<<"$text"; then
      quiet=$((quiet + 1))
      [ "$quiet" -lt 10 ] || return 0
    else
      quiet=0
    fi
    sleep 0.1
  done
  fail "the cluster is not whole after half a minute: $text"
}

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
echo "\$ trefoil serve --data data1 --listen ${address[1]} &"
start 1
for _ in $(seq 100); do
  grep -q serving n1.log && break
  kill -0 "${process[1]}" 2>/dev/null || fail "the first node did not start"
  sleep 0.1
done
for i in 2 3 4 5; do
  echo "\$ trefoil serve --data data$i --listen ${address[$i]} --join ${address[1]} &"
  start "$i" --join "${address[1]}"
done
whole 5 "$(url 1)"

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
for i in 2 4; do
  echo "\$ trefoil serve --data data$i --listen ${address[$i]} --join ${address[1]} &"
  start "$i" --join "${address[1]}"
done
whole 5 "$(url 1)"
"$trefoil" cluster status --to "$(url 4)"
for i in 1 2 3 4 5; do
  ask "$(url "$i")" >got || fail "node $i does not answer"
  cmp -s want got || fail "node $i answers something else"
done
echo
echo "All five give the same solutions as at first."

say "Try next: README.md, \"Grow to a cluster\", and docs/OPERATIONS.md for what to do when something fails"
