#!/usr/bin/env bash
# A small web on three trefoil nodes of this machine, in under a minute: lists of links and
# rankings, one node killed by its process ID meanwhile, and a page's links in the browser.
set -euo pipefail

pages=${PAGES:-20k}
. "$(dirname "$0")/nodes.sh" "${1:?the trefoil binary}" 3

say "1. Three nodes, each a process with a directory and a port of its own"
start_all

say "2. A made-up web of $pages pages, loaded through node 1"
echo "\$ trefoil generate --links --pages $pages --seed 1 >web.edges"
"$trefoil" generate --links --pages "$pages" --seed 1 >web.edges
echo "\$ trefoil load --links --to $(url 1) web.edges"
"$trefoil" load --links --to "$(url 1)" web.edges 2>load.log || { cat load.log >&2; fail "the load failed"; }
sed -n '/^read/p;/^new/p;/^time/p' load.log
echo "\$ trefoil links stats --to $(url 2)"
"$trefoil" links stats --to "$(url 2)" >stats || fail "node 2 has no statistics of links"
sed -n '/^servers/p;/^pages/p;/^links/p;/^max/p;/^cells/p;/^bytes/p;/ pages/p' stats

say "3. Links, in both directions: the page that most links lead to in the file"
# The file itself says what the answers must be.
grep -v '^#' web.edges | sort -u >edges
page=$(cut -f 2 edges | sort | uniq -c | sort -k 1,1nr -k 2 | awk 'NR == 1 { print $2 }')
awk -F '\t' -v p="$page" '$1 == p { print $2 }' edges | sort >want.forward
awk -F '\t' -v p="$page" '$2 == p { print $1 }' edges | sort >want.backward
# lists writes the links of the page, and fails if they are not those of the file.
lists() {
  "$trefoil" links get --to "$1" "$page" 2>get.err | cut -f 2 | sort | cmp -s - want.forward &&
    "$trefoil" links get --to "$1" --backward "$page" 2>get.err | cut -f 1 | sort | cmp -s - want.backward
}
echo "\$ trefoil links degree --to $(url 3) $page"
"$trefoil" links degree --to "$(url 3)" "$page"
echo "\$ trefoil links get --to $(url 3) --backward $page | head -n 3"
"$trefoil" links get --to "$(url 3)" --backward "$page" >some
head -n 3 some
for i in 1 2 3; do
  lists "$(url "$i")" || fail "node $i: other links than in the file: $(cat get.err)"
  echo "node $i: all $(wc -l <want.forward) links from it and $(wc -l <want.backward) links to it, as in the file"
done

say "4. Rank: SALSA of the pages that link to it, and PageRank of all pages"
salsa() { "$trefoil" links rank --to "$1" --top 5 - <want.backward; }
echo "\$ trefoil links rank --to $(url 1) --top 5 - <the pages that link to it"
salsa "$(url 1)" >want.salsa || fail "no ranking"
cat want.salsa
for i in 2 3; do
  salsa "$(url "$i")" | cmp -s - want.salsa || fail "node $i ranks in another way"
done
echo "Nodes 2 and 3 rank in the same way."
pagerank() {
  "$trefoil" links pagerank start --to "$1" --watch >job 2>&1 || fail "PageRank: $(tail -n 1 job)"
  "$trefoil" links rank --to "$1" --algorithm pagerank --top 5 --all "$page"
}
echo "\$ trefoil links pagerank start --to $(url 3) --watch"
echo "\$ trefoil links rank --to $(url 3) --algorithm pagerank --top 5 --all $page"
pagerank "$(url 3)" >want.pagerank
cat want.pagerank

say "5. Kill node 2, and go on asking the other two"
(
  n=0
  while [ ! -e enough ]; do
    for i in 1 3; do
      if lists "$(url "$i")" && salsa "$(url "$i")" >loop 2>loop.err; then
        cmp -s want.salsa loop || { cp loop wrong; exit 1; }
        n=$((n + 1))
        echo "$n" >answers.new && mv answers.new answers
      elif [ ! -s get.err ] && [ ! -s loop.err ]; then
        echo "other links than in the file" >wrong
        exit 1
      else
        cat get.err loop.err >>refusals
      fi
    done
  done
) &
asking=$!
process[4]=$asking
for _ in $(seq 100); do [ -e answers ] && break || sleep 0.1; done
echo "\$ kill -9 ${process[2]}      # node 2"
kill -KILL "${process[2]}"
wait "${process[2]}" 2>/dev/null || true
killed=$SECONDS
before=$(cat answers)
whole 2 "$(url 1)"
echo "whole again, on two, after $((SECONDS - killed)) s"
for _ in $(seq 300); do [ "$(cat answers)" -gt $((before + 5)) ] && break || sleep 0.1; done
touch enough
wait "$asking" || fail "a wrong answer: $(cat wrong)"
[ "$(cat answers)" -gt $((before + 5)) ] || fail "no answers after the kill: $(tail -n 1 refusals)"
echo "$(cat answers) times asked for both lists and the ranking, every one complete and right;"
echo "$(cat refusals 2>/dev/null | wc -l) times a node had to say that it cannot answer now."

say "6. PageRank again, by the two that are left"
echo "\$ trefoil links pagerank start --to $(url 3) --watch"
pagerank "$(url 3)" >got.pagerank
cat got.pagerank
[ "$(cut -f 2 want.pagerank)" = "$(cut -f 2 got.pagerank)" ] || fail "another PageRank than before the loss"

say "7. The page's links in a browser, with their scores: the console of node 1"
query="SELECT ?to ?score { <$page> <urn:trefoil:linksTo> ?to . (?to) <urn:trefoil:links:salsa> (?score) } ORDER BY DESC(?score) LIMIT 10"
# encoded writes a text of ASCII as a part of a URL.
encoded() {
  local text=$1 i
  for ((i = 0; i < ${#text}; i++)); do
    case ${text:i:1} in
      [a-zA-Z0-9._~-]) printf '%s' "${text:i:1}" ;;
      *) printf '%%%02X' "'${text:i:1}" ;;
    esac
  done
}
echo "open $(url 1)/#query=$(encoded "$query")"
echo "The command line has the same:"
echo "\$ trefoil query --to $(url 1) -e '$query'"
"$trefoil" query --to "$(url 1)" --format table -e "$query" || fail "the query failed"
if [ -t 0 ] && [ -t 1 ]; then
  read -r -p "Enter ends the demo, as does a minute without it. " -t 60 || true
fi

say "Try next: docs/LINKS.md, and trefoil links --help"
