package npu

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/backends/npu/npusim"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/driver/sim/npu"
	"github.com/tritonc/tritonc/driver/sim/simt"
)

// simulate executes a kernel of the stage ttadapter, as run does, on a simulated NPU.
func simulate(t *testing.T, artifact []byte, grid [3]int, args ...any) *npu.Report {
	t.Helper()
	f, err := text.ParseFile(dialect.NewContext(append(linalg.Dialects(), npuir.Dialect)...), "ttadapter", artifact)
	if err != nil {
		t.Fatal(err)
	}
	c := chip.Of("ascend910b3")
	if _, err := new(pass.Runner).Run(f.Op, npuirRows(c, true), nil); err != nil {
		t.Fatal(err)
	}
	file, err := npusim.Write(f.Op, c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npu.Read("kernel.npusim", file)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	d := npu.New(npu.Options{Chip: c, Costs: chip.CostsOf(c)})
	var passed []any
	for i, arg := range args {
		passed = append(passed, simArgument(t, d, i, arg))
	}
	rep, err := d.Launch(t.Context(), p, grid, passed...)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	for i, arg := range args {
		if a, ok := arg.(*array); ok && a.out {
			a.setBytes(passed[i].(*simt.Buffer).Data)
		}
	}
	return rep
}

// simArgument is an argument of run as the simulator takes it.
func simArgument(t *testing.T, d *npu.Device, i int, arg any) any {
	t.Helper()
	if a, ok := arg.(*array); ok {
		b, err := d.Alloc("argument "+strconv.Itoa(i), len(a.bytes()))
		if err != nil {
			t.Fatal(err)
		}
		copy(b.Data, a.bytes())
		b.MarkWritten(0, len(b.Data))
		return b
	}
	number, typ, _ := strings.Cut(arg.(string), " : ")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		t.Fatal(err)
	}
	switch typ {
	case "i32":
		return int32(x)
	case "i64":
		return int64(x)
	case "f32":
		return float32(x)
	}
	t.Fatalf("an argument of type %s", typ)
	return nil
}

// setBytes gives the array the elements that lie in memory.
func (a *array) setBytes(b []byte) {
	size := ir.BitWidth(a.typ()) / 8
	bits := make([]uint32, len(a.data))
	for i := range bits {
		for k := range size {
			bits[i] |= uint32(b[i*size+k]) << (8 * k)
		}
	}
	a.set(bits)
}

// TestSimulated runs on the simulated NPU what TestVectorAdd runs on the CPU.
func TestSimulated(t *testing.T) {
	r := newRand(t)
	artifact := reference(t, "vector_add", "*fp32, *fp32, *fp32, i32, BLOCK=64")
	n := 130 + r.IntN(60)
	x, y, out := random(t, r, "f32", n), random(t, r, "f32", n), blank("f32", 256)
	rep := simulate(t, artifact, [3]int{4, 1, 1}, x, y, out, i32(n))
	want := make([]float64, 256)
	for i := range want {
		want[i] = untouched
		if i < n {
			want[i] = float64(float32(x.data[i]) + float32(y.data[i]))
		}
	}
	near(t, "out", out.data, want, 0)
	t.Logf("%.0f cycles", rep.Cycles)
}
