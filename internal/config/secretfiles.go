package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// secretFile is a file with credentials, and the configuration key that names it.
type secretFile struct{ key, path string }

// secrets are the files with credentials. A user who can write one has as much power as with the configuration.
func (c *Config) secrets() []secretFile {
	var all []secretFile
	for _, one := range []secretFile{
		{"redis.password_file", c.Redis.PasswordFile}, {"redis.tls_key", c.Redis.TLSKey},
		{"web.tokens_file", c.Web.TokensFile}, {"web.tls_key", c.Web.TLSKey}, {"park.secret_file", c.Park.SecretFile},
	} {
		if info, err := os.Stat(one.path); one.path != "" && err == nil && info.Mode().IsRegular() {
			all = append(all, one)
		}
	}
	return all
}

// secretFiles refuses and doubts files of secrets that others may have written, as it is with the configuration.
func (d *decoder) secretFiles(c *Config) {
	if c.Trusted {
		return
	}
	for _, one := range c.secrets() {
		from, err := originOfDir(one.path)
		if err != nil {
			continue // the code that reads it reports this
		}
		if why := from.refused(); why != nil {
			d.bad(one.key, "root does not use it: %s, or trust it with --trust-config", why.Error())
		} else if doubt := from.doubt(); doubt != nil {
			c.Doubts = append(c.Doubts, fmt.Sprintf("%s: %s may have been written by others: %v", one.key, one.path, doubt))
		}
	}
}

// Admits returns why TokensFile, as it is now, is not to be read; nil: it may be.
func (w Web) Admits(path string) error {
	if w.Trusted {
		return nil
	}
	from, err := originOfDir(path)
	if err != nil {
		return err
	}
	return from.refused()
}

// ReadableSecrets tells which files of secrets anybody on this host can read, a sentence each.
func (c *Config) ReadableSecrets() []string {
	var all []string
	for _, one := range c.secrets() {
		if mode, is := readableByAll(one.path); is && !c.Trusted {
			all = append(all, fmt.Sprintf("%s: %s can be read by anybody on this host (mode %v); chmod o-r it.", one.key, one.path, mode))
		}
	}
	return all
}

// readableByAll reports whether anybody can read a file: by its mode, and by those of all directories on the way to it.
func readableByAll(path string) (os.FileMode, bool) {
	path, err := filepath.Abs(path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	info, statErr := os.Stat(path)
	if err != nil || statErr != nil || info.Mode()&0o004 == 0 {
		return 0, false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if way, err := os.Stat(dir); err != nil || way.Mode()&0o001 == 0 {
			return 0, false
		}
		if strings.TrimRight(dir, "/") == "" {
			return info.Mode(), true
		}
	}
}
