package pass

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tritonc/tritonc/core/ir"
)

// Runner runs pipelines. The zero Runner runs and times; the rest is asked for.
type Runner struct {
	// VerifyEach verifies the module after every pass, not only at the end.
	VerifyEach bool
	// After, when set, is told of each pass that has run.
	After func(row Row, m *ir.Operation)
	// Print gives the text of a module for reproducers. Nil: none are made.
	Print func(m *ir.Operation) string
}

// Timing is how long one pass took and what it counted.
type Timing struct {
	Pass     string
	Duration time.Duration
	Counters []Counter
}

// Crash is a bug of ours that a pass ran into: a panic, or a module that no
// longer verifies.
type Crash struct {
	Pass   string
	Reason string
	Stack  string // of the panic, or empty
	// Reproducer is a file that shows the bug again: a first line with the
	// command, then the module as it stood before the pass.
	Reproducer string
}

func (c *Crash) Error() string { return fmt.Sprintf("BUG: pass %s: %s", c.Pass, c.Reason) }

// Run runs the rows whose conditions hold on m, in order. It stops at the first
// error. The module is verified at the end.
func (r *Runner) Run(m *ir.Operation, rows []Row, f Facts) ([]Timing, error) {
	rows = Effective(rows, f)
	var before *ir.Operation
	if r.Print != nil {
		before = m.Clone(ir.NewMapping())
	}
	timings := make([]Timing, 0, len(rows))
	for i, row := range rows {
		start := time.Now()
		counts, err := r.one(m, row)
		if err == nil && (r.VerifyEach || i == len(rows)-1) {
			if verr := ir.Verify(m); verr != nil {
				err = &Crash{Pass: row.Pass.Name, Reason: "the module does not verify after it: " + verr.Error()}
			}
		}
		timings = append(timings, Timing{row.Pass.Name, time.Since(start), counts})
		if err != nil {
			if c, ok := err.(*Crash); ok && before != nil {
				c.Reproducer = r.reproduce(before, rows[:i], row)
			}
			return timings, err
		}
		if r.After != nil {
			r.After(row, m)
		}
	}
	return timings, nil
}

// one runs a single pass; a panic in it becomes a Crash.
func (r *Runner) one(m *ir.Operation, row Row) (counts []Counter, err error) {
	run := &Run{Module: m, pass: row.Pass, with: row.With}
	defer func() {
		counts = run.counts
		if p := recover(); p != nil {
			err = &Crash{Pass: row.Pass.Name, Reason: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
	}()
	return nil, row.Pass.Run(run)
}

// reproduce runs the passes before the failing one again on a copy of the
// input, since the module at hand may be half changed, and prints the result.
func (r *Runner) reproduce(input *ir.Operation, done []Row, failing Row) string {
	for _, row := range done {
		if _, err := r.one(input, row); err != nil {
			return ""
		}
	}
	return fmt.Sprintf("// tritonc opt --passes '%s' THIS-FILE\n%s", failing, r.Print(input))
}
