package pass

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/work"
)

// Runner runs pipelines. The zero Runner runs and times; the rest is asked for.
type Runner struct {
	// CheckNeeds checks, before each pass, the facts that it needs of the module; one
	// that does not hold is the mistake of who ordered the passes, a diagnostic.
	CheckNeeds bool
	// VerifyEach does, too, and verifies the module after every pass, not only at
	// the end: the operations, the facts that the pass gives, and those that held
	// before and that it does not say it breaks.
	VerifyEach bool
	// Place says where an operation of the input is in its text, for diagnostics. It
	// is nil, or says nothing of operations that passes made.
	Place func(op *ir.Operation) diag.Pos
	// After, when set, is told of each pass that has run.
	After func(row Row, m *ir.Operation)
	// Print gives the text of a module for reproducers. Nil: none are made.
	Print func(m *ir.Operation) string
	// Command is what runs single passes again, to which a reproducer adds
	// --passes; empty: "tritonc opt".
	Command string
}

// Timing is how long one pass took, how much it visited (the verifier, where it
// ran after the pass, apart), what it counted, what it remarks, and what it said.
type Timing struct {
	Pass     string
	Duration time.Duration
	Visits   int64
	Counters []Counter
	Remarks  []Remark
	Said     diag.List
}

// Did is what the pass counted, for people: "loops 1, copies 4".
func (t *Timing) Did() string {
	var parts []string
	for _, c := range t.Counters {
		if c.N != 0 {
			parts = append(parts, fmt.Sprint(c.Name, " ", c.N))
		}
	}
	return strings.Join(parts, ", ")
}

// Crash is a bug of ours that a pass ran into: a panic, or a module that no
// longer verifies.
type Crash struct {
	Pass   string
	Reason string
	Stack  string // of the panic, or empty
	// Reproducer is a file that shows the bug again: a first line with the
	// command, in which ThisFile stands for the file, then the module as it
	// was before the pass. Empty when the bug did not show a second time.
	Reproducer string
}

// ThisFile stands for a reproducer's own name, until the file has one.
const ThisFile = "THIS-FILE.mlir"

func (c *Crash) Error() string { return fmt.Sprintf("BUG: pass %s: %s", c.Pass, c.Reason) }

// Run runs the rows whose conditions hold on m, in order. It stops at the first
// error, which is that of the module's Meter when the compile is to stop. The
// module is verified at the end. The modules in a module that holds nothing else are
// programs of their own, and run one after the other.
func (r *Runner) Run(m *ir.Operation, rows []Row, f Facts) (timings []Timing, err error) {
	defer work.Catch(&err)
	if programs := programsIn(m); programs != nil {
		for _, program := range programs {
			t, err := r.Run(program, rows, f)
			timings = append(timings, t...)
			if err != nil {
				return timings, err
			}
		}
		return timings, nil
	}
	rows = Effective(rows, f)
	meter := m.Context().Meter()
	var before *ir.Operation
	if r.Print != nil {
		before = m.Clone(ir.NewMapping())
	}
	known := r.known(m, rows)
	timings = make([]Timing, 0, len(rows))
	for i, row := range rows {
		meter.Enter("pass " + row.Pass.Name)
		meter.Check()
		start, visits := time.Now(), meter.Visits()
		run, err := r.one(m, row)
		visits = meter.Visits() - visits
		if err == nil && (r.VerifyEach || i == len(rows)-1) {
			err = verify(m, row)
		}
		if err == nil && r.VerifyEach {
			known = known.through(row)
			err = stillHold(m, row, known)
		}
		timings = append(timings, Timing{row.Pass.Name, time.Since(start), visits, run.counts, run.notes, run.said})
		if err != nil {
			var c *Crash
			if errors.As(err, &c) && before != nil {
				r.reproduce(c, before, rows[:i+1])
			}
			return timings, err
		}
		if r.After != nil {
			r.After(row, m)
		}
	}
	return timings, nil
}

// programsIn are the modules in m if it holds modules alone.
func programsIn(m *ir.Operation) (programs []*ir.Operation) {
	for op := range m.Body().Ops() {
		if op.Def() != m.Def() {
			return nil
		}
		programs = append(programs, op)
	}
	return programs
}

// one runs a single pass; a panic in it becomes a Crash.
func (r *Runner) one(m *ir.Operation, row Row) (run *Run, err error) {
	run = &Run{Module: m, pass: row.Pass, with: row.With, place: r.Place}
	defer func() {
		if p := recover(); p != nil {
			if err = work.Stopped(p); err != nil {
				return
			}
			err = &Crash{Pass: row.Pass.Name, Reason: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
	}()
	if r.CheckNeeds || r.VerifyEach {
		for _, f := range row.Before() {
			if d := f.Unmet(m, "pass "+row.Pass.Name, r.Place); d != nil {
				return run, d
			}
		}
	}
	if takes := row.Pass.Takes; takes != nil {
		if err := takes(m); err != nil {
			return run, fmt.Errorf("pass %s: %w", row.Pass.Name, err)
		}
	}
	return run, row.Pass.Run(run)
}

// known are the facts that hold before the first pass, of those that the rows mention.
// Nobody asks unless each pass is verified.
func (r *Runner) known(m *ir.Operation, rows []Row) (known FactSet) {
	if !r.VerifyEach {
		return nil
	}
	for _, f := range Mentioned(rows) {
		if at, _ := f.Broken(m); at == nil {
			known = append(known, f)
		}
	}
	return known
}

// stillHold checks facts that are to hold after a pass.
func stillHold(m *ir.Operation, row Row, known FactSet) error {
	for _, f := range known {
		if at, why := f.Broken(m); at != nil {
			return &Crash{Pass: row.Pass.Name, Reason: fmt.Sprintf("after it, %s no longer holds (%s): %s", f.Name, f.Doc, why)}
		}
	}
	return nil
}

// reproduce runs the passes again on a copy of the input, looking at the module
// before and after each: the one at hand may be half changed, and a pass that
// leaves what does not verify may be noticed only at the end. What it finds goes
// into c.
func (r *Runner) reproduce(c *Crash, input *ir.Operation, rows []Row) {
	known := r.known(input, rows)
	for _, row := range rows {
		text := r.Print(input)
		known = known.through(row)
		err := r.checked(input, row)
		if err == nil && r.VerifyEach {
			err = stillHold(input, row, known)
		}
		var again *Crash
		if !errors.As(err, &again) {
			continue
		}
		c.Pass, c.Reason, c.Stack = again.Pass, again.Reason, again.Stack
		command := r.Command
		if command == "" {
			command = "tritonc opt"
		}
		if r.VerifyEach {
			command += " --verify-each"
		}
		c.Reproducer = fmt.Sprintf("// %s --passes '%s' %s\n%s", command, row, ThisFile, text)
		return
	}
}

// checked runs a single pass and verifies what it leaves.
func (r *Runner) checked(m *ir.Operation, row Row) error {
	if _, err := r.one(m, row); err != nil {
		return err
	}
	return verify(m, row)
}

// verify checks what a pass left.
func verify(m *ir.Operation, row Row) error {
	if err := ir.Verify(m); err != nil {
		return &Crash{Pass: row.Pass.Name, Reason: "the module does not verify after it: " + err.Error()}
	}
	return nil
}
