package script

import (
	"runtime"
	"testing"
)

// TestWhatComesBeforeAllFunctionsUsesNone finds out at once what would be nil in a call.
func TestWhatComesBeforeAllFunctionsUsesNone(t *testing.T) {
	lua := sources()
	if text := lua.straight("x", "-- A comment.\nlocal n = call_bytes\n"); text != "local n = call_bytes\n" {
		t.Errorf("%q", text)
	}
	defer func() {
		if recover() == nil {
			t.Error("a function of the library may be called before there is any")
		}
	}()
	lua.straight("x", "local n = text17(1)\n")
}

func TestSourcesAreKeptAsLongAsTheyAreNeeded(t *testing.T) {
	lua := sources()
	text, _ := Text(Batch, "exchange", DefaultNamespace)
	runtime.GC()
	if sources() != lua {
		t.Error("sources were read anew while they were in use")
	}
	runtime.KeepAlive(lua)
	lua = nil
	runtime.GC()
	if lastSources.Value() != nil {
		t.Error("sources that nobody needs were kept")
	}
	if again, ok := Text(Batch, "exchange", DefaultNamespace); !ok || again != text {
		t.Error("a script is another when the sources were read anew")
	}
}
