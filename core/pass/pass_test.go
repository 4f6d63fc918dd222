package pass

import (
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir"
)

var testModule = &ir.OpDef{Name: "t.module", Regions: []ir.RegionDef{{Name: "body"}}, Traits: ir.NoTerminator}

func module() *ir.Operation {
	c := ir.NewContext()
	m := ir.NewOperation(testModule, &ir.State{Ctx: c, Regions: 1})
	m.Region(0).AddBlock()
	return m
}

var (
	mark = &Pass{
		Name: "mark", Options: []Option{{Name: "n", Default: 1}, {Name: "as", Default: "x"}, {Name: "on", Default: true}},
		Run: func(r *Run) error {
			if r.Bool("on") {
				r.Module.SetAttr(r.Text("as"), r.Module.Context().I64Attr(int64(r.Int("n"))))
				r.Count("marks", 1)
			}
			return nil
		},
	}
	crash = &Pass{Name: "crash", Run: func(r *Run) error {
		r.Module.SetAttr("half", r.Module.Context().Unit())
		panic("BUG: no such thing")
	}}
	spoil = &Pass{Name: "spoil", Run: func(r *Run) error { r.Module.AddRegion(); return nil }}
	known = []*Pass{mark, crash, spoil}
)

func TestParseAndFormat(t *testing.T) {
	const in = "mark{n=3 as=y},spoil,mark{on=false}"
	rows, err := Parse(known, " mark{n=3 as=y} , spoil,mark{on=false}")
	if err != nil || Format(rows) != in {
		t.Errorf("got %q, %v", Format(rows), err)
	}
	for _, c := range []struct{ in, want string }{
		{"nosuch", `no pass "nosuch"; there are: crash, mark, spoil`},
		{"mark{n=3", "missing '}'"},
		{"mark{n=three}", `"three" is not an integer`},
		{"mark{size=3}", `no option "size=3"; it has: n, as, on`},
		{"spoil{n=3}", "it has: none"},
	} {
		if _, err := Parse(known, c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.in, err, c.want)
		}
	}
}

func TestModulesInAModule(t *testing.T) {
	m := module()
	b := ir.NewBuilder(m.Context())
	b.SetToEnd(m.Body())
	for range 2 {
		inner := b.Create(testModule, ir.State{Regions: 1})
		inner.Region(0).AddBlock()
	}
	timings, err := (&Runner{}).Run(m, []Row{{Pass: mark}}, nil)
	if err != nil || len(timings) != 2 {
		t.Errorf("got %d timings, %v; want one for each module", len(timings), err)
	}
	for op := range m.Body().Ops() {
		if !op.HasAttr("x") {
			t.Error("a module was left out")
		}
	}
	if m.HasAttr("x") {
		t.Error("the module around them was taken for a program")
	}
}

func TestConditionsAndCounters(t *testing.T) {
	big := &Condition{"big", func(f Facts) bool { return f["size"] > 10 }}
	rows := []Row{{Pass: mark, With: []Setting{{"as", "a"}}}, {Pass: mark, With: []Setting{{"as", "b"}}, When: big}}
	m := module()
	times, err := (&Runner{}).Run(m, rows, Facts{"size": 3})
	if err != nil || len(times) != 1 || m.HasAttr("b") || !m.HasAttr("a") {
		t.Errorf("ran %d passes, %v", len(times), err)
	}
	if c := times[0].Counters; len(c) != 1 || c[0] != (Counter{"marks", 1}) || times[0].Did() != "marks 1" {
		t.Errorf("counters %v, in words %q", c, times[0].Did())
	}
	if got := (&Timing{Counters: []Counter{{"loops", 2}, {"none", 0}, {"copies", 6}}}).Did(); got != "loops 2, copies 6" {
		t.Errorf("got %q", got)
	}
}

func TestCrashHasAReproducerFromBeforeThePass(t *testing.T) {
	r := &Runner{Print: func(m *ir.Operation) string {
		var names []string
		for _, a := range m.Attrs() {
			names = append(names, a.Name)
		}
		return strings.Join(names, ",")
	}}
	_, err := r.Run(module(), []Row{{Pass: mark}, {Pass: crash}}, nil)
	var c *Crash
	if !errors.As(err, &c) || c.Pass != "crash" || c.Stack == "" {
		t.Fatalf("got %v", err)
	}
	if want := "// tritonc opt --passes 'crash' THIS-FILE.mlir\nx"; c.Reproducer != want {
		t.Errorf("reproducer %q, want %q", c.Reproducer, want)
	}
}

func TestBrokenModuleIsACrash(t *testing.T) {
	for _, each := range []bool{false, true} {
		_, err := (&Runner{VerifyEach: each}).Run(module(), []Row{{Pass: spoil}, {Pass: mark}}, nil)
		var c *Crash
		if !errors.As(err, &c) || (c.Pass == "spoil") != each {
			t.Errorf("VerifyEach=%v: got %v", each, err)
		}
	}
}

