# Counts lines, words, bytes and the longest line of a file.
#
# Reads a path from stdin, as a JSON string. It knows nothing of who calls it. What
# stands behind a # is trouble to make, so that the demo has something to show.
LC_ALL=C
export LC_ALL
read -r path
path=${path#\"}
path=${path%\"}
trouble=${path#*#}
path=${path%%#*}
attempt=${OARLOCK_ATTEMPT:-1}

case $trouble-$attempt in
busy-1)
    echo "the printer is busy" >&2
    exit 75 # try again later
    ;;
poison-* | crash-1)
    kill -SEGV $$
    ;;
esac
if [ ! -r "$path" ]; then
    echo "$path: no such file" >&2
    exit 66 # no such input: never try again
fi
bytes=$(wc -c <"$path")
awk -v bytes="$bytes" '
    { words += NF; if (length($0) > longest) longest = length($0) }
    END { print NR, words + 0, bytes + 0, longest + 0 }' "$path"
