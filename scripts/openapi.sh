#!/usr/bin/env bash
# Tries a new server with requests that schemathesis makes from /openapi.json, for at
# most a minute (SECONDS_MAX). Fails if an answer has a status, a media type or a
# member that the document does not have. Without schemathesis it does nothing, and
# prints so. Usage: scripts/openapi.sh bin/trefoil
set -euo pipefail

st=${ST:-st}
if ! command -v "$st" >/dev/null 2>&1; then
  echo "openapi: not run: there is no schemathesis (pip install schemathesis, or ST=path/to/st)"
  exit 0
fi
dir=$(mktemp -d)
server=
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" || true; fi; rm -rf "$dir"' EXIT
port=${PORT:-17377}
"$1" serve --data "$dir/data" --listen "127.0.0.1:$port" >"$dir/log" 2>&1 &
server=$!
"$1" status --to "http://127.0.0.1:$port" --ready --wait 30s >/dev/null

# Left out are streams without an end, reads of the whole store, and bodies that
# schemathesis cannot write.
cd "$dir" # schemathesis leaves files in its folder
timeout 180 "$st" run "http://127.0.0.1:$port/openapi.json" --max-time "${SECONDS_MAX:-60}" --phases examples,coverage,fuzzing \
  --max-examples 5 --request-timeout 10 --no-shrink --exclude-path /changes --exclude-path /backup --exclude-path /check --exclude-path "/debug/pprof/{profile}" \
  --exclude-path /restore --exclude-path /links/update --exclude-name "PUT /functions/{name}" --exclude-name "POST /annotations" \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance
