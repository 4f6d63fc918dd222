package local

import (
	"context"
	"io"
	"sync"
)

// lifeline is the end of a pipe by which a server knows that this process lives.
type lifeline struct {
	io.Closer
	ended <-chan struct{} // closed when the server has ended
}

// lifelines are kept from the garbage collector, which would close them.
var lifelines struct {
	sync.Mutex
	list []lifeline
}

func keep(c io.Closer, ended <-chan struct{}) {
	lifelines.Lock()
	defer lifelines.Unlock()
	lifelines.list = append(lifelines.list, lifeline{c, ended})
}

// End ends the servers that this process has started before the process ends, and waits
// for that, or until ctx ends: who comes next does not find one that is about to go.
func End(ctx context.Context) {
	lifelines.Lock()
	defer lifelines.Unlock()
	for _, l := range lifelines.list {
		_ = l.Close() // the server may have ended by itself
	}
	for _, l := range lifelines.list {
		select {
		case <-l.ended:
		case <-ctx.Done():
		}
	}
	lifelines.list = nil
}
