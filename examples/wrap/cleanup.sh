#!/bin/sh
# Removes the letters in $LETTERS that are older than a week.

dir=${LETTERS:-/tmp/letters}
[ -d "$dir" ] || { echo "there is no $dir" >&2; exit 1; }
find "$dir" -name 'letter.*' -mtime +7 -exec rm -f {} +
echo "$(find "$dir" -name 'letter.*' | wc -l) letters are left"
