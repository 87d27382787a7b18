#!/usr/bin/env bash
# Runs suites; the last line says how many tests passed and failed. SCOPE says which:
#
#	quick  what each change needs: all packages but for their slow tests (seed.Slow), a sample of
#	       those of clusters, and of integration/ no processes and no foreign clients
#	rest   what quick leaves out, and all tests of clusters
#	all    all of them, then the packages of RACE, if any, with the race detector; the default
#
# PACKAGES and RACE are lists of packages. With TREFOIL_LONG=1 the longest tests run, too.
set -euo pipefail

go=${GO:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$go" build -o "$work/testsum" ./scripts/testsum

# What internal/testing/testbinary says to the suites that run trefoil.
"$go" build -o "$work/trefoil" .
export TREFOIL_BINARY=$work/trefoil

# What a store keeps free on a small disk, because the tests must run on a large one with little
# space, too.
export TREFOIL_KEEP_FREE=64MiB

# What takes longest begins first: at the end, then, no core waits for another.
long=(./integration/cluster ./integration/cli ./integration/processes ./rdfload ./internal/store ./internal/replica ./integration/rdflib ./triple
  ./internal/testing/model ./integration/bench/cluster)
long_race=(./internal/store ./internal/linkgraph ./internal/cluster/reads ./internal/server ./rdfload)

# named writes the packages of its arguments, the first ones first, one a line.
named() { "$go" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}' "$@"; }

# ordered writes the packages of the file $1, but first those of them that follow.
ordered() {
  local all=$1
  shift
  { named "$@" | grep -Fxf "$all" || true; cat "$all"; } | awk '!seen[$1]++ { print $1 }'
}

# same_under_race keeps of the packages those whose tests run under the race detector as they do
# without it, because none of them imports internal/testing/race. The names of those that ask whether they are
# short go to the file $1: they run without it, too.
same_under_race() {
  local path dir
  while read -r path dir; do
    if ! grep -q '/internal/testing/race"' "$dir"/*_test.go && ! short_helpers "$dir"; then
      echo "$path $dir"
      short_tests "$dir" | sed "s|^|$path |" >>"$1"
    fi
  done
}

# short_tests writes the functions of the tests of a directory that ask whether they are short.
short_tests() {
  awk '/^func /{ sub(/\(.*/, "", $2); name = $2 } /testing\.Short\(/{ print name }' "$1"/*_test.go | sort -u
}

# short_helpers says whether one of them is no test, but called by tests.
short_helpers() { [ -n "$(short_tests "$1" | grep -vE '^Test' || true)" ]; }

# quick_packages keeps the packages that the scope quick runs.
quick_packages() { grep -Ev '/integration/(abuse|bench|cli|clients|processes|rdflib)[/ ]'; }

# slow_tests writes packages and names of the slow tests in packages.
slow_tests() {
  local path dir
  while read -r path dir; do
    awk -v path="$path" '/^func Test/{ sub(/\(.*/, "", $2); name = $2 } /seed\.Slow\(/{ print path, name }' "$dir"/*_test.go
  done
}

# scope writes the packages of SCOPE among those of the file $1.
scope() {
  case ${SCOPE:-all} in
  quick) quick_packages <"$1" ;;
  rest)
    quick_packages <"$1" >"$work/quick"
    slow_tests <"$work/quick" >>"$work/named"
    { grep -Fxvf "$work/quick" "$1" || true; } && { grep '/integration/cluster ' "$1" || true; }
    ;;
  all) cat "$1" ;;
  *) echo "SCOPE is quick, rest or all, not ${SCOPE}" >&2 && return 1 ;;
  esac
}

# run_tests runs tests of packages. Compilers and linkers that collect their garbage less often take a tenth
# less time; the tests collect it as usual.
run_tests() { GOGC=400 "$go" test -exec 'env GOGC=100' -json -vet=off -timeout 20m "$@" || touch "$work/failed"; }

suites() {
  local compiler race=false packages names
  compiler=$("$go" env CC)
  if [ -n "${RACE:-}" ] && [ "$("$go" env CGO_ENABLED)" = 1 ] && command -v "${compiler%% *}" >/dev/null 2>&1; then
    race=true
  fi
  # shellcheck disable=SC2086 # lists of packages
  named ${PACKAGES:-./...} >"$work/every"
  : >"$work/named"
  scope "$work/every" >"$work/packages"
  if [ "${SCOPE:-all}" = quick ]; then export TREFOIL_QUICK=1; fi
  : >"$work/once"
  if $race; then
    # shellcheck disable=SC2086
    named $RACE >"$work/race"
    same_under_race "$work/named" <"$work/race" >"$work/once"
  fi
  grep -Fxvf "$work/once" "$work/packages" >"$work/plain" || true
  # make lint vets all packages.
  mapfile -t packages < <(ordered "$work/plain" "${long[@]}")
  if [ "${#packages[@]}" -gt 0 ]; then
    run_tests "${packages[@]}"
  fi
  if [ -s "$work/named" ]; then
    mapfile -t packages < <(awk '!seen[$1]++ { print $1 }' "$work/named")
    names=$(awk '{ print $2 }' "$work/named" | sort -u | paste -sd '|')
    run_tests -run "^($names)\$" "${packages[@]}"
  fi
  if $race; then
    mapfile -t packages < <(ordered "$work/race" "${long_race[@]}")
    # pebblegozstd: Zstandard in Go, as where there is no C compiler. It compiles in no time.
    GOGC=400 "$go" build -race -tags pebblegozstd "${packages[@]}" || touch "$work/failed"
    GOGC=400 "$go" test -exec 'env GOGC=100' -json -race -short -tags pebblegozstd -vet=off -timeout 20m "${packages[@]}" || touch "$work/failed"
  elif [ -n "${RACE:-}" ]; then
    echo "no C compiler: the race detector is left out"
  fi
}

suites 2>&1 | "$work/testsum"
[ ! -e "$work/failed" ]
