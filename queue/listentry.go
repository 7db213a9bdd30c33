package queue

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"unicode"
	"unicode/utf8"

	"oarlock/queue/internal/wire"
)

// entrySHA names an entry of a list by its bytes.
func entrySHA(entry string) string {
	sum := sha1.Sum([]byte(entry))
	return hex.EncodeToString(sum[:])
}

// errNotEnvelope says why an entry of an hworker's list is no job.
var errNotEnvelope = errors.New("not a JSON array of a text and a payload")

// ReadListEntry reads an entry of a list: what it is called, and its data. Of an hworker's it is the
// envelope [id, payload], and anything else is an error. Of others it is what the entry is as JSON, a
// text as JSON if it is UTF-8, and else an object whose member base64 has it; its jid is the SHA-1 of its bytes.
func ReadListEntry(list, entry string) (jid string, data []byte, err error) {
	if hworkerOf(list) == "" {
		return entrySHA(entry), PlainData(entry), nil
	}
	return ReadEnvelope(entry)
}

// ReadEnvelope reads hworker's envelope, the JSON [id, payload]: what the job is called, and its data. An id that cannot be
// a job's is replaced by the SHA-1 of the entry. The error says that it is none.
func ReadEnvelope(entry string) (jid string, data []byte, err error) {
	var parts []json.RawMessage
	if !isJSON(entry) || json.Unmarshal([]byte(entry), &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &jid) != nil ||
		len(parts[0]) == 0 || parts[0][0] != '"' {
		return "", nil, errNotEnvelope
	}
	if !plainName(jid) {
		jid = entrySHA(entry)
	}
	return jid, parts[1], nil
}

// Envelope is the entry of an hworker's list that has a payload, which is JSON.
func Envelope(id string, payload []byte) string {
	name, _ := json.Marshal(id) // a text
	return "[" + string(name) + "," + string(payload) + "]"
}

// PlainData is what an entry says that has no envelope: itself if it is JSON, a text as JSON if it is UTF-8, and else an object
// whose member base64 has it.
func PlainData(entry string) []byte {
	switch {
	case isJSON(entry):
		return []byte(entry)
	case utf8.ValidString(entry):
		var text bytes.Buffer
		in := json.NewEncoder(&text)
		in.SetEscapeHTML(false)
		_ = in.Encode(entry) // a text
		return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
	}
	return []byte(`{"base64":"` + base64.StdEncoding.EncodeToString([]byte(entry)) + `"}`)
}

// isJSON reports whether a text is JSON, nested no deeper than a job's data may be.
func isJSON(text string) bool {
	return utf8.ValidString(text) && (wire.CheckJSON([]byte(text)) == nil || string(bytes.TrimSpace([]byte(text))) == "false")
}

// plainName reports whether a text can be the name of a job.
func plainName(text string) bool {
	if text == "" || len(text) > 255 {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}
