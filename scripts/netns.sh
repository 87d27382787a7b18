#!/usr/bin/env bash
# Installs what the tests with real hosts use, as root on Debian: iproute2 for
# network namespaces, nftables for partitions, strace for a disk whose fsync fails.
# What cannot be had is named and left out: with CI=true the tests that need it
# then fail, elsewhere they skip.
set -euo pipefail

missing=()
command -v ip >/dev/null 2>&1 || missing+=(iproute2)
command -v nft >/dev/null 2>&1 || missing+=(nftables)
command -v strace >/dev/null 2>&1 || missing+=(strace)
[ "${#missing[@]}" -gt 0 ] || exit 0

left_out() { echo "netns: ${missing[*]} left out: $1; tests with network namespaces and faulty disks need them"; exit 0; }

[ "$(id -u)" = 0 ] || left_out "only root can use them"
command -v apt-get >/dev/null 2>&1 || left_out "there is no apt-get"
apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
"${apt[@]}" update || left_out "no package registry is reached"
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null || left_out "they cannot be installed"
echo "netns: installed ${missing[*]}"
