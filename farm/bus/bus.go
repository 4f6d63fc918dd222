package bus

import (
	"context"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Bus is a connection. Its methods may be called by several goroutines at once.
type Bus struct {
	opts Options
	conn *nats.Conn
	js   jetstream.JetStream

	mu   sync.Mutex
	last error // that the server told of something sent before
}

// Connect opens a connection with one of the servers. The error is an *Error.
func Connect(ctx context.Context, opts Options) (*Bus, error) {
	b := &Bus{opts: opts}
	list, err := opts.client(b.see)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, opts.timeout())
	defer cancel()
	type outcome struct {
		conn *nats.Conn
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		conn, err := nats.Connect(strings.Join(opts.URLs, ","), list...)
		done <- outcome{conn, err}
	}()
	var got outcome
	select {
	case got = <-done:
	case <-ctx.Done():
		go func() { // which nats.Connect bounds by its own timeout for each server
			if late := <-done; late.conn != nil {
				late.conn.Close()
			}
		}()
		got.err = ctx.Err()
	}
	if got.err != nil {
		return nil, opts.ofConnect(got.err)
	}
	b.conn = got.conn
	if b.js, err = jetstream.New(b.conn); err != nil {
		b.conn.Close()
		return nil, opts.errorf(Other, err, "NATS: %v", err)
	}
	return b, nil
}

// see notes what the server tells of something that was sent before.
func (b *Bus) see(err error) {
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = err
}

func (b *Bus) seen() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

// either is what the server told, where it told something, or err.
func (b *Bus) either(err error) error {
	if last := b.seen(); last != nil {
		return last
	}
	return err
}

// Options are those that the connection was made with.
func (b *Bus) Options() *Options { return &b.opts }

// Conn is the connection as nats.go has it.
func (b *Bus) Conn() *nats.Conn { return b.conn }

// JetStream is the connection's JetStream.
func (b *Bus) JetStream() jetstream.JetStream { return b.js }

// Check asks whether the server has JetStream for us.
func (b *Bus) Check(ctx context.Context) error {
	_, err := b.js.AccountInfo(ctx)
	return b.Explain(err, "asking for JetStream")
}

// Close ends the connection. What was sent and not answered may be lost.
func (b *Bus) Close() { b.conn.Close() }
