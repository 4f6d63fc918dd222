package plugin

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// lockedBuffer is written to and read at once.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// TestDrainLog: what a backend logs before it answers has been logged after DrainLog.
func TestDrainLog(t *testing.T) {
	var out lockedBuffer
	h := newHost(t, Options{
		Dirs:   []string{testBackend(t, "works")},
		Logger: hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Info}),
	})
	b := h.Backends()[0]
	const lines = 50
	for i := range 100 {
		req := sdk.RunStagesRequest{Target: testTarget, First: "chatter", Last: "chatter", Input: fmt.Append(nil, i, " ", lines)}
		if _, err := b.RunStages(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		h.DrainLog()
		if n := strings.Count(out.text(), fmt.Sprintf("call=%d ", i)); n != lines {
			t.Fatalf("call %d: %d lines of %d are there", i, n, lines)
		}
	}
}

// TestEndUnused: a process that has described itself and no more is ended; one that has
// done something stays.
func TestEndUnused(t *testing.T) {
	dir, starts := countedBackend(t, "works", "1")
	h := newHost(t, Options{Dirs: []string{dir}, LookupEnv: homeLookup(t)})
	b := h.Backends()[0]
	h.DescribeAll(t.Context())
	if n := len(h.Running()); n != 1 {
		t.Fatalf("%d run that described themselves", n)
	}
	h.EndUnused()
	if n := len(h.Running()); n != 0 {
		t.Errorf("%d run that nobody used", n)
	}
	if _, err := b.SupportsTarget(t.Context(), testTarget); err != nil || starts() != 2 {
		t.Errorf("%v after %d starts", err, starts())
	}
	h.EndUnused()
	if n := len(h.Running()); n != 1 {
		t.Errorf("%d run, of which one is used", n)
	}
	if _, err := b.GetModule(t.Context(), "made.by"); err != nil || starts() != 2 {
		t.Errorf("%v after %d starts", err, starts())
	}
}
