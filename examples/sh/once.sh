#!/bin/sh
# Counts the lines, words and bytes of a text; one process per job.
#
# Oarlock writes the payload to stdin (input = "data"), and has put the name of the
# attempt into OARLOCK_RUN. The answer is a line of JSON on stdout; without one, the
# exit code is the answer: 65 and 66 fail for good, 75 asks for another try.

member() {
	printf '%s\n' "$data" | LC_ALL=C awk -v want="$1" -f json.awk
}

count() {
	set -- $(LC_ALL=C wc)
	printf '{"@":"ack","run":"%s","data":{"lines":%d,"words":%d,"bytes":%d}}\n' "$OARLOCK_RUN" "$@"
}

IFS= read -r data || exit 65

# $(…) drops newlines at the end of a name; the x keeps them.
if path=$(member path && printf x); then
	path=${path%x}
	[ -e "$path" ] || { printf '%s is not there\n' "$path" >&2; exit 66; }
	count <"$path"
elif member text >/dev/null; then
	member text | count # straight through: a text need not fit into a variable
else
	echo 'the payload has neither a path nor a text' >&2
	exit 65
fi
