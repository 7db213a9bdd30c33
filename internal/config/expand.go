package config

import (
	"regexp"
	"strings"
)

// variable is ${NAME} or ${NAME:-default}; $${ stands for a plain ${.
var variable = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// expand replaces the variables in text. As in a shell, the default also stands in for
// a variable that is empty. Anything of another form stays as it is.
func (d *decoder) expand(path, text string) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		if strings.HasPrefix(match, "$$") {
			return match[1:]
		}
		parts := variable.FindStringSubmatch(match)
		name, hasDefault, otherwise := parts[1], parts[2] != "", parts[3]
		value, set := d.env(name)
		if set && strings.HasPrefix(path, "redis.") {
			d.secrets = append(d.secrets, name)
		}
		switch {
		case hasDefault && value == "":
			return otherwise
		case !set:
			d.bad(path, "the environment has no %s; set it, or write ${%s:-default}", name, name)
		}
		return value
	})
}
