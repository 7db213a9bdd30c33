package runner_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"oarlock/protocol"
	"oarlock/runner"
)

// report prints what becomes of a child and its run.
type report struct{}

func (report) ChildReady(c *runner.Child)                                     {}
func (report) Bye(c *runner.Child, reason string)                             {}
func (report) Progress(c *runner.Child, r *runner.Run, p protocol.Progress)   {}
func (report) Wished(c *runner.Child, r *runner.Run)                          {}
func (report) Checkpoint(c *runner.Child, r *runner.Run, data []byte)         {}
func (report) RunStopping(c *runner.Child, r *runner.Run, cause runner.Cause) {}
func (report) Refused(c *runner.Child, r *runner.Run, verdict, why string)    {}
func (report) Log(c *runner.Child, r *runner.Run, line runner.LogLine) {
	fmt.Printf("%v: %s\n", line.Stream, line.Text)
}
func (report) RunEnded(c *runner.Child, r *runner.Run, ending *runner.Ending) {
	fmt.Println(ending.Kind, ending.Action)
}
func (report) ChildExited(c *runner.Child, exit runner.Exit) { fmt.Println("exit code", exit.Code) }

// One job through a program that knows nothing of us.
func Example() {
	host, err := runner.NewHost(runner.HostOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()

	spec := &runner.Spec{Command: []string{"/bin/sh", "-c", "wc -c; exit 75"}, Input: runner.InputData, Env: []string{"PATH=/usr/bin:/bin"}}
	job := &protocol.Job{Run: "k7q2vd", JID: "a1", Data: []byte(`{"to":"x"}`), Attempt: 1}
	child, err := host.Start(context.Background(), spec, 1, job, report{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := child.Run(job, runner.RunLimits{Timeout: time.Minute}); err != nil {
		log.Fatal(err)
	}
	<-child.Exited()
	// Output:
	// stdout: 11
	// exited retry
	// exit code 75
}
