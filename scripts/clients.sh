#!/usr/bin/env bash
# Installs the clients written by others that the tests of integration use: from
# Debian rdflib and SPARQLWrapper (for /usr/bin/python3), venv, Node.js with npm, and
# Chromium; from npm Comunica and jsonld.js, and what builds and tests the console;
# from PyPI what tests the package in python, and what docs/COMING-FROM.md compares
# with, as Fuseki and Virtuoso (scripts/peers.sh). What cannot be had, as without a network, is named
# and left out: the tests that need it then skip. Where a package registry is
# reached it is to succeed.
set -euo pipefail
cd "$(dirname "$0")/.."

left_out() { echo "clients: $1 left out: $2; the tests that need it skip"; }

debian() {
  local missing=() package sudo=() apt reached=true
  /usr/bin/python3 -c 'import rdflib.plugins.sparql' 2>/dev/null || missing+=(python3-rdflib)
  /usr/bin/python3 -c 'import SPARQLWrapper' 2>/dev/null || missing+=(python3-sparqlwrapper)
  python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  command -v node >/dev/null 2>&1 || missing+=(nodejs)
  command -v npm >/dev/null 2>&1 || missing+=(npm)
  command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || missing+=(chromium)
  [ "${#missing[@]}" -gt 0 ] || return 0
  command -v apt-get >/dev/null 2>&1 || { left_out "${missing[*]}" "there is no apt-get"; return 0; }
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || { left_out "${missing[*]}" "apt-get needs root"; return 0; }
    sudo=(sudo -n)
  fi
  apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=2 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
  "${apt[@]}" -o APT::Update::Error-Mode=any update || reached=false
  for package in "${missing[@]}"; do
    if ! apt-cache show "$package" >/dev/null 2>&1; then
      left_out "$package" "no registry that is reached has it"
    elif "${apt[@]}" install -y --no-install-recommends "$package" >/dev/null; then
      echo "clients: installed $package"
    elif [ "$reached" = true ]; then
      echo "clients: $package cannot be installed" >&2
      return 1
    else
      left_out "$package" "a package registry is not reached"
    fi
  done
}

comunica() {
  local at=integration/clients/testdata
  [ ! -d "$at/node_modules/@comunica/query-sparql" ] || [ ! -d "$at/node_modules/jsonld" ] || return 0
  command -v npm >/dev/null 2>&1 || { left_out "Comunica and jsonld.js" "there is no npm"; return 0; }
  if (cd "$at" && timeout 300 npm install --no-audit --no-fund --no-package-lock --ignore-scripts --loglevel=error \
    --fetch-retries=2 --fetch-timeout=30000 >/dev/null); then
    echo "clients: installed Comunica and jsonld.js"
  else
    rm -rf "$at/node_modules"
    left_out "Comunica and jsonld.js" "npm cannot install them"
  fi
}

console() {
  local at=console
  [ ! -d "$at/node_modules/playwright-core" ] || return 0
  command -v npm >/dev/null 2>&1 || { left_out "the console's packages" "there is no npm"; return 0; }
  if (cd "$at" && timeout 300 npm ci --no-audit --no-fund --ignore-scripts --loglevel=error \
    --fetch-retries=2 --fetch-timeout=30000 >/dev/null); then
    echo "clients: installed what builds and tests the console"
  else
    rm -rf "$at/node_modules"
    left_out "the console's packages" "npm cannot install them"
  fi
}

# python_package makes a virtual environment with the package in python, and what tests it.
python_package() {
  local at=python
  [ ! -x "$at/.venv/bin/pytest" ] || return 0
  if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    left_out "the Python package" "there is no Python 3.10"
  elif python3 -m venv "$at/.venv" >/dev/null 2>&1 &&
    (cd "$at" && timeout 300 .venv/bin/pip install --quiet --disable-pip-version-check --retries 2 --timeout 20 --editable '.[test]' >/dev/null); then
    echo "clients: installed what tests the Python package"
  else
    rm -rf "$at/.venv"
    left_out "the Python package" "there is no venv, or pip cannot install it"
  fi
}

# python_stores makes a virtual environment with stores and converters in Python. One of them needs
# Python 3.12; pyenv keeps the versions that it does not use out of the path.
python_stores() {
  local at=integration/clients/testdata python=python3 newer
  [ ! -e "$at/.venv/installed" ] || return 0
  for newer in python3.13 python3.12 "$HOME"/.pyenv/versions/3.1[23].*/bin/python; do
    if "$newer" -c 'import ensurepip' 2>/dev/null; then
      python=$newer
      break
    fi
  done
  rm -rf "$at/.venv"
  if "$python" -m venv "$at/.venv" >/dev/null 2>&1 &&
    timeout 300 "$at/.venv/bin/pip" install --quiet --disable-pip-version-check --retries 2 --timeout 20 --requirement "$at/requirements.txt" >/dev/null; then
    touch "$at/.venv/installed"
    echo "clients: installed stores in Python"
  else
    rm -rf "$at/.venv"
    left_out "the stores in Python" "there is no venv, or pip cannot install them"
  fi
}

# stores installs Fuseki and Virtuoso into .peers. Each names itself if it is left out.
stores() { scripts/peers.sh .peers fuseki virtuoso; }

# An argument names one of the functions; without any it is all. What is not of Debian
# waits for registries most of its time, and never fails.
if [ "$#" -gt 0 ]; then
  "$1"
else
  debian
  comunica &
  console &
  python_package &
  python_stores &
  stores &
  wait
fi
