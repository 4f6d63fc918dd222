package nvidia

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/backends/nvidia/gpu"
	"github.com/tritonc/tritonc/backends/nvidia/ptx"
	"github.com/tritonc/tritonc/core/backend"
	"github.com/tritonc/tritonc/core/backend/llvm"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/frontend"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/lower"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/work"
)

// step is one step of a compile and what it took.
type step struct {
	name   string
	visits int64
	time   time.Duration
}

// lowered is a kernel as LLVM IR, and the bytes of shared memory that it uses.
type lowered struct {
	llir   []byte
	shared int
}

// steps compiles a kernel to PTX and returns each step's work.
func steps(tb testing.TB, body string) (list []step, kernel lowered) {
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
	res, err := lower.Module(m, &gpu.Target{CC: j.early.cc}, lower.Options{Producer: llvm.Producer, LineInfo: true})
	if err != nil {
		tb.Fatal(err)
	}
	note("llir lowering")
	kernel = lowered{res.LLVM.Print(), res.Shared}
	note("llir print")
	res.LLVM.Sweep()
	res.LLVM.Number()
	if _, err := ptx.Translate(res.LLVM, ptx.Options{CC: j.arch.cc, SM: j.arch.smName(), Version: ptxVersionAlone, Fusion: true}); err != nil {
		tb.Fatal(err)
	}
	note("ptx")
	return list, kernel
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

// BenchmarkGrowth shows the time of each step at each size, llc and ptxas included,
// and its slope: 1.0 where the time grows as the kernel does, 2.0 where it grows as
// its square.
func BenchmarkGrowth(b *testing.B) {
	needTools(b, llvm.LLC, ptxasKind)
	for _, g := range growing {
		b.Run(g.name, func(b *testing.B) {
			for range b.N {
				var rows []string
				var before []step
				for k, n := range g.sizes {
					now, kernel := steps(b, g.source(n))
					now = append(now, toolSteps(b, kernel)...)
					for i, s := range now {
						if k == 0 {
							rows = append(rows, fmt.Sprintf("%-54s", s.name))
						} else {
							ratio := float64(s.time) / float64(before[i].time)
							rows[i] += fmt.Sprintf(" %5.1f", math.Log(ratio)/math.Log(float64(n)/float64(g.sizes[k-1])))
						}
						rows[i] += fmt.Sprintf(" %9.2fms", float64(s.time)/1e6)
					}
					before = now
				}
				// b.Log shows ten lines.
				fmt.Printf("%s of %v\n%s\n", g.name, g.sizes, strings.Join(rows, "\n"))
			}
		})
	}
}

// toolSteps compiles LLVM IR to machine code and returns the time of each tool.
func toolSteps(tb testing.TB, kernel lowered) (list []step) {
	tb.Helper()
	asked := request(tb, "80", stagePTX, "k.llir", kernel.llir, "")
	asked.MetadataJSON = fmt.Sprintf(`{"shared": %d}`, kernel.shared)
	resp, err := New().RunStages(tb.Context(), asked)
	if err != nil {
		tb.Fatal(err)
	}
	for _, t := range resp.Timings {
		if t.Name != "" {
			list = append(list, step{name: t.Stage + " " + t.Name, time: time.Duration(t.Nanoseconds)})
		}
	}
	return list
}
