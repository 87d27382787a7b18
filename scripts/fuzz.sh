#!/usr/bin/env bash
# Runs every native fuzz target of the module for the given time each.
set -euo pipefail

go=${GO:-go}
time=${1:-1m}
count=0

for package in $("$go" list ./...); do
  for target in $("$go" test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
    echo "== $package $target"
    # By default a minute goes into making each interesting input smaller.
    "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$package"
    count=$((count + 1))
  done
done
echo "$count fuzz targets, $time each: no failure"
