package script

import (
	"runtime"
	"testing"
)

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
