#!/bin/sh
# The service is not started: its settings come first.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
