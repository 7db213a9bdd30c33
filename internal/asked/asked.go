// Package asked is how a command that decides answers: by one line of JSON, the last that it prints. It owns the sentences
// about what is none. It must not know what is asked, nor of whom.
package asked

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Answer reads what a command printed into the struct at into, whose keys are named for people. What stands before the last line
// that is not blank does not matter: a library may have printed it. The error is a sentence about the command, as "its
// answer …", and into is then not to be used.
func Answer(printed []byte, keys string, into any) error {
	printed = bytes.TrimSpace(printed)
	line := printed[bytes.LastIndexByte(printed, '\n')+1:]
	if len(line) == 0 {
		return errors.New("it printed nothing, and not a JSON object with " + keys)
	}
	var what struct {
		Tag string `json:"@"` // answer, or left out
	}
	err := json.Unmarshal(line, &what)
	if err == nil {
		err = json.Unmarshal(line, into)
	}
	switch {
	case err != nil:
		return fmt.Errorf("its answer %s is no JSON object with %s%s", Excerpt(line), keys, whyNot(err))
	case line[0] != '{': // null is anything to the decoder
		return fmt.Errorf("its answer %s is no JSON object with %s", Excerpt(line), keys)
	case what.Tag != "" && what.Tag != "answer":
		return fmt.Errorf("it answered %s, and not answer", Excerpt(what.Tag))
	}
	return nil
}

// whyNot is what of an answer is wrong, for who wrote the command and knows nothing of our types.
func whyNot(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case !errors.As(err, &wrong):
		return ": " + err.Error()
	case wrong.Field == "":
		return ""
	}
	return ": " + wrong.Field + " is of the wrong type: " + wrong.Value
}

// Excerpt is the beginning of a text of a command, quoted.
func Excerpt[T ~[]byte | ~string](text T) string {
	if len(text) > 80 {
		return fmt.Sprintf("%q…", text[:80])
	}
	return fmt.Sprintf("%q", text)
}

// JSON is text for a command to read; null where it is no JSON, for anybody may write anything into Redis.
func JSON(text []byte) json.RawMessage {
	if !json.Valid(text) {
		return json.RawMessage("null")
	}
	return text
}
