package queue

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"oarlock/queue/lua"
)

// newer are the commands of Redis' data types that came after Redis 6.0.
var newer = strings.Fields(`BLMOVE BLMPOP BZMPOP COPY EVALSHA_RO EVAL_RO EXPIRETIME FCALL FCALL_RO FUNCTION GEOSEARCH GEOSEARCHSTORE GETDEL GETEX HEXPIRE HPERSIST
	HPEXPIRE HRANDFIELD HTTL LCS LMOVE LMPOP PEXPIRETIME SINTERCARD SMISMEMBER SORT_RO SPUBLISH ZDIFF ZDIFFSTORE ZINTER ZINTERCARD ZMPOP ZMSCORE ZRANDMEMBER
	ZRANGESTORE ZUNION`)

// fallbacks are the scripts that use such a command and do without it where it is refused.
var fallbacks = map[string]string{"batch/renew.lua": "COPY"}

// TestScriptsNeedNoMoreThanRedis6 holds the scripts to what Redis 6.0 has.
func TestScriptsNeedNoMoreThanRedis6(t *testing.T) {
	called := regexp.MustCompile(`\b(?:p?call|call_many)\(\s*['"]([A-Za-z_.]+)['"]`)
	calls := 0
	ok(t, fs.WalkDir(lua.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".lua") {
			return err
		}
		text, err := fs.ReadFile(lua.Files, path)
		for _, found := range called.FindAllStringSubmatch(string(text), -1) {
			calls++
			command := strings.ToUpper(found[1])
			for _, late := range newer {
				if command == late && fallbacks[path] != command {
					t.Errorf("%s calls %s, which Redis 6.0 does not have", path, command)
				}
			}
		}
		return err
	}))
	if calls < 500 {
		t.Errorf("%d calls of Redis were found: the test does not see them", calls)
	}
}
