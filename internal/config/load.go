package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Options says what to load.
type Options struct {
	Path string                      // the file; "" means: look for it
	Set  map[string]string           // from flags, by key: "redis.url"; stronger than all else
	Env  func(string) (string, bool) // the environment; nil means that of the process

	// Trust takes a configuration that others may have written, without a word about it.
	Trust bool

	// NoPools leaves the pools out, unchecked: a producer's machine has no use for
	// them, and may lack their programs.
	NoPools bool
}

// Load finds, reads and checks a configuration. Without any file it is the defaults,
// the environment and the flags.
//
// An error is Problems if the configuration is wrong, and otherwise an *UnreadableError. Of
// the Config only Sum is of use then.
func Load(o Options) (Config, error) {
	d := &decoder{env: o.Env, noPools: o.NoPools, places: map[string]place{}}
	if d.env == nil {
		d.env = lookupEnv
		defer func() { takeOut(d.secrets) }()
	}
	c := Defaults()
	c.Trusted, c.Web.Trusted = o.Trust, o.Trust
	if err := d.find(&c, o.Path); err != nil {
		return Config{Sum: c.Sum}, err
	}
	dir := filepath.Dir(c.Path) // "." if there is none
	d.environment(&c)
	for _, key := range slices.Sorted(maps.Keys(o.Set)) {
		d.override(&c, key, o.Set[key], "command line")
	}
	_, c.RedisNamed = d.places["redis.url"]
	resolve(&c, dir)
	d.listDefaults(&c)
	d.retryDefaults(&c)
	d.validate(&c)
	d.secretFiles(&c)
	if len(d.problems) > 0 {
		return Config{Sum: c.Sum}, d.problems.sorted()
	}
	return c, nil
}

// find reads the file path, or that which the environment names, or else the first of the
// usual places that has one; with conf.d beside it. What was merely found is left out if it
// is somebody else's, and looked for in the next place.
func (d *decoder) find(c *Config, path string) error {
	if path == "" {
		path, _ = d.env("OARLOCK_CONFIG")
	}
	if path != "" {
		return d.files(c, path)
	}
	c.Found = true
	for _, path := range usualPlaces(d.env) {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := d.files(c, path); !errors.Is(err, errForeign) {
			return err
		}
	}
	c.Found, c.Sum = false, Sum{}
	return nil
}

// usualPlaces are where a file is looked for.
func usualPlaces(env func(string) (string, bool)) []string {
	base, _ := env("XDG_CONFIG_HOME")
	if home, _ := env("HOME"); base == "" && home != "" {
		base = filepath.Join(home, ".config")
	}
	return []string{"oarlock.toml", filepath.Join(base, "oarlock", "config.toml"), "/etc/oarlock/config.toml"}
}

// files reads the file path and conf.d beside it.
func (d *decoder) files(c *Config, path string) error {
	all := readAll([]string{path})
	c.Sum = sumOf(all)
	for i, f := range all {
		if err := d.admit(c, f, all[0].from, i == 0 && !c.Found); errors.Is(err, errForeign) && i > 0 {
			continue
		} else if err != nil {
			return err
		}
		c.Path = path
		c.Files = append(c.Files, f.name)
		d.file(c, f.name, string(f.text), i > 0)
	}
	return nil
}

// errForeign says that a file was left out because it is somebody else's.
var errForeign = errors.New("foreign")

// admit returns why a file is not to be used. Of one that others may have written c.Doubts
// tells, and it is left out if it is somebody else's and was merely found, unless who could
// write it could write main, beside which it is, as well; and root does not do what anybody
// who can write a file wants.
func (d *decoder) admit(c *Config, f content, main origin, named bool) error {
	switch {
	case f.err != nil:
		return &UnreadableError{f.err}
	case c.Trusted:
		return nil
	case f.from.foreign != nil && !named && (c.Path == "" || !f.from.within(&main)):
		c.Doubts = append(c.Doubts, fmt.Sprintf("%s is not used: %v, and it was not named; if you mean it, name it with -c, or trust it with --trust-config", f.name, f.from.foreign))
		return errForeign
	case f.from.refused() != nil:
		return Problems{{File: f.name, Why: fmt.Sprintf("root does not use it: %v, or trust it with --trust-config", f.from.refused())}}
	}
	if doubt := f.from.doubt(); doubt != nil {
		c.Doubts = append(c.Doubts, fmt.Sprintf("%s may have been written by others: %v", f.name, doubt))
	}
	return nil
}

// UnreadableError says why a file of the configuration could not be read.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return "read the configuration: " + e.Err.Error() }

func (e *UnreadableError) Unwrap() error { return e.Err }

