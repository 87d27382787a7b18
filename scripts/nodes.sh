# shellcheck shell=bash
# What the demos with a cluster share: nodes on this machine's loopback, each a process with a
# directory and a port of its own. It is sourced, with the binary as $1 and the number of nodes as $2.

trefoil=$(realpath "${1:?the trefoil binary}")
nodes=$2
demo=$(basename "$0" .sh)
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
  printf '\n%s: %s\n' "$demo" "$*" >&2
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
for i in $(seq "$nodes"); do address[i]=127.0.0.1:$(port); done
url() { echo "http://${address[$1]}"; }

# start starts a node, with more arguments of serve.
start() {
  local i=$1
  shift
  echo "\$ trefoil serve --data data$i --listen ${address[$i]}${*:+ $*} &"
  : >"n$i.log" # start_all may read it before the node's own shell makes it
  "$trefoil" serve --data "data$i" --listen "${address[$i]}" "$@" 2>>"n$i.log" &
  process[i]=$!
}

# start_all starts all nodes: the others join the first one. It takes more arguments of serve.
start_all() {
  start 1 "$@"
  for _ in $(seq 100); do
    grep -q serving n1.log && break
    kill -0 "${process[1]}" 2>/dev/null || fail "the first node did not start"
    sleep 0.1
  done
  for i in $(seq 2 "$nodes"); do start "$i" --join "${address[1]}" "$@"; done
  whole "$nodes" "$(url 1)"
}

status() { "$trefoil" cluster status --json --to "$1"; }

# whole waits until the given number of members are up, and nothing has been rebuilt or moved
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
