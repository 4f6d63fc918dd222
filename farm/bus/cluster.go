package bus

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// catchUp are the pauses between tries of CatchUp: 63 ms in all.
var catchUp = []time.Duration{1, 2, 4, 8, 16, 32}

// CatchUp calls try again while it reports that it lacks what is surely there, or was. In a
// cluster any server answers that has a copy, and what one has just acknowledged another may
// learn of a moment later. A server by itself is asked once.
func (b *Bus) CatchUp(ctx context.Context, try func() (lacks bool)) {
	for i := 0; try() && i < len(catchUp) && b.isClustered(); i++ {
		timer := time.NewTimer(catchUp[i] * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// stall is how long a server of a cluster may say nothing while it sends an object, the first
// time that it is asked for it; each time twice as long, up to mostStall. One that knows an
// object's description and not yet its bytes may be silent for good, or end too early.
const (
	stall     = 250 * time.Millisecond
	mostStall = 2 * time.Second
	// objectTries is how often it is asked.
	objectTries = 12
)

// Object reads an object. In a cluster it asks again where a server does not have all of it,
// which may be an object that has just been put. The error is jetstream's.
func (b *Bus) Object(ctx context.Context, store jetstream.ObjectStore, name string) (data []byte, err error) {
	clustered := b.isClustered()
	wait, tries := stall, 0
	b.CatchUp(ctx, func() (lacks bool) {
		for {
			tries++
			if clustered {
				data, err = readObject(ctx, store, name, wait)
			} else {
				data, err = store.GetBytes(ctx, name)
			}
			switch {
			case err == nil || ctx.Err() != nil:
				return false
			case errors.Is(err, jetstream.ErrObjectNotFound):
				return true
			case !clustered || tries >= objectTries:
				return false
			}
			wait = min(2*wait, mostStall)
		}
	})
	return data, err
}

func (b *Bus) isClustered() bool { return b.conn.ConnectedClusterName() != "" }

// readObject reads an object once, and gives it up when nothing of it comes for so long.
func readObject(ctx context.Context, store jetstream.ObjectStore, name string, wait time.Duration) ([]byte, error) {
	bounded, cancel := context.WithCancel(ctx)
	defer cancel()
	found, err := store.Get(bounded, name)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	timer := time.AfterFunc(wait, cancel)
	defer timer.Stop()
	var data bytes.Buffer
	for piece := make([]byte, 64<<10); ; {
		n, err := found.Read(piece)
		data.Write(piece[:n])
		switch {
		case errors.Is(err, io.EOF):
			return data.Bytes(), nil
		case err != nil:
			return nil, err
		}
		timer.Reset(wait)
	}
}
