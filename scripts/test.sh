#!/usr/bin/env bash
# All suites, then once more with the race detector where goroutines share
# memory. The last line says how many tests passed and failed. PACKAGES and RACE
# are lists of packages.
set -euo pipefail

go=${GO:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$go" build -o "$work/testsum" ./scripts/testsum

suites() {
  # make lint vets all packages.
  # shellcheck disable=SC2086 # lists of packages
  "$go" test -json -vet=off -timeout 14m ${PACKAGES:-./...} || touch "$work/failed"
  local compiler
  compiler=$("$go" env CC)
  if [ "$("$go" env CGO_ENABLED)" = 1 ] && command -v "${compiler%% *}" >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    "$go" test -json -race -short -vet=off -timeout 14m ${RACE:-./...} || touch "$work/failed"
  else
    echo "no C compiler: the race detector is left out"
  fi
}

suites 2>&1 | "$work/testsum"
[ ! -e "$work/failed" ]
