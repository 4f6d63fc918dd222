package backend

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"sync"

	sdk "github.com/tritonc/tritonc/plugin-sdk"
)

// Made is what a tool makes of an input.
type Made struct {
	Data []byte
	Said []byte // on its outputs
}

// maxMadeBytes bounds what is kept of what tools made.
const maxMadeBytes = 64 << 20

// madeSet keeps what tools made of which inputs, those that were used last, and has a
// tool run once for calls that want the same at once.
type madeSet struct {
	mu    sync.Mutex
	limit int
	bytes int
	clock int64
	rows  map[[sha256.Size]byte]*madeRow
}

// madeRow is one input's. Until done is closed somebody makes it.
type madeRow struct {
	done chan struct{}
	made *Made // nil after a failure
	used int64
}

func newMadeSet(limit int) *madeSet {
	return &madeSet{limit: limit, rows: map[[sha256.Size]byte]*madeRow{}}
}

// get returns what run makes, or made before under the key. One that fails has the next
// who waits for it make it.
func (s *madeSet) get(ctx context.Context, key [sha256.Size]byte, run func() (*Made, error)) (m *Made, before bool, err error) {
	for {
		s.mu.Lock()
		row := s.rows[key]
		if row == nil {
			break
		}
		s.clock++
		row.used = s.clock
		s.mu.Unlock()
		select {
		case <-row.done:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
		if row.made != nil {
			return row.made, true, nil
		}
	}
	row := &madeRow{done: make(chan struct{})}
	s.rows[key] = row
	s.mu.Unlock()
	defer func() { // also when run panics
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settle(key, row, m)
		close(row.done)
	}()
	m, err = run()
	return m, false, err
}

// settle keeps what was made, if anything was, and forgets what was not used for long.
func (s *madeSet) settle(key [sha256.Size]byte, row *madeRow, m *Made) {
	if m == nil {
		delete(s.rows, key)
		return
	}
	s.clock++
	row.made, row.used = m, s.clock
	s.bytes += m.size()
	for s.bytes > s.limit {
		var oldest [sha256.Size]byte
		var found *madeRow
		for k, r := range s.rows {
			if r.made != nil && (found == nil || r.used < found.used) {
				oldest, found = k, r
			}
		}
		s.bytes -= found.made.size()
		delete(s.rows, oldest)
	}
}

func (m *Made) size() int { return len(m.Data) + len(m.Said) }

// Shared returns what a tool makes of an input, which run has it make, once in a
// process: other calls get the same. How the tool is called is in parts, with the input;
// nothing else may decide on what it makes. What is returned is not to be changed.
func (c *Compilation) Shared(t *Tool, parts []string, input []byte, run func() (*Made, error)) (*Made, error) {
	h := sha256.New()
	for _, s := range append([]string{t.Name, t.Path, t.SHA256}, parts...) {
		fmt.Fprintf(h, "%d:", len(s))
		io.WriteString(h, s)
	}
	h.Write(input)
	m, before, err := c.backend.made.get(c.Context, [sha256.Size]byte(h.Sum(nil)), run)
	if before {
		c.AddTool(t.ToolInfo)
		c.resp.Timings = append(c.resp.Timings, sdk.Timing{Stage: c.current, Name: t.Name, Did: "nothing: this process had it make the same before"})
	}
	return m, err
}
