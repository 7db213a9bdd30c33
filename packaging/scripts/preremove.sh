#!/bin/sh
# Before the files of the package go: stops the service, which lets its jobs
# finish. An upgrade leaves it running; dpkg says "upgrade", rpm gives a number
# above 0.
set -e

case ${1:-remove} in
upgrade | [1-9]*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	# Neither may be there, and that must not keep the package.
	systemctl stop oarlock.service 'oarlock@*.service' || true
	systemctl disable oarlock.service || true
fi
