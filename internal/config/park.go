package config

import (
	"errors"
	"io/fs"

	"oarlock/internal/callback"
	"oarlock/internal/rules"
)

// Park is the table [park]: of answers to jobs that wait for one.
type Park struct {
	SecretFile  string   `toml:"secret_file"`  // what signs callback addresses below web.url, see callback.Read; "": there are none
	MaxResponse Size     `toml:"max_response"` // of one answer
	KeepEarly   Duration `toml:"keep_early"`   // how long one waits for its job
	KeepDone    Duration `toml:"keep_done"`    // how long it is known that a correlation is over
}

// DefaultPark is a table [park] of which nothing is said.
func DefaultPark() Park {
	usual := rules.DefaultAnswers()
	return Park{MaxResponse: Size(usual.Most), KeepEarly: ofSeconds(usual.Early), KeepDone: ofSeconds(usual.Done)}
}

// Secrets are those of SecretFile as it is now; none where no file is named. The error is a sentence.
func (p Park) Secrets() (callback.Secrets, error) {
	if p.SecretFile == "" {
		return callback.Secrets{}, nil
	}
	return callback.Read(p.SecretFile)
}

// rules are what it says for all who work the key space; nil is nothing.
func (p Park) rules() (answers *rules.Answers, secret *rules.Secret) {
	said := rules.Answers{Early: p.KeepEarly.seconds(), Done: p.KeepDone.seconds(), Most: int64(p.MaxResponse)}
	if said != rules.DefaultAnswers() {
		answers = &said
	}
	if secrets, err := p.Secrets(); err == nil && p.SecretFile != "" {
		secret = &rules.Secret{Fingerprint: secrets.Fingerprint()}
	}
	return answers, secret
}

// park notes what the table may not say of its secrets; the rest is checked with the rules.
func (d *decoder) park(c *Config) {
	if c.Park.SecretFile == "" {
		return
	}
	if _, err := c.Park.Secrets(); err != nil && !errors.Is(err, fs.ErrPermission) { // whoever puts a job need not read it
		d.bad("park.secret_file", "%v", err)
	}
	if c.Web.URL == "" {
		d.bad("park.secret_file", `wants web.url, with which the addresses begin that it signs, such as "https://jobs.example.org"`)
	}
}
