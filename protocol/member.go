package protocol

// Member returns the value at a path of names through the objects of data, as it stands there;
// without a path all of data. Where an object has a name twice, the last one counts. It
// reports false if there is none, or null: that is the same as a member left out.
//
// data must be JSON, as [Valid] says. The result shares its memory.
func Member(data []byte, path ...string) (value []byte, found bool) {
	value = trimSpace(data)
	for _, want := range path {
		object := value
		value = nil
		members(object, func(name, v []byte) {
			if string(name) == want {
				value = v
			}
		})
		if value == nil {
			return nil, false
		}
	}
	return value, len(value) > 0 && string(value) != "null"
}

// Text returns a JSON value as text: a string without its quotes and escapes, what is not
// UTF-8 replaced; anything else as it is written, without white space between its tokens.
//
// value must be JSON, as [Valid] says.
func Text(value []byte) string {
	value = trimSpace(value)
	if len(value) > 0 && value[0] == '"' {
		return string(unquote(value))
	}
	out := make([]byte, 0, len(value))
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			out = append(out, c)
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			continue
		}
		out = append(out, value[i])
	}
	return string(out)
}

// trimSpace returns a JSON text without the white space around it.
func trimSpace(text []byte) []byte {
	s := scanner{text: text}
	s.space()
	text = text[s.pos:]
	for len(text) > 0 && text[len(text)-1] <= ' ' {
		text = text[:len(text)-1]
	}
	return text
}
