#!/bin/sh
# After the files of the package are there: makes the user and tells systemd of the
# units. Starts nothing: there is no configuration yet.
set -e

if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers oarlock.conf
elif ! id oarlock >/dev/null 2>&1; then
	useradd --system --home-dir /var/lib/oarlock --shell /usr/sbin/nologin oarlock
fi
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
