#!/usr/bin/env bash
# Runs every native fuzz target of the module for the given time each.
set -euo pipefail

go=${GO:-go}
time=${1:-1m}
count=0

for package in $("$go" list ./...); do
  for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "== $package $target"
    "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package"
    count=$((count + 1))
  done
done
echo "$count fuzz targets, $time each: no failure"
