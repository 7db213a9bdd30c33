package protocol_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"oarlock/protocol"
)

func ExampleAppendJob() {
	line := protocol.AppendJob(nil, &protocol.Job{
		Run: "k7q2vd", JID: "a1", Klass: "Send", Queue: "mail", Data: []byte(`{"to":"x"}`),
		Attempt: 1, Retries: 5, Remaining: 5, Timeout: 5 * time.Minute,
	})
	os.Stdout.Write(line)
	// Output:
	// {"@":"job","run":"k7q2vd","jid":"a1","klass":"Send","queue":"mail","data":{"to":"x"},"tags":[],"priority":0,"attempt":1,"retries":5,"remaining":5,"timeout":300}
}

func ExampleReader() {
	child := strings.NewReader("sending mail to x\n" + `{"@":"retry","delay":30,"message":"greylisted"}` + "\n")
	lines := protocol.NewReader(child, protocol.DefaultMaxLine)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		switch line.Kind {
		case protocol.StatusLine:
			v := line.Status.Verdict
			fmt.Println("verdict:", v.Kind, "in", *v.Delay, "because", v.Message)
		default:
			fmt.Printf("log: %s\n", protocol.Visible(nil, line.Text))
		}
	}
	// Output:
	// log: sending mail to x
	// verdict: retry in 30s because greylisted
}
