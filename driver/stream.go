package driver

import (
	"context"
	"errors"
)

// Stream is a queue of a device's work. Launches that name it return at once; the
// device runs them in order, one after the other. Devices that have streams make them by
// a method of their own; simulated ones and those of plugins have none.
type Stream interface {
	// Sync waits until all that was launched has run, or until ctx ends: then the error
	// is ctx's, and kernels run on. A *Fault tells what a kernel did wrong.
	Sync(ctx context.Context) error
	// Close gives the stream back. What it holds still runs.
	Close() error
}

// ErrNoStreams is the error of a launch on a stream where the device has none.
var ErrNoStreams = errors.New("the device has no streams")

// ErrLost is what a device returns after a kernel's fault made it useless: the one that
// was launched, and every other one of the same GPU in the same process.
var ErrLost = errors.New("the device was lost in an earlier launch")
