package redisurl

import (
	"reflect"
	"testing"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Address{
		"redis://localhost:6380/3":                  {Hosts: []string{"localhost:6380"}, DB: 3},
		"redis://h/?db=4":                           {Hosts: []string{"h:6379"}, DB: 4},
		"redis://[::1]/1":                           {Hosts: []string{"[::1]:6379"}, DB: 1},
		"redis://[fe80::1]:7000":                    {Hosts: []string{"[fe80::1]:7000"}},
		"rediss://u:p%40@h:1?skip_verify=true":      {Hosts: []string{"h:1"}, Username: "u", Password: "p@", TLS: true, SkipVerify: true},
		"redis://h?dial_timeout=5s&pool_size=10":    {Hosts: []string{"h:6379"}}, // of other clients
		"unix:///run/a%20b.sock?db=2":               {Hosts: []string{"/run/a b.sock"}, DB: 2},
		"unix://:p@/run/redis.sock":                 {Hosts: []string{"/run/redis.sock"}, Password: "p"},
		"redis+sentinel://a,b:27000/m/2":            {Hosts: []string{"a:26379", "b:27000"}, Master: "m", DB: 2},
		"rediss+cluster://u:p@a,b:7001/":            {Hosts: []string{"a:6379", "b:7001"}, Cluster: true, Username: "u", Password: "p", TLS: true},
		"redis+sentinel://a/m?read_timeout=1":       {Hosts: []string{"a:26379"}, Master: "m"},
		"redis://:pa%2Fss@h":                        {Hosts: []string{"h:6379"}, Password: "pa/ss"},
		"redis+sentinel://u:p@[::1]:26379,[::2]/m/": {Hosts: []string{"[::1]:26379", "[::2]:26379"}, Master: "m", Username: "u", Password: "p"},
	} {
		if got, err := Parse(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
}
