package ops

import "testing"

// A queue that was empty a moment ago keeps up, whatever waits in between.
func TestAQueueThatIsEmptyAgainAndAgainDoesNotGrow(t *testing.T) {
	var looks []Look
	for i, waiting := range []int{0, 0, 0, 1, 0, 2, 1} {
		looks = append(looks, Look{At: float64(i), Waiting: waiting, Running: 2, Completed: 10 * i, Ran: float64(i)})
	}
	if o := Forecast(looks, ""); o.Word != "steady" {
		t.Errorf("%+v", o)
	}
	for i := range looks {
		looks[i].Waiting += i
	}
	if o := Forecast(looks, ""); o.Word != "grows" {
		t.Errorf("%+v", o)
	}
}
