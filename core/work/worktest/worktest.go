// Package worktest has contexts for tests of what a work.Meter stops.
package worktest

import (
	"context"
	"sync/atomic"
)

// After is a context that ends when it has been looked at n times: a compile with
// it stops at its look number n+1, on every machine.
func After(parent context.Context, n int64) context.Context {
	c := &countdown{Context: parent}
	c.left.Store(n)
	return c
}

type countdown struct {
	context.Context
	left atomic.Int64
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return c.Context.Err()
}