// A module that a pass broke is noticed at the end and blamed on that pass.
func TestReproducerBlamesTheRightPass(t *testing.T) {
	r := &Runner{Command: "tritonc opt --target t:1", Print: func(*ir.Operation) string { return "text" }}
	_, err := r.Run(module(), []Row{{Pass: mark}, {Pass: spoil}, {Pass: mark}}, nil)
	var c *Crash
	if !errors.As(err, &c) || c.Pass != "spoil" {
		t.Fatalf("got %v", err)
	}
	if want := "// tritonc opt --target t:1 --passes 'spoil' THIS-FILE.mlir\ntext"; c.Reproducer != want {
		t.Errorf("reproducer %q, want %q", c.Reproducer, want)
	}
}

// A crash that does not come a second time has no reproducer.
func TestPassingCrash(t *testing.T) {
	done := false
	once := &Pass{Name: "once", Run: func(*Run) error {
		if !done {
			done = true
			panic("BUG: once")
		}
		return nil
	}}
	r := &Runner{Print: func(*ir.Operation) string { return "text" }}
	_, err := r.Run(module(), []Row{{Pass: once}}, nil)
	var c *Crash
	if !errors.As(err, &c) || c.Pass != "once" || c.Reproducer != "" {
		t.Errorf("got %+v", err)
	}
}

func TestSelects(t *testing.T) {
	rows := []Row{{Pass: mark}, {Pass: spoil}}
	for _, c := range []struct {
		names []string
		want  [2]bool
	}{{nil, [2]bool{}}, {[]string{"spoil"}, [2]bool{false, true}}, {[]string{All}, [2]bool{true, true}}} {
		if got := [2]bool{Selects(c.names, rows[0]), Selects(c.names, rows[1])}; got != c.want || CheckNames(c.names, rows) != nil {
			t.Errorf("%v: got %v", c.names, got)
		}
	}
	if err := CheckNames([]string{"mark", "crash"}, rows); err == nil || !strings.Contains(err.Error(), `no pass "crash" among those to run; there are: mark, spoil`) {
		t.Errorf("got %v", err)
	}
}

// A slip is told by few letters, or by what comes before a hyphen.
func TestHint(t *testing.T) {
	names := []string{"tritongpu-pipeline", "tritongpu-coalesce", "triton-licm", "licm-late", "cse", "cse"}
	for name, want := range map[string]string{
		"tritongpu-pipline": "did you mean tritongpu-pipeline?",
		"coalesce":          "did you mean tritongpu-coalesce?",
		"amd-gpu-coalesce":  "did you mean tritongpu-coalesce?",
		"licm":              "did you mean triton-licm?",
		"nothing":           "there are: cse, licm-late, triton-licm, tritongpu-coalesce, tritongpu-pipeline",
	} {
		if got := Hint(name, names); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

// What a pass does not take is the user's mistake, told before the pass runs.
func TestTakes(t *testing.T) {
	picky := &Pass{
		Name: "picky", Takes: func(m *ir.Operation) error {
			if !m.HasAttr("x") {
				return errors.New("it has no x")
			}
			return nil
		},
		Run: func(r *Run) error { r.Module.SetAttr("ran", r.Module.Context().Unit()); return nil },
	}
	m := module()
	var c *Crash
	if _, err := (&Runner{}).Run(m, []Row{{Pass: picky}}, nil); err == nil || err.Error() != "pass picky: it has no x" || errors.As(err, &c) || m.HasAttr("ran") {
		t.Errorf("got %v", err)
	}
	if _, err := (&Runner{}).Run(m, []Row{{Pass: mark}, {Pass: picky}}, nil); err != nil || !m.HasAttr("ran") {
		t.Errorf("got %v", err)
	}
}

func TestWithout(t *testing.T) {
	rows := []Row{{Pass: mark}, {Pass: spoil}, {Pass: crash, Needed: true, Why: "all else follows"}, {Pass: spoil}}
	left, err := Without(rows, []string{"spoil"}, "skip")
	if err != nil || Format(Effective(left, nil)) != "mark,crash" || left[3].When.Name != "skip" {
		t.Errorf("left are %s, %v", Format(Effective(left, nil)), err)
	}
	if Format(Effective(rows, nil)) != "mark,spoil,crash,spoil" {
		t.Error("the rows themselves change")
	}
	for name, want := range map[string]string{
		"crash": "the pass crash cannot be left out: all else follows",
		"marks": `there is no pass "marks" to leave out; did you mean mark?`,
	} {
		if _, err := Without(rows, []string{name}, "skip"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}
