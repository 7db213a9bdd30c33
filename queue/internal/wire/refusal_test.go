package wire

import "testing"

func TestRefusalKeepsTheCommandsWords(t *testing.T) {
	const words = "Complete(): Job j is not currently running: waiting"
	for _, text := range []string{
		"ERR user_script:12: " + words + " script: 0a1b, on @user_script:12.",
		"ERR Error running script (call to f_0a1b): @user_script:12: user_script:12: " + words,
		"ERR Error compiling script (new function): :12: " + words + " stack traceback: [G]: in function 'error'",
		"user_script:12: " + words, // caught by pcall in a batch
		":12: " + words,            // likewise, by the embedded server
	} {
		if got := Words(text); got != words {
			t.Errorf("%q reads as %q", text, got)
		}
	}
}
