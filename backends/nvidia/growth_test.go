package nvidia

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
)

// growing are kernels of any length, each long in its own way.
var growing = []struct {
	name   string
	sizes  []int // what tests hold near-linear between the last two; benchmarks run all
	source func(n int) string
}{
	{"unrolled", []int{64, 256, 1024}, func(n int) string { // straight-line code with an access each
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.zeros([128], tl.float32)
    for i in tl.static_range(%d):
        s += tl.load(x + o + i * n, mask=o < n - i)
    tl.store(x + o, s)
`, n)
	}},
	{"loop_body", []int{64, 256, 1024}, func(n int) string { // the same in a loop
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.zeros([128], tl.float32)
    for j in range(n):
        for i in tl.static_range(%d):
            s += tl.load(x + o + (i + j) * n)
    tl.store(x + o, s)
`, n)
	}},
	{"arithmetic", []int{64, 256, 1024}, func(n int) string { // one long expression
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    s = tl.load(x + o)
    for i in tl.static_range(%d):
        s = s * 1.5 + i
    tl.store(x + o, s)
`, n)
	}},
	{"stores", []int{64, 256, 1024}, func(n int) string {
		return fmt.Sprintf(`
    o = tl.arange(0, 128)
    for i in tl.static_range(%d):
        tl.store(x + o + i * n, tl.load(x + o * n + i))
`, n)
	}},
	{"ifs", []int{10, 100, 1000}, func(n int) string { // conditionals with an effect, one after another
		return fmt.Sprintf(`
    for i in tl.static_range(%d):
        if n > i * 3:
            tl.store(x + i, 1.0)
`, n)
	}},
	{"selects", []int{10, 100, 1000}, func(n int) string { // conditionals with a value
		return fmt.Sprintf(`
    s = 0.0
    for i in tl.static_range(%d):
        if n > i * 3:
            s += tl.load(x + i)
        else:
            s = s * 2
    tl.store(x, s)
`, n)
	}},
	{"loops", []int{10, 100, 1000}, func(n int) string {
		return fmt.Sprintf(`
    s = 0.0
    for i in tl.static_range(%d):
        for j in range(n):
            s += tl.load(x + i * j)
    tl.store(x, s)
`, n)
	}},
	{"whiles", []int{10, 100, 1000}, func(n int) string {
		return fmt.Sprintf(`
    s = n
    for i in tl.static_range(%d):
        while s > i:
            s = s // 2 - 1
    tl.store(x, s.to(tl.float32))
`, n)
	}},
	{"returns", []int{10, 100, 1000}, func(n int) string { // early returns, which are blocks of cf
		return fmt.Sprintf(`
    for i in tl.static_range(%d):
        if n == i * 3:
            tl.store(x + i, 1.0)
            return
`, n)
	}},
	{"calls", []int{10, 100, 1000}, func(n int) string { // inlined, each with two returns
		return fmt.Sprintf(`
    s = n
    for i in tl.static_range(%d):
        s = f(s, i)
    tl.store(x, s.to(tl.float32))

@triton.jit
def f(a, b):
    if a > b:
        return a
    return a * 3 + b
`, n)
	}},
	{"reductions", []int{10, 100, 1000}, func(n int) string { // shared memory and barriers
		return fmt.Sprintf(`
    o = tl.arange(0, 1024)
    s = tl.load(x + o)
    for i in tl.static_range(%d):
        s = s + tl.sum(s * i, 0)
    tl.store(x + o, s)
`, n)
	}},
}

// step is one step of a compile and what it took.
type step struct {
	name   string
	visits int64
	time   time.Duration
}

// steps compiles a kernel to llir and returns each step's work.
func steps(tb testing.TB, body string) (list []step, llir []byte) {
	tb.Helper()
	src := "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, n):" + body
	f, err := frontend.Parse("k.py", "k.py", []byte(src))
	if err != nil {
		tb.Fatal(err)
	}
	program := f.In(frontend.Environment{})
	variants, err := program.Variants(tb.Context(), &frontend.Request{Kernel: "k", Signature: "*fp32:16, i32"})
	if err != nil {
		tb.Fatal(err)
	}
	meter := work.Start(tb.Context())
	at, start := int64(0), time.Now()
	note := func(name string) {
		list = append(list, step{name, meter.Visits() - at, time.Since(start)})
		at, start = meter.Visits(), time.Now()
	}
	m, err := program.Build(tb.Context(), dialect.NewContext(), variants[0], &frontend.Options{NumWarps: 4, NumStages: 3, NumCTAs: 1, Meter: meter})
	if err != nil {
		tb.Fatal(err)
	}
	note("front end")
	printed := backend.Print(m)
	note("print")
	ctx := dialect.NewContext()
	ctx.SetMeter(meter)
	if m, err = text.Parse(ctx, "k.ttir", printed); err != nil {
		tb.Fatal(err)
	}
	note("parse")
	if err := ir.Verify(m); err != nil {
		tb.Fatal(err)
	}
	note("verify")
	asked := request(tb, "80", stageTTIR, "k.ttir", printed, "")
	j, err := readRequest(asked.Target, asked.OptionsJSON)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range j.stages()[:2] {
		timings, err := (&pass.Runner{}).Run(m, s.Passes, passFacts(j.early, j.opts))
		if err != nil {
			tb.Fatal(err)
		}
		for _, t := range timings {
			list = append(list, step{s.Name + " " + t.Pass, t.Visits, t.Duration})
		}
		at, start = meter.Visits(), time.Now()
	}
	res, err := lower.Module(m, &gpu.Target{CC: j.early.cc}, lower.Options{Producer: backend.Producer, LineInfo: true})
	if err != nil {
		tb.Fatal(err)
	}
	note("llir lowering")
	llir = res.LLVM.Print()
	note("llir print")
	return list, llir
}

// The work of every step grows as the kernel does: between its two largest sizes
// by at most a quarter more.
func TestGrowth(t *testing.T) {
	for _, g := range growing {
		t.Run(g.name, func(t *testing.T) {
			n := len(g.sizes)
			small, _ := steps(t, g.source(g.sizes[n-2]))
			large, _ := steps(t, g.source(g.sizes[n-1]))
			factor := int64(g.sizes[n-1] / g.sizes[n-2])
			for i, s := range small {
				if most := s.visits * factor * 5 / 4; large[i].visits > most+1000 {
					t.Errorf("%s: %d visits for %d, %d for %d: %.1f times for %d", s.name, s.visits, g.sizes[n-2], large[i].visits, g.sizes[n-1],
						float64(large[i].visits)/float64(s.visits), factor)
				}
			}
		})
	}
}

// BenchmarkGrowth shows the time of each step at each size, and by how many times
// it grows from one to the next.
func BenchmarkGrowth(b *testing.B) {
	for _, g := range growing {
		b.Run(g.name, func(b *testing.B) {
			for range b.N {
				var rows []string
				var before []step
				for k, n := range g.sizes {
					now, _ := steps(b, g.source(n))
					for i, s := range now {
						if k == 0 {
							rows = append(rows, fmt.Sprintf("%-42s", s.name))
						} else {
							rows[i] += fmt.Sprintf(" ×%-5.1f", float64(s.time)/float64(before[i].time))
						}
						rows[i] += fmt.Sprintf(" %8.2fms", float64(s.time)/1e6)
					}
					before = now
				}
				b.Logf("%s of %v\n%s", g.name, g.sizes, strings.Join(rows, "\n"))
			}
		})
	}
}
