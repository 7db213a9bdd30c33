package web

import (
	"time"
)

// List is a part of a long list, as every list is told.
type List[T any] struct {
	Items []T     `json:"items"`
	Next  string  `json:"next,omitempty"`  // the cursor of what follows; "" at the end
	Total *int    `json:"total,omitempty"` // how many there are; nil where nobody has counted
	AsOf  float64 `json:"as_of"`           // seconds since the epoch
}

// items is a list that is whole.
func items[T any](all []T) List[T] {
	if all == nil {
		all = []T{}
	}
	total := len(all)
	return List[T]{Items: all, Total: &total, AsOf: float64(time.Now().UnixMilli()) / 1e3}
}
