#!/usr/bin/env bash
# All suites, then once more with the race detector where goroutines share
# memory. The last line says how many tests passed and failed.
set -euo pipefail

go=${GO:-go}
race=${RACE:-./...}
tests=$(mktemp)
trap 'rm -f "$tests"' EXIT
failed=0

"$go" test -json -timeout 14m ./... >"$tests" || failed=1

cgo=$("$go" env CGO_ENABLED)
compiler=$("$go" env CC)
if [ "$cgo" = 1 ] && command -v "${compiler%% *}" >/dev/null 2>&1; then
  # shellcheck disable=SC2086 # RACE is a list of packages
  "$go" test -json -race -short -timeout 14m $race >>"$tests" || failed=1
else
  echo "no C compiler: the race detector is left out"
fi

"$go" run ./scripts/testsum <"$tests" || failed=1
exit "$failed"
