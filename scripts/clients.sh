#!/usr/bin/env bash
# Installs the clients written by others that the tests of integration compare
# with: Debian's rdflib and SPARQLWrapper, for /usr/bin/python3. Where that cannot
# be done, as without a network, it says why and succeeds: the tests that need a
# client then skip. Where the package registry is reached it is to succeed.
set -euo pipefail

missing=()
/usr/bin/python3 -c 'import rdflib.plugins.sparql' 2>/dev/null || missing+=(python3-rdflib)
/usr/bin/python3 -c 'import SPARQLWrapper' 2>/dev/null || missing+=(python3-sparqlwrapper)
if [ "${#missing[@]}" -eq 0 ]; then
  echo "clients: rdflib and SPARQLWrapper are there"
  exit 0
fi

without() {
  echo "clients: ${missing[*]} left out: $1; the tests that need them skip"
  exit 0
}

command -v apt-get >/dev/null 2>&1 || without "there is no apt-get"
sudo=()
if [ "$(id -u)" != 0 ]; then
  sudo -n true 2>/dev/null || without "apt-get needs root"
  sudo=(sudo -n)
fi
apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
reached=true
"${apt[@]}" -o APT::Update::Error-Mode=any update || reached=false
for package in "${missing[@]}"; do
  apt-cache show "$package" >/dev/null 2>&1 || without "no registry that is reached has $package"
done
if ! "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null; then
  [ "$reached" = true ] || without "a package registry is not reached"
  echo "clients: ${missing[*]} cannot be installed" >&2
  exit 1
fi
echo "clients: installed ${missing[*]}"
