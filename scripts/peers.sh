#!/usr/bin/env bash
# Installs the peers of `make bench-peers` into a folder: scripts/peers.sh [DIR [PEER ...]].
# Each peer is optional: a line says which one is left out. Nothing is installed outside of DIR.
set -uo pipefail

dir=${1:-.peers}
shift || true
[ $# -gt 0 ] || set -- virtuoso fuseki oxigraph
fuseki=5.5.0
oxigraph=0.5.13
mkdir -p "$dir" && cd "$dir" || exit 1

# virtuoso unpacks Debian's packages, with two libraries that few machines have. apt checks them.
virtuoso() {
  mkdir -p virtuoso/libraries && cd virtuoso &&
    apt-get download -qq virtuoso-opensource-7-bin libminizip1 libpcre3 &&
    for package in *.deb; do dpkg -x "$package" . || return 1; done
  find usr lib -name 'lib*.so*' -exec mv {} libraries ';'
  rm -f ./*.deb
  version=$(LD_LIBRARY_PATH=libraries usr/bin/virtuoso-t -? 2>&1 || true)
  grep -m1 -o 'Version [0-9.]*' <<<"$version"
}

# fuseki is one file of Maven Central; it needs Java 17.
fuseki() {
  java -version 2>&1 | head -1 &&
    mvn -q org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy -Dmdep.stripVersion=true \
      -Dartifact=org.apache.jena:jena-fuseki-server:$fuseki -DoutputDirectory="$PWD/fuseki" &&
    echo "Fuseki $fuseki"
}

# oxigraph is the library of PyPI; integration/bench/peers/oxigraph.py serves it over HTTP.
oxigraph() {
  python3 -m venv oxigraph && oxigraph/bin/pip install -q pyoxigraph==$oxigraph && echo "Oxigraph $oxigraph"
}

for peer; do
  [ -e "$peer/installed" ] && continue
  rm -rf "$peer"
  if (set -e -o pipefail; "$peer") >"$peer.log" 2>&1; then
    mv "$peer.log" "$peer/installed"
    echo "$peer: $(tail -1 "$peer/installed")"
  else
    echo "$peer: left out, it could not be installed: $(tail -1 "$peer.log")"
    rm -rf "$peer"
  fi
done
