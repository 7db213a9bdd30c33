package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// CheckPointer refuses what is no JSON pointer (RFC 6901) to a member: the text "/order/id" is one. "" is refused, too.
func CheckPointer(text string) error {
	if !strings.HasPrefix(text, "/") {
		return fmt.Errorf("%q is no JSON pointer; write it as /order_id, or /order/id", text)
	}
	if strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(text), "~") {
		return fmt.Errorf("%q: in a JSON pointer ~ is written ~0, and / is ~1", text)
	}
	return nil
}

// keyAt is the key that data has at a JSON pointer: the text of a string, or a number as it is written. Of members of one
// name the last counts.
func keyAt(data []byte, pointer string) (string, error) {
	if err := CheckPointer(pointer); err != nil {
		return "", err
	}
	none := fmt.Errorf("the data has no string or number at %s", pointer)
	value := json.RawMessage(data)
	for token := range strings.SplitSeq(pointer[1:], "/") {
		var is bool
		if value, is = memberOf(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); !is {
			return "", none
		}
	}
	var key string
	if json.Unmarshal(value, &key) == nil && value[0] == '"' {
		if key == "" {
			return "", fmt.Errorf("the data has an empty string at %s; a key must have 1 to %d bytes", pointer, maxKey)
		}
		return key, nil
	}
	var number json.Number
	if json.Unmarshal(value, &number) != nil || number == "" {
		return "", none
	}
	return number.String(), nil
}

// memberOf is the member of an object, or the element of a list, that has a name.
func memberOf(value json.RawMessage, name string) (json.RawMessage, bool) {
	switch value = json.RawMessage(strings.TrimLeft(string(value), " \t\r\n")); {
	case strings.HasPrefix(string(value), "{"):
		var members map[string]json.RawMessage
		err := json.Unmarshal(value, &members)
		member, is := members[name]
		return member, is && err == nil
	case strings.HasPrefix(string(value), "["):
		var elements []json.RawMessage
		i, err := strconv.Atoi(name)
		if errors.Join(err, json.Unmarshal(value, &elements)) != nil || i < 0 || i >= len(elements) || strconv.Itoa(i) != name {
			return nil, false
		}
		return elements[i], true
	}
	return nil, false
}
