package config

import (
	"reflect"
	"regexp"
	"strconv"
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

// isVariable reports whether text is one variable and nothing else.
func isVariable(text string) bool {
	at := variable.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text) && !strings.HasPrefix(text, "$$")
}

// splitLists are the lists in which an element that is one variable stands for several, with
// commas between them.
var splitLists = []string{"queues", "next_queues", "allow", "hosts"}

// split puts the words of a variable in the place of an element that is nothing but that variable.
func (d *decoder) split(path string, in []any) []any {
	var all []any
	for _, item := range in {
		text, ok := item.(string)
		if !ok || !isVariable(text) {
			all = append(all, item)
			continue
		}
		for _, word := range words(d.expand(path, text)) {
			all = append(all, variable.ReplaceAllString(word, "$$${0}")) // what the environment says is final
		}
	}
	return all
}

// words are the parts of text between commas, without blank ones.
func words(text string) []string {
	var all []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			all = append(all, word)
		}
	}
	return all
}

// typed is text from the environment as the value that TOML would have for out: a number, true
// or false, or the text itself where it is neither.
func typed(text string, out reflect.Value) any {
	switch out.Kind() {
	case reflect.Int:
		if number, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number
		}
	case reflect.Float64:
		if number, err := strconv.ParseFloat(text, 64); err == nil {
			return number
		}
	case reflect.Bool:
		if text == "true" || text == "false" {
			return text == "true"
		}
	}
	return text
}