// file decodes one file; one of conf.d may hold pools only.
func (d *decoder) file(c *Config, file, text string, poolsOnly bool) {
	if line := nesting(text); line > 0 {
		d.problems = append(d.problems, Problem{File: file, Line: line,
			Why: fmt.Sprintf("tables and lists stand more than %d deep in each other; nothing of ours does", mostNesting)})
		return
	}
	var tables map[string]any
	if _, err := toml.Decode(text, &tables); err != nil {
		problem := Problem{File: file, Why: err.Error()}
		var syntax toml.ParseError
		if errors.As(err, &syntax) {
			// Its own line is the next one where a line ends too early, and its position stands before the text where that begins wrong.
			before := text[:min(max(syntax.Position.Start, 0), len(text))]
			problem.Line = 1 + strings.Count(before, "\n")
			problem.Column = len(before) - strings.LastIndex(before, "\n")
			problem.Why = syntax.Message
		}
		d.problems = append(d.problems, problem)
		return
	}
	for path, line := range lines(text) {
		before, twice := d.places[path]
		pool, inPools := strings.CutPrefix(path, "pools.")
		if twice && inPools && !strings.Contains(pool, ".") {
			d.problems = append(d.problems, Problem{File: file, Line: line, Key: path,
				Why: fmt.Sprintf("this pool is also in %s:%d", before.file, before.line)})
		}
		d.places[path] = place{file, line}
	}
	if poolsOnly {
		for key := range tables {
			if key != "pools" {
				d.bad(key, "a file in conf.d holds pools only; put this into %s", c.Path)
				delete(tables, key)
			}
		}
	}
	if d.noPools {
		delete(tables, "pools")
	}
	d.table("", tables, reflect.ValueOf(c).Elem())
}

// environment puts what the environment says over what the files say: credentials of
// the service manager, REDIS_URL, and OARLOCK_<TABLE>_<KEY> for every key outside of
// the pools.
func (d *decoder) environment(c *Config) {
	if dir, _ := d.env("CREDENTIALS_DIRECTORY"); dir != "" {
		if url, err := os.ReadFile(filepath.Join(dir, "redis-url")); err == nil {
			d.override(c, "redis.url", strings.TrimSpace(string(url)), "credential redis-url")
		}
		if path := filepath.Join(dir, "redis-password"); exists(path) {
			d.override(c, "redis.password_file", path, "credential redis-password")
		}
	}
	if url, _ := d.env("REDIS_URL"); url != "" {
		d.secrets = append(d.secrets, "REDIS_URL")
		d.override(c, "redis.url", url, "environment variable REDIS_URL")
	}
	for table, fields := range fieldsOf(reflect.ValueOf(c).Elem()) {
		if fields.Kind() == reflect.Map { // tables whose names are the user's
			continue
		}
		for key := range fieldsOf(fields) {
			name := strings.ToUpper("OARLOCK_" + table + "_" + key)
			if text, ok := d.env(name); ok {
				if table == "redis" {
					d.secrets = append(d.secrets, name)
				}
				d.override(c, table+"."+key, text, "environment variable "+name)
			}
		}
	}
}

// override sets a key outside of the pools from text that stood in no file.
func (d *decoder) override(c *Config, path, text, from string) {
	table, key, _ := strings.Cut(path, ".")
	field, ok := fieldsOf(fieldsOf(reflect.ValueOf(c).Elem())[table])[key]
	if !ok {
		panic("config: no key " + path)
	}
	d.places[path] = place{file: from}
	in := typed(text, field)
	if field.Kind() == reflect.Slice {
		list := []any{}
		for _, word := range words(text) {
			list = append(list, word)
		}
		in = list
	}
	d.value(path, in, field)
}

// resolve makes relative paths of files start where the configuration file is.
func resolve(c *Config, dir string) {
	from := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for _, path := range []*string{&c.Redis.PasswordFile, &c.Redis.TLSCA, &c.Redis.TLSCert, &c.Redis.TLSKey, &c.Web.TokensFile, &c.Web.TLSCert, &c.Web.TLSKey, &c.Park.SecretFile} {
		from(path)
	}
	for name, pool := range c.Pools {
		from(&pool.Sandbox.EnvFile)
		if pool.Sandbox.Dir != PrivateDir {
			from(&pool.Sandbox.Dir)
		}
		c.Pools[name] = pool
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// StatePath is where a supervisor keeps what must outlive it: state_dir, or else the
// directory the service manager made, or else the user's; for root, the system's.
func (s Supervisor) StatePath() string {
	if s.StateDir != "" {
		return s.StateDir
	}
	if dirs := os.Getenv("STATE_DIRECTORY"); dirs != "" {
		first, _, _ := strings.Cut(dirs, ":")
		return first
	}
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" && os.Geteuid() == 0 {
		base = "/var/lib" // children of other users cannot pass through root's home
	}
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			home = os.TempDir()
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "oarlock")
}
