package host

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tritonc/tritonc/driver/bench"
)

const marks = kernels + `
configs = []
for half in [False, True]:
    configs.append(triton.testing.Benchmark(
        x_names=["n", "m"], x_vals=[64, (128, 2)], x_log=True, line_arg="provider", line_vals=["triton", "torch", "apex"],
        line_names=["Triton", "Torch", "Apex"], styles=[("blue", "-"), ("green", "--"), ("red", ":")],
        ylabel="GB/s", plot_name="add-" + ("half" if half else "single"), args={"half": half}))

@triton.testing.perf_report(configs)
def benchmark(n, m, provider, half, warmup=25):
    x = torch.randn(n * m, dtype=torch.float16 if half else torch.float32)
    def launch():
        out = torch.zeros(n * m)
        add[(triton.cdiv(n * m, 64),)](x, x, out, n * m, STRIDE=1, B=64)
        return out
    if provider == "torch":
        ms, low, high = triton.testing.do_bench(lambda: torch.softmax(x, axis=0), quantiles=[0.5, 0.2, 0.8])
    if provider == "apex":
        ms, low, high = triton.testing.do_bench(lambda: x + x, quantiles=[0.5, 0.2, 0.8])
    if provider == "triton":
        ms, low, high = triton.testing.do_bench(launch, warmup=1, rep=2, quantiles=[0.5, 0.2, 0.8])
    gbps = lambda ms: 3 * x.numel() * x.element_size() * 1e-9 / (ms * 1e-3)
    return gbps(ms), gbps(high), gbps(low)

def plain(size, how):
    return triton.testing.do_bench(lambda: scale[1](torch.ones(size), 2.0, B=16), return_mode=how)

other = triton.testing.perf_report(triton.testing.Benchmark(["size"], [16, 32.0], "how", ["mean", "max", "all"], ["a", "b", "c"], "plot", {}))(plain)

benchmark.run(print_data=True)
`

func TestMarks(t *testing.T) {
	err := Run(t.Context(), on(t, marks), func(p *Program) error {
		list, err := p.Marks()
		if err != nil {
			return err
		}
		if len(list) != 2 || list[0].Name != "benchmark" || list[1].Name != "other" || len(list[0].Benchmarks) != 2 {
			t.Fatalf("marks are %+v", list)
		}
		b := *list[0].Benchmarks[1]
		if b.Plot != "add-half" || b.YLabel != "GB/s" || !b.XLog || b.YLog || b.Styles[1] != [2]string{"green", "--"} || fmt.Sprint(b.X) != "[[64 64] [128 2]]" {
			t.Errorf("the benchmark is %+v", b)
		}
		for i, bytes := range []float64{4, 2} {
			pt, err := p.Measure(list[0], list[0].Benchmarks[i], []any{int64(128), int64(2)}, 0)
			if err != nil {
				return err
			}
			if pt.Value <= 0 || !pt.Bands || pt.Low != pt.Value || fmt.Sprint(pt.Untimed) != "[torch.zeros]" {
				t.Errorf("a point of %v bytes is %+v", bytes, pt)
			}
			if ns := 3 * 256 * bytes / pt.Value; math.Abs(ns-math.Round(ns)) > 1e-6 {
				t.Errorf("%v GB/s are %v ns", pt.Value, ns)
			}
		}
		for line, lacks := range map[int]string{1: "torch.softmax", 2: "torch.add"} {
			_, err := p.Measure(list[0], list[0].Benchmarks[0], []any{int64(4), int64(4)}, line)
			var m *Missing
			if !errors.As(err, &m) || m.Name != lacks || m.Diagnostic.Pos.Line == 0 {
				t.Errorf("line %d: %v, want one that lacks %s", line, err, lacks)
			}
		}
		one := list[1].Benchmarks[0]
		if pt, err := p.Measure(list[1], one, one.X[0], 1); err != nil || pt.Bands || pt.Value <= 0 {
			t.Errorf("one number: %+v, %v", pt, err)
		}
		if _, err := p.Measure(list[1], one, one.X[1], 0); err == nil || !strings.Contains(err.Error(), "needs an integer, not float") {
			t.Errorf("a size of 32.0: %v", err)
		}
		if len(p.owned) != 0 {
			t.Errorf("%d tensors are left on the device", len(p.owned))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMarkMistakes are errors at the line of the mark.
func TestMarkMistakes(t *testing.T) {
	const good = `x_names=["n"], x_vals=[1], line_arg="p", line_vals=[1], line_names=["one"], plot_name="plot", args={}`
	for _, tt := range []struct{ benchmark, body, says string }{
		{strings.Replace(good, "x_vals=[1]", "x_vals=[nowhere]", 1), "pass", "k.py:25:77: error: name 'nowhere' is not defined"},
		{strings.Replace(good, "x_vals=[1]", "x_vals=[(1, 2)]", 1), "pass", "expected 1 value, got (1, 2)"},
		{strings.Replace(good, `["one"]`, "[]", 1), "pass", "1 value of line_vals and 0 line_names"},
		{strings.Replace(good, `line_arg="p", `, "", 1), "pass", "Benchmark() missing a required argument: 'line_arg'"},
		{good + ", color=1", "pass", "Benchmark() got an unexpected keyword argument 'color'"},
		{good, "return 1, 2", "f() returns 2 values"},
		{good, "return 'fast'", "f() returns str, not a number"},
		{good, "return triton.testing.do_bench(lambda: 1)", "k.py:27:12: error: do_bench() of a function that launches no kernel"},
		{good, "return triton.testing.do_bench(lambda: scale[1](torch.ones(16), 1.0, B=16), quantiles=[2])", "Quantiles must be in the range [0, 1]"},
		{good, "return triton.testing.do_bench(lambda: scale[1](torch.ones(16), 1.0, B=16), return_mode='best')", "do_bench() has no return_mode 'best'"},
	} {
		text := kernels + "@triton.testing.perf_report(triton.testing.Benchmark(" + tt.benchmark + "))\ndef f(n, p):\n    " + tt.body + "\n"
		err := Run(t.Context(), on(t, text), func(p *Program) error {
			list, err := p.Marks()
			if err == nil {
				_, err = p.Measure(list[0], list[0].Benchmarks[0], list[0].Benchmarks[0].X[0], 0)
			}
			return err
		})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s, %s: %v, want %s", tt.benchmark, tt.body, err, tt.says)
		}
	}
}

// TestSummary: times of several launches add up.
func TestSummary(t *testing.T) {
	ms := time.Millisecond
	times := []bench.Times{{1 * ms, 3 * ms}, {10 * ms}}
	for mode, want := range map[string]float64{"mean": 12, "min": 11, "max": 13, "median": 12} {
		if got := summary(&call{args: map[string]any{"return_mode": mode}}, times); got != want {
			t.Errorf("%s is %v, want %v", mode, got, want)
		}
	}
}
