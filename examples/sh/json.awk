# Prints one string or number of a line of JSON:
#
#   printf '%s\n' "$line" | LC_ALL=C awk -v want=data.path -f json.awk
#
# want names the member, with a dot between the names of nested objects. A string
# is printed with its escapes undone, everything else but an object or an array as
# it is written; nothing is added.
#
# Exit code 1: there is no such member. 65: what was read so far is no JSON, or
# holds a NUL, which no variable of a shell can.
#
# Limits: a name with a dot in it and members of arrays cannot be wanted; of
# several members with the same name the first counts; what comes behind it is not
# read. LC_ALL=C makes a character a byte.

BEGIN {
	plain["b"] = "\b"; plain["f"] = "\f"; plain["n"] = "\n"; plain["r"] = "\r"; plain["t"] = "\t"
	plain["\""] = "\""; plain["\\"] = "\\"; plain["/"] = "/"
	ORS = ""
}

NR == 1 {
	text = $0
	at = 1
	value("")
	exit 1
}

function broken() {
	exit 65
}

function space() {
	while (substr(text, at, 1) ~ /[ \t\r]/) at++
}

# value reads the value at `at`, whose name from the top is path. It does not
# return from the one that is wanted.
function value(path,    c, start) {
	space()
	c = substr(text, at, 1)
	if (c == "{") {
		object(path)
	} else if (c == "[") {
		array()
	} else if (c == "\"") {
		string(path == want ? "print" : "skip")
		if (path == want) exit 0
	} else {
		start = at
		while (substr(text, at, 1) ~ /[^], \t\r}]/) at++
		if (at == start) broken()
		if (path == want) {
			print substr(text, start, at - start)
			exit 0
		}
	}
}

function object(path,    name, c) {
	at++
	space()
	if (substr(text, at, 1) == "}") {
		at++
		return
	}
	do {
		space()
		if (substr(text, at, 1) != "\"") broken()
		name = string("return")
		space()
		if (substr(text, at++, 1) != ":") broken()
		value(path == "" ? name : path "." name)
		space()
		c = substr(text, at++, 1)
	} while (c == ",")
	if (c != "}") broken()
}

function array(    c) {
	at++
	space()
	if (substr(text, at, 1) == "]") {
		at++
		return
	}
	do {
		value("\n") # no name: what is in an array cannot be wanted
		space()
		c = substr(text, at++, 1)
	} while (c == ",")
	if (c != "]") broken()
}

# string reads the string at `at`, and prints it without its escapes, or returns
# it, or skips it. Piece by piece, for it may be long.
function string(how,    piece, c, result) {
	at++
	for (;;) {
		piece = substr(text, at, 512)
		if (piece == "") broken()
		if (match(piece, /["\\]/)) piece = substr(piece, 1, RSTART - 1)
		at += length(piece)
		c = substr(text, at, 1)
		if (c == "\\") {
			at++
			piece = piece escape()
		}
		if (how == "print") print piece
		if (how == "return") result = result piece
		if (c == "\"") {
			at++
			return result
		}
	}
}

# escape reads what follows a backslash and returns what it stands for.
function escape(    c, n, low) {
	c = substr(text, at++, 1)
	if (c in plain) return plain[c]
	if (c != "u") broken()
	n = hex()
	if (n >= 55296 && n < 56320 && substr(text, at, 2) == "\\u") { # half of a pair
		at += 2
		low = hex()
		n = 65536 + (n - 55296) * 1024 + low - 56320
	}
	if (n == 0) broken()
	if (n < 128) return sprintf("%c", n)
	if (n < 2048) return sprintf("%c%c", 192 + int(n / 64), 128 + n % 64)
	if (n < 65536) return sprintf("%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64)
	return sprintf("%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64)
}

function hex(    i, digit, n) {
	n = 0
	for (i = 0; i < 4; i++) {
		digit = index("0123456789abcdef", tolower(substr(text, at++, 1)))
		if (digit == 0) broken()
		n = n * 16 + digit - 1
	}
	return n
}
