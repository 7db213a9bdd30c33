package queue

import (
	"strings"
	"testing"
)

func TestLongestData(t *testing.T) {
	if err := checkLength(MaxData); err != nil {
		t.Error(err)
	}
	if err := checkLength(MaxData + 1<<20); err == nil || !strings.Contains(err.Error(), "513 MiB long; Redis takes 512 MiB at most") {
		t.Errorf("err = %v", err)
	}
}
