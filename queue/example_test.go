package queue_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"oarlock/internal/embedded"
	"oarlock/queue"
)

// A producer puts jobs, and a worker takes, renews and settles them.
func Example() {
	server, err := embedded.Start("127.0.0.1:0") // in place of a Redis
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	ctx := context.Background()
	client, err := queue.Open(ctx, queue.Options{URL: server.URL()})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	results, err := client.PutAll(ctx, []queue.Put{
		{Queue: "mail", JID: "m1", Klass: "Send", Data: []byte(`{"to":"ann"}`), Timeout: time.Minute},
		{Queue: "mail", JID: "m2", Klass: "Send", Data: []byte(`{"to":"bob"}`), Delay: time.Hour},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("put", results[0].JID, results[1].JID)

	worker := client.Session("host-1-mail")
	defer worker.Close()
	reply, err := worker.Exchange(ctx, nil, queue.Take{Queues: []string{"mail"}, Count: 10})
	if err != nil {
		log.Fatal(err)
	}
	var done []queue.Settlement
	for _, job := range reply.Jobs {
		fmt.Println("took", job.JID, string(job.Data), "limit", job.Timeout)
		done = append(done, queue.Settlement{JID: job.JID, Queue: job.Queue, Popped: job.Popped, Action: queue.Complete})
	}
	reply, err = worker.Exchange(ctx, done, queue.Take{Queues: []string{"mail"}, Count: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.Results[0].State, "and the next is due in an hour:", reply.NextDue > reply.Now+3590)
	// Output:
	// put m1 m2
	// took m1 {"to":"ann"} limit 1m0s
	// complete and the next is due in an hour: true
}
