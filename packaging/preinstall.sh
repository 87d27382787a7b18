#!/bin/sh
# The user of the service, without a home or a shell.
set -e
getent group trefoil >/dev/null || groupadd --system trefoil
getent passwd trefoil >/dev/null || useradd --system --gid trefoil --no-create-home --home-dir /var/lib/trefoil --shell /usr/sbin/nologin trefoil
