#!/bin/sh
# Counts the lines, words and bytes of texts; one process for many jobs.
#
# Every line of stdin is a message; those whose "@" is "job" are jobs, and each is
# answered by one line. The end of the input means: no more jobs, leave.

member() {
	printf '%s\n' "$line" | LC_ALL=C awk -v want="$1" -f json.awk
}

# ack RUN LINES WORDS BYTES
ack() {
	printf '{"@":"ack","run":"%s","data":{"lines":%d,"words":%d,"bytes":%d}}\n' "$@"
}

# fail RUN GROUP MESSAGE; the message is ours, with nothing in it to be escaped.
fail() {
	printf '{"@":"fail","run":"%s","group":"%s","message":"%s"}\n' "$@"
}

while IFS= read -r line; do
	[ "$(member @)" = job ] || continue
	run=$(member run)
	# $(…) drops newlines at the end of a name; the x keeps them.
	if path=$(member data.path && printf x); then
		path=${path%x}
		if [ -e "$path" ]; then
			ack "$run" $(LC_ALL=C wc <"$path")
		else
			printf '%s is not there\n' "$path" >&2 # the log may have it
			fail "$run" no-such-file 'the file is not there'
		fi
	elif member data.text >/dev/null; then
		ack "$run" $(member data.text | LC_ALL=C wc)
	else
		fail "$run" bad-payload 'the payload has neither a path nor a text'
	fi
done
