# Counts lines, words, bytes and the longest line of a file.
#
# Reads {"path": ...} from stdin. It knows nothing of who calls it; that it now and
# then misbehaves is so that the demo has something to show.
LC_ALL=C
export LC_ALL
read -r job
field() {
    printf '%s\n' "$job" | awk -v name="\"$1\":\"" '{
        at = index($0, name)
        if (at == 0) exit
        rest = substr($0, at + length(name))
        print substr(rest, 1, index(rest, "\"") - 1)
    }'
}
path=$(field path)
trouble=$(field trouble)
attempt=${OARLOCK_ATTEMPT:-1}

if [ "$trouble" = busy ] && [ "$attempt" = 1 ]; then
    echo "the printer is busy" >&2
    exit 75 # try again later
fi
if [ "$trouble" = poison ] || { [ "$trouble" = crash ] && [ "$attempt" = 1 ]; }; then
    kill -SEGV $$
fi
if [ ! -r "$path" ]; then
    echo "$path: no such file" >&2
    exit 66 # no such input: never try again
fi
bytes=$(wc -c <"$path")
awk -v bytes="$bytes" '
    { words += NF; if (length($0) > longest) longest = length($0) }
    END { print NR, words + 0, bytes + 0, longest + 0 }' "$path"
