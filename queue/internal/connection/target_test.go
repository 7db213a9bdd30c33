package connection

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		url    string
		addrs  string
		master string
		db     int
		user   string
		secure bool
	}{
		{url: "redis://localhost:6380/3", addrs: "localhost:6380", db: 3},
		{url: "redis://:pa%2Fss@h", addrs: "h:6379", user: ":pa/ss"},
		{url: "rediss://u:p@h:1", addrs: "h:1", user: "u:p", secure: true},
		{url: "unix:///run/redis.sock?db=2", addrs: "/run/redis.sock", db: 2},
		{url: "redis+sentinel://a,b:27000/mymaster", addrs: "a:26379 b:27000", master: "mymaster"},
		{url: "rediss+sentinel://u:p%40ss@a/m/4", addrs: "a:26379", master: "m", db: 4, user: "u:p@ss", secure: true},
		{url: "redis+cluster://a,b:7001/", addrs: "a:6379 b:7001"},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			got, err := Parse(Config{URL: tt.url, Namespace: "{ql}:"})
			if err != nil {
				t.Fatal(err)
			}
			user := ""
			if got.Username+got.Password != "" {
				user = got.Username + ":" + got.Password
			}
			if strings.Join(got.Addrs, " ") != tt.addrs || got.MasterName != tt.master || got.DB != tt.db || user != tt.user {
				t.Errorf("addrs %v, master %q, db %d, user %q", got.Addrs, got.MasterName, got.DB, user)
			}
			if (got.TLSConfig != nil) != tt.secure {
				t.Errorf("TLS: %v", got.TLSConfig != nil)
			}
			if got.MaxRetries != -1 {
				t.Error("the driver would repeat commands by itself")
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct{ url, namespace, says string }{
		{"localhost:6379", "ql:", "want redis://"},
		{"http://h", "ql:", `unknown scheme "http"`},
		{"redis://h/x", "ql:", "database"},
		{"redis://h?speed=fast", "ql:", "speed"},
		{"redis+sentinel://h", "ql:", "name the master"},
		{"redis+sentinel:///m", "ql:", "names no host"},
		{"redis+sentinel://h/m/x", "ql:", `"x" is not a number`},
		{"redis+cluster://h", "ql:", "no hash tag"},
		{"redis+cluster://h", "{}:", "no hash tag"},
		{"redis+cluster://h/2", "{ql}:", `no database "2"`},
	}
	for _, tt := range tests {
		_, err := Parse(Config{URL: tt.url, Namespace: tt.namespace})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want it to say %q", tt.url, err, tt.says)
		}
	}
	for _, url := range []string{"redis://h?password=s3cret", "redis://h?Pass=s3cret&b=s3cret", "unix:///s?auth=s3cret", "redis://:s3cret/x@h", "redis://u:12/s3cret@h", "redis://u:p?s3cret@h",
		"redis://u:p#s3cret@h", "u:s3cret@h", "redis://u:%s3cret@h", "redis://u:s3cret@h:x", "ftp://u:s3cret@h", "redis://h/0?db=s3cret", "unix://u:p/s3cret@/sock", "redis://u:s3cret@h/x", "redis+sentinel://u:s3cret@h,", "redis+cluster://:s3cret@h/%zz"} {
		if _, err := Parse(Config{URL: url, Namespace: "{ql}:"}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("an error shows the password, or there is none: %v", err)
		}
	}
}

func TestPasswordFileIsReadAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "password")
	target, err := Parse(Config{URL: "redis://me@h", PasswordFile: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, password := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		user, got, err := target.CredentialsProviderContext(context.Background())
		if user != "me" || got != password || err != nil {
			t.Errorf("user %q, password %q, %v", user, got, err)
		}
	}
	os.Remove(path)
	if _, _, err := target.CredentialsProviderContext(context.Background()); err == nil {
		t.Error("a missing file is no error")
	}
}
