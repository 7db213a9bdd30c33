#!/bin/sh
# Files what it reads on stdin as a letter in $LETTERS, under a number of its own.
#
# This is the script somebody has: it reads its input, says what it did, and exits
# with 0 if that went well. Oarlock is not mentioned in it.

dir=${LETTERS:-/tmp/letters}
mkdir -p "$dir" || exit 73
letter=$(mktemp "$dir/letter.XXXXXX") || exit 73

cat >"$letter"
if [ ! -s "$letter" ]; then
	rm -f "$letter"
	echo 'nothing to file' >&2
	exit 65
fi
echo "filed $(wc -c <"$letter") bytes as ${letter##*/}"
