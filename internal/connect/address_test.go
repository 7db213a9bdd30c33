package connect

import "testing"

func TestAddressNamesTheDatabase(t *testing.T) {
	for url, want := range map[string]string{
		"redis://u:p@h:6379/3": "h:6379/3", "redis://h:6379": "h:6379", "unix:///r.sock?db=2": "/r.sock?db=2", "redis+sentinel://a,b/m/4": "a,b/4",
	} {
		if got := Address(url); got != want {
			t.Errorf("%s is shown as %s, want %s", url, got, want)
		}
	}
}
