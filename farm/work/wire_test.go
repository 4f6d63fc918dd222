//go:build unix

package work

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// wire carries connections to a server, and can be cut.
type wire struct {
	to   string
	from net.Listener

	mu   sync.Mutex
	open map[net.Conn]bool
	dead time.Time // until then nobody gets through
}

func newWire(t testing.TB, to string) *wire {
	t.Helper()
	from, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{to: to, from: from, open: map[net.Conn]bool{}}
	t.Cleanup(func() { from.Close(); w.cut(0) })
	go func() {
		for {
			c, err := from.Accept()
			if err != nil {
				return
			}
			go w.carry(c)
		}
	}()
	return w
}

func (w *wire) url() string { return "nats://" + w.from.Addr().String() }

// hold keeps a connection until it ends or the wire is cut; false while it is.
func (w *wire) hold(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.dead) {
		c.Close()
		return false
	}
	w.open[c] = true
	return true
}

func (w *wire) drop(c net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
	c.Close()
}

func (w *wire) carry(near net.Conn) {
	if !w.hold(near) {
		return
	}
	defer w.drop(near)
	far, err := net.Dial("tcp", w.to)
	if err != nil || !w.hold(far) {
		return
	}
	defer w.drop(far)
	go func() {
		_, _ = io.Copy(far, near)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// cut closes all connections, and takes none for some time.
func (w *wire) cut(dead time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead = time.Now().Add(dead)
	for c := range w.open {
		c.Close()
	}
}
