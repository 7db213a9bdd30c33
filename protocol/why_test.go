package protocol

import "testing"

// What languages print when nobody catches an exception, and the line of it that a person wants to read.
func TestWhy(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"blanks", " \n\n", ""},
		{"a line", "no such printer\n", "no such printer"},
		{"what it did before", "connecting\nno such printer\n", "no such printer"},
		{"Python", "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    f()\nValueError: boom\n", "ValueError: boom"},
		{"Ruby", "x.rb:1:in `f': boom (RuntimeError)\n\tfrom x.rb:3:in `block in <main>'\n\tfrom x.rb:4:in `<main>'\n", "x.rb:1:in `f': boom (RuntimeError)"},
		{"Ruby 3.4", "x.rb:1:in 'Object#f': boom (RuntimeError)\n\tfrom x.rb:4:in '<main>'\n", "x.rb:1:in 'Object#f': boom (RuntimeError)"},
		{"a helper in Ruby", "boom (RuntimeError)\nx.rb:2:in `block (2 levels) in <main>'", "boom (RuntimeError)"},
		{"Node", "/x.js:1\nthrow new Error(\"boom\")\n^\n\nError: boom\n    at f (/x.js:1:20)\n    at node:internal/main/run_main_module:28:49\n\nNode.js v20.20.2\n", "Error: boom"},
		{"Node, an error with members", "Error: ENOENT: no such file\n    at Object.openSync (node:fs:573:18)\n    at f (/x.js:1:1) {\n  errno: -2,\n  code: 'ENOENT'\n}\n\nNode.js v20.20.2\n", "Error: ENOENT: no such file"},
		{"a brace", "{\n  no\n}\n", "}"},
		{"PHP", "PHP Fatal error:  Uncaught Exception: boom in /x.php:1\nStack trace:\n#0 /x.php(1): f()\n#1 {main}\n  thrown in /x.php on line 1\n", "PHP Fatal error:  Uncaught Exception: boom in /x.php:1"},
		{"Java", "Exception in thread \"main\" java.lang.Error: boom\n\tat X.f(X.java:3)\nCaused by: java.io.IOException: away\n\tat X.g(X.java:9)\n\t... 1 more\n", "Caused by: java.io.IOException: away"},
		{"C#", "Unhandled exception. System.Exception: boom\n   at P.Main() in /x.cs:line 3\n", "Unhandled exception. System.Exception: boom"},
		{"Go", "panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n\t/x.go:3 +0x1d\nexit status 2\n", "panic: boom"},
		{"Go, by a signal", "panic: runtime error: nil pointer\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 7 gp=0xc0 m=0 [running]:\nmain.main()\n", "panic: runtime error: nil pointer"},
		{"Rust", "thread 'main' panicked at src/main.rs:2:5:\nboom\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n", "boom"},
		{"places alone", "    at f (/x.js:1:20)\nNode.js v20.20.2\n", "Node.js v20.20.2"},
		{"PHP, from within", "Exception: boom\nStack trace:\n#0 [internal function]: f()\n#1 {main}\n", "Exception: boom"},
		{"a number in front", "reading orders\n#42 has no address\n", "#42 has no address"},
		{"words that begin like a place", "it failed\nat least twice\n", "at least twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Why(tt.text); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
