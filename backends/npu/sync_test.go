package npu

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/adapter"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/internal/mlircpu"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// TestTwoPhases: programs that wait for one another read what all of them have written, on
// the simulated NPU and as threads of the CPU.
func TestTwoPhases(t *testing.T) {
	for _, mode := range []string{"all_vector", "all"} {
		t.Run(mode, func(t *testing.T) {
			r := newRand(t)
			artifact := own(t, "two_phases", "*fp32, *fp32, *fp32, i32, BLOCK=64, PROGRAMS=64, MODE=\""+mode+"\"")
			programs := 2 + r.IntN(39)
			n := 64*programs/2 + r.IntN(5000) | 1
			x, partials, out := random(t, r, "f32", n), blank("f32", programs), blank("f32", programs)
			sum := 0.0
			for _, v := range x.data {
				sum += v
			}
			want := make([]float64, programs)
			for i := range want {
				want[i] = sum + float64(i)
			}
			rep := simulate(t, artifact, [3]int{programs, 1, 1}, x, partials, out, i32(n))
			near(t, "out", out.data, want, 1e-4)
			if len(rep.CoreCycles) != programs {
				t.Errorf("%d cores ran %d programs", len(rep.CoreCycles), programs)
			}
			onCPU(t, artifact, programs, out.data, x, partials, out, n)
		})
	}
}

// onCPU runs a kernel of three arrays and a number by MLIR's runner, and compares the last
// array with what the simulator computed.
func onCPU(t *testing.T, artifact []byte, programs int, want []float64, x, partials, out *array, n int) {
	t.Helper()
	if why := mlircpu.Missing(); why != "" {
		t.Log(why)
		return
	}
	d, err := mlircpu.Open(target.Target{Backend: "npu", Arch: "ascend910b3"})
	if err != nil {
		t.Fatal(err)
	}
	var args []any
	for _, a := range []*array{x, partials, blank("f32", len(out.data))} {
		b, err := d.Alloc("", len(a.bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Write(0, a.bytes()); err != nil {
			t.Fatal(err)
		}
		args = append(args, b)
	}
	k, err := d.Load(driver.Binary{Name: "ttadapter", Code: artifact})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Launch(t.Context(), driver.Launch{Grid: [3]int{programs, 1, 1}, Args: append(args, int32(n))}); err != nil {
		t.Fatal(err)
	}
	bytes := make([]byte, 4*len(want))
	if err := args[2].(driver.Buffer).Read(0, bytes); err != nil {
		t.Fatal(err)
	}
	got := make([]float64, len(want))
	for i := range got {
		got[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(bytes[4*i:])))
	}
	near(t, "the CPU's out", got, want, 1e-4)
}

// TestSmoothed: programs wait for one another in a loop, between what they read of their
// neighbours and what they write.
func TestSmoothed(t *testing.T) {
	r := newRand(t)
	const rounds, b = 5, 48
	artifact := own(t, "smoothed", "*fp32, *fp32, i32, ROUNDS=5, B=48")
	programs := 2 + r.IntN(39)
	n := b*(programs-1) + 1 + r.IntN(b)
	x, y := random(t, r, "f32", n), blank("f32", n)
	x.out = true
	want := append([]float64{}, x.data...)
	for range rounds {
		before := append([]float64{}, want...)
		at := func(i int) float64 {
			if i < 0 || i >= n {
				return 0
			}
			return before[i]
		}
		for i := range want {
			total := 0.0
			for k := i / b * b; k < i/b*b+b; k++ {
				total += at(k)
			}
			want[i] = 0.25*at(i-1) + 0.5*at(i) + 0.25*at(i+1) + 0.001*total
		}
	}
	simulate(t, artifact, [3]int{programs, 1, 1}, x, y, i32(n))
	near(t, "x", x.data, want, 1e-4)
}

// TestProducts: cube cores read what those of other programs have written, in each of the
// modes that concern them.
func TestProducts(t *testing.T) {
	for _, mode := range []string{"all_cube", "all_vector", "all"} {
		t.Run(mode, func(t *testing.T) {
			r := newRand(t)
			m, n := 5+r.IntN(30), 5+r.IntN(30)
			artifact := own(t, "products", fmt.Sprintf("*fp32, *fp32, *fp32, M=%d, N=%d, MODE=%q", m, n, mode))
			programs := 2 + r.IntN(19)
			x, y, out := random(t, r, "f32", programs*m*n), blank("f32", programs*m*m), blank("f32", programs*m*n)
			want := make([]float64, programs*m*n)
			for p := range programs {
				a, next := x.data[p*m*n:], x.data[(p+1)%programs*m*n:]
				for i := range m {
					for k := range m {
						dot := 0.0
						for l := range n {
							dot += next[i*n+l] * next[k*n+l]
						}
						for j := range n {
							want[p*m*n+i*n+j] += dot * a[k*n+j]
						}
					}
				}
			}
			simulate(t, artifact, [3]int{programs, 1, 1}, x, y, out)
			near(t, "out", out.data, want, 1e-3)
		})
	}
}

// TestVendorWaits: the vendor's compiler gets its own operation, and a launch is told.
func TestVendorWaits(t *testing.T) {
	for _, tt := range []struct {
		kernel, signature, mode, operation string
		together                           bool
	}{
		{"two_phases", "*fp32, *fp32, *fp32, i32, BLOCK=64, PROGRAMS=64", "all_vector", "hivm.hir.sync_block[<ALL_VECTOR>, 3 : index] tvector_pipe = <PIPE_ALL>", true},
		{"two_phases", "*fp32, *fp32, *fp32, i32, BLOCK=64, PROGRAMS=64", "all_sub_vector", "hivm.hir.sync_block[<ALL_SUB_VECTOR>, 3 : index] tvector_pipe = <PIPE_ALL>", false},
		{"two_phases", "*fp32, *fp32, *fp32, i32, BLOCK=64, PROGRAMS=64", "all_cube", "hivm.hir.sync_block[<ALL_CUBE>, 3 : index] tcube_pipe = <PIPE_ALL>", false},
		{"products", "*fp32, *fp32, *fp32, M=16, N=16", "all_cube", "hivm.hir.sync_block[<ALL_CUBE>, 0 : index] tcube_pipe = <PIPE_ALL>", true},
	} {
		f, err := text.ParseFile(dialect.NewContext(), "ttadapter", own(t, tt.kernel, tt.signature+fmt.Sprintf(", MODE=%q", tt.mode)))
		if err != nil {
			t.Fatal(err)
		}
		k := toVendorForm(f.Op)
		if k.together != tt.together {
			t.Errorf("%s, %s: programs wait for one another: %v, want %v", tt.kernel, tt.mode, k.together, tt.together)
		}
		made := string(text.Append(nil, f.Op, text.Options{MLIR: vendorMLIR}))
		if !strings.Contains(made, tt.operation) || strings.Contains(made, adapter.SyncFunction) {
			t.Errorf("%s, %s:\n%s\nlacks %s", tt.kernel, tt.mode, made, tt.operation)
		}
	}
}
