package bus

import (
	"context"
	"time"
)

// catchUp are the pauses between tries of CatchUp: 63 ms in all.
var catchUp = []time.Duration{1, 2, 4, 8, 16, 32}

// CatchUp calls try again while it reports that it lacks what is surely there, or was. In a
// cluster any server answers that has a copy, and what one has just acknowledged another may
// learn of a moment later. A server by itself is asked once.
func (b *Bus) CatchUp(ctx context.Context, try func() (lacks bool)) {
	for i := 0; try() && i < len(catchUp) && b.conn.ConnectedClusterName() != ""; i++ {
		timer := time.NewTimer(catchUp[i] * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
