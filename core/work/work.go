package work

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Meter counts what one compile visits, and stops it.
type Meter struct {
	visits int64
	next   int64 // the count at which to look again whether to stop
	looks  int
	heap   time.Time       // when the memory was looked at last
	ctx    context.Context // nil: never ends
	memory *share          // nil: no limit
	step   string
}

// The Meter looks at the context after so many visits, and at the memory every
// so many looks: the first costs a few nanoseconds, the second a microsecond. Passes of a
// small kernel take a few of these: between them the memory is not looked at more often
// than it can grow by much.
const (
	visitsALook = 2048
	looksAtHeap = 4
	heapTime    = time.Millisecond
)

type memoryKey struct{}

// WithMemory returns a context whose compiles may have the process hold so many
// bytes for each of them; 0 means no limit.
func WithMemory(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, memoryKey{}, bytes)
}

// Start makes the meter of a compile that ends with ctx, in the memory that ctx
// gives it. End must be called when the compile has ended.
func Start(ctx context.Context) *Meter {
	m := &Meter{ctx: ctx}
	if n, _ := ctx.Value(memoryKey{}).(int64); n > 0 {
		m.memory = join(n)
	}
	return m
}

// End tells that the compile is over.
func (m *Meter) End() {
	if m.memory != nil {
		m.memory.leave()
		m.memory = nil
	}
}

// Visits is how much has been visited so far.
func (m *Meter) Visits() int64 { return m.visits }

// Visit counts one visit. It panics when the compile is to stop; see Catch.
func (m *Meter) Visit() {
	if m.visits++; m.visits >= m.next {
		m.look()
	}
}

// Add counts n visits, as Visit does.
func (m *Meter) Add(n int) {
	if m.visits += int64(n); m.visits >= m.next {
		m.look()
	}
}

// Enter names the step that the compile is in, for messages: "the front end",
// "pass tritongpu-pipeline".
func (m *Meter) Enter(step string) { m.step = step }

// Check is Visit that looks at once whether to stop.
func (m *Meter) Check() {
	m.next = 0
	if m.memory != nil && time.Since(m.heap) > heapTime {
		m.looks = 0
	}
	m.Visit()
}

// look stops the compile when its time has come.
func (m *Meter) look() {
	m.next = m.visits + visitsALook
	if m.ctx == nil {
		return
	}
	if err := m.ctx.Err(); err != nil {
		m.stop(err)
	}
	if m.memory == nil {
		return
	}
	m.memory.visits.Store(m.visits)
	if m.looks--; m.looks < 0 {
		m.looks, m.heap = looksAtHeap, time.Now()
		if m.memory.over() {
			m.stop(&OverMemory{Limit: m.memory.limit, Step: m.step})
		}
	}
}

// stop ends the compile. It does so once: who reports the error may walk what
// there is of the kernel.
func (m *Meter) stop(err error) {
	m.ctx = nil
	panic(&stop{err})
}

// stop is the panic that ends a compile.
type stop struct{ err error }

// String is what a person reads of a stop that nobody caught.
func (s *stop) String() string {
	return "BUG: a compile was stopped and nobody caught it: " + s.err.Error()
}

// Catch is deferred where a compile's stop becomes an error: the context's, or an
// *OverMemory. Other panics pass.
func Catch(err *error) {
	switch r := recover().(type) {
	case nil:
	case *stop:
		*err = r.err
	default:
		panic(r)
	}
}

// IsStop reports whether err, wrapped or not, is one that Catch gives.
func IsStop(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*OverMemory))
}

// Stopped is the error that a recovered panic stands for, nil for other panics.
func Stopped(recovered any) error {
	if s, ok := recovered.(*stop); ok {
		return s.err
	}
	return nil
}

// OverMemory says that a compile needed more memory than it may.
type OverMemory struct {
	Limit int64  // bytes
	Step  string // what the compile was doing, or empty
}

func (e *OverMemory) Error() string {
	s := fmt.Sprintf("the compile needs more than %d MiB of memory, its limit", e.Limit>>20)
	if e.Step != "" {
		s += ", in " + e.Step
	}
	return s
}

// OverMemoryHelp is the next step of a user who meets OverMemory.
const OverMemoryHelp = "less code takes less: smaller blocks, more warps (num_warps), fewer stages (num_stages), less that is unrolled; --max-memory sets another limit in MiB"
