package simulated

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/sim"
	"github.com/tritonc/tritonc/plugin-sdk/target"
)

// doubled is a program that adds x to itself, 8 elements a program of the grid.
const doubled = `npusim 1
format sim
kernel doubled
chip ascend910b3
core program
space ub 32
file "k.py"
param %0 gm<f32,1>
param %1 gm<f32,1>
param %2 i32
param %3 i32
param %4 i32
param %5 i32
param %6 i32
param %7 i32
param %8 i32
code
  %9 index = arith.index_cast %6
  %10 index = const 0x8
  %11 index = arith.muli %9 %10
  %12 gm<f32,1> = cast %0 [%11] [8] [1] @0:3:4
  %13 gm<f32,1> = cast %1 [%11] [8] [1] @0:4:8
  %14 ub<f32,1> = alloc 0 [8]
  dma %12 %14 @0:3:4
  set_flag mte2 v 0
  wait_flag mte2 v 0
  vector arith.addf %14 %14 %14
  set_flag v mte3 0
  wait_flag v mte3 0
  dma %14 %13 @0:4:8
  return
`

func testNPU(t *testing.T, opts Options) driver.Device {
	t.Helper()
	dev, err := New(target.Target{Backend: "npu", Arch: "Ascend910B3"}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func loaded(t *testing.T, dev driver.Device) driver.Kernel {
	t.Helper()
	k, err := dev.Load(driver.Binary{Name: "doubled.npusim", Code: []byte(doubled), Metadata: driver.Metadata{Kernel: "doubled", NumWarps: 32, Shared: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestNPU launches a program on a simulated NPU.
func TestNPU(t *testing.T) {
	var done []int
	dev := testNPU(t, Options{Estimate: true, Progress: func(n, total int) { done = append(done, n, total) }})
	x := filled(t, dev, "x", []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	out := filled(t, dev, "out", make([]float32, 16))
	res, err := loaded(t, dev).Launch(t.Context(), driver.Launch{Grid: [3]int{2, 1, 1}, Args: []any{x, out, int32(16)}})
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4*16)
	if err := out.Read(0, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range sim.Slice[float32](got) {
		if v != float32(2*i+2) {
			t.Errorf("out[%d] = %v", i, v)
		}
	}
	if res.Time <= 0 || res.Estimate <= 0 || len(done) != 4 || done[3] != 2 {
		t.Errorf("took %v, estimated %v, progress %v", res.Time, res.Estimate, done)
	}
	var table bytes.Buffer
	if err := res.Report.WriteTable(&table); err != nil || !strings.Contains(table.String(), "mte2") {
		t.Errorf("%v\n%s", err, &table)
	}
	if err := out.Read(61, got[:4]); err == nil {
		t.Error("bytes outside of a buffer are read")
	}
	if err := x.Free(); err != nil {
		t.Error(err)
	}
}

// TestNPUFault: what a program does wrong is told at its place in the source.
func TestNPUFault(t *testing.T) {
	dev := testNPU(t, Options{})
	x, out := filled(t, dev, "x", make([]float32, 12)), filled(t, dev, "out", make([]float32, 16))
	_, err := loaded(t, dev).Launch(t.Context(), driver.Launch{Grid: [3]int{2, 1, 1}, Args: []any{x, out, int32(16)}})
	var fault *driver.Fault
	if !errors.As(err, &fault) || len(fault.Findings) != 1 {
		t.Fatalf("got %v", err)
	}
	d := fault.Findings[0]
	if d.Pos.File != "k.py" || d.Pos.Line != 3 || d.Pos.Col != 5 || !strings.Contains(d.Message, "out of bounds: the instruction reads bytes 32 to 64 of buffer x, which has 48 bytes") {
		t.Errorf("%v: %s", d.Pos, d.Message)
	}
	if len(d.Notes) == 0 || !strings.Contains(d.Notes[0].Message, "by core 1, program 1; dma %12 %14 in line ") {
		t.Errorf("%v", d.Notes)
	}
}

// TestNPURefuses: what a simulated NPU cannot do is an error that says so.
func TestNPURefuses(t *testing.T) {
	for arch, opts := range map[string]Options{"ascend910b5": {}, "ascend910b3": {Random: true}, "ascend910b4": {Trace: func(TraceStep) {}}} {
		if _, err := New(target.Target{Backend: "npu", Arch: arch}, opts); err == nil {
			t.Errorf("there is a device %s with %+v", arch, opts)
		}
	}
	dev := testNPU(t, Options{})
	k := loaded(t, dev)
	for want, b := range map[string]driver.Binary{
		`has no kernel "other"`:  {Name: "k", Code: []byte(doubled), Metadata: driver.Metadata{Kernel: "other"}},
		"clusters of 2 blocks":   {Name: "k", Code: []byte(doubled), Metadata: driver.Metadata{NumCTAs: 2}},
		"Required: 200704":       {Name: "k", Code: []byte(doubled), Metadata: driver.Metadata{Shared: 196 << 10}},
		"not a file of the form": {Name: "k", Code: []byte("ptx")},
		"is for ascend910b1":     {Name: "k", Code: []byte(strings.Replace(doubled, "910b3", "910b1", 1))},
	} {
		if _, err := dev.Load(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, l := range map[string]driver.Launch{
		"takes 3 arguments, given 1": {Grid: [3]int{1, 1, 1}, Args: []any{nil}},
		"launches at most 65535":     {Grid: [3]int{256, 256, 1}, Args: []any{nil, nil, int32(1)}},
		"is a tensor map":            {Grid: [3]int{1, 1, 1}, Args: []any{&driver.TensorMap{}, nil, int32(1)}},
		"grid dimension y is 0":      {Grid: [3]int{1, 0, 1}, Args: []any{nil, nil, int32(1)}},
	} {
		if _, err := k.Launch(t.Context(), l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestNPUs: there is a device for each chip, and code for it is of one stage.
func TestNPUs(t *testing.T) {
	known := map[string]driver.Properties{}
	for _, p := range All() {
		known[p.Target.String()] = p
	}
	for _, c := range chip.All() {
		p, ok := known[c.Target()+":32"]
		if !ok || p.Stage != "npusim" || !p.Simulated || p.MaxShared != c.UB || p.Multiprocessors != c.Cubes {
			t.Errorf("%s: %+v", c.Target(), p)
		}
	}
}
