package sim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// modelled makes an H200 that estimates times.
func modelled(sample int) *Device {
	return New(Options{Chip: H200, NoChecks: true, Estimate: true, Sample: sample})
}

// chainText is a kernel of one warp that reads global memory n times: by itself, or,
// as a chain, from where the read before said.
func chainText(n int, chain bool) string {
	var b strings.Builder
	b.WriteString(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n" +
		"\t.reg .b64 %rd<99>;\n\tld.param.u64 %rd0, [p];\n")
	for i := range n {
		from := 0
		if chain {
			from = i
		}
		fmt.Fprintf(&b, "\tld.global.u64 %%rd%d, [%%rd%d];\n", i+1, from)
	}
	fmt.Fprintf(&b, "\tst.global.u64 [%%rd0], %%rd%d;\n\tret;\n}\n", n)
	return b.String()
}

// TestModelLatency: loads that wait for one another take as many times the latency of
// memory; others take it once.
func TestModelLatency(t *testing.T) {
	took := func(n int, chain bool) float64 {
		m, err := Load("k.ptx", []byte(chainText(n, chain)))
		if err != nil {
			t.Fatal(err)
		}
		d := modelled(0)
		p := d.Alloc("p", 8)
		var addr [8]byte
		for i := range addr {
			addr[i] = byte(p.Addr() >> (8 * i))
		}
		p.Write(0, addr[:])
		return launch(t, d, m, "k", Dim(1), Dim(32), 0, p).Estimate.Latency
	}
	mem := float64(ratesH200.Global)
	if one, many := took(1, true), took(8, true); many < one+7*mem || many > one+7*mem+20 {
		t.Errorf("a chain of 8 loads takes %.0f cycles, one %.0f; memory takes %.0f", many, one, mem)
	}
	if one, many := took(1, false), took(8, false); many > one+20 {
		t.Errorf("8 loads side by side take %.0f cycles, one %.0f", many, one)
	}
}

// TestModelBandwidth: adding long vectors takes as long as memory takes for their
// bytes, and a sample of the programs says the same as all of them.
func TestModelBandwidth(t *testing.T) {
	m := load(t, "vector_add")
	const n = 1 << 20
	run := func(sample int) *Report {
		d := modelled(sample)
		x, y := Upload(d, "x", make([]float32, n)), Upload(d, "y", make([]float32, n))
		return launch(t, d, m, "vector_add", Dim(n/1024), Dim(128), 0, x, y, d.Alloc("o", 4*n), int32(n))
	}
	all, some := run(0), run(8)
	if some.Blocks != 1024 || some.Ran != 8 || some.Counters.WarpInstructions*128 != all.Counters.WarpInstructions {
		t.Errorf("8 of %d programs: %d ran, %d warp instructions of %d", some.Blocks, some.Ran,
			some.Counters.WarpInstructions, all.Counters.WarpInstructions)
	}
	least := time.Duration(3 * 4 * n / ratesH200.DRAM * 1e9)
	for _, e := range []time.Duration{all.Estimate.Time, some.Estimate.Time} {
		if e < least || e > least+ratesH200.Launch+least/4 {
			t.Errorf("the estimate is %v; memory takes %v", e, least)
		}
	}
	if all.Estimate.Bound != "DRAM" {
		t.Errorf("bound by %s", all.Estimate.Bound)
	}
	if !reflect.DeepEqual(run(0).Estimate, all.Estimate) {
		t.Error("two runs have different estimates")
	}
}

// TestModelDots: a matmul in larger tiles reads less and is faster, and no estimate is
// below what the matrix units take.
func TestModelDots(t *testing.T) {
	m := load(t, "sm90/matmul_fp16")
	const size = 512
	d := modelled(4)
	r := rand.New(rand.NewPCG(1, 2))
	a := Upload(d, "a", randn(r, size*size/2, 1)) // any bits are halves
	e := launch(t, d, m, "matmul", Dim(16), Dim(128), 98304, a, a, d.Alloc("c", 2*size*size),
		int32(size), int32(size), int32(size), int32(size), int32(size), int32(size)).Estimate
	flops := 2.0 * size * size * size / 16
	if want := flops / ratesH200.Dots; e.Dots < want || e.Dots > 1.01*want {
		t.Errorf("the dots of a block take %.0f cycles, want %.0f", e.Dots, want)
	}
	if e.Latency < e.Dots || float64(e.Time) < e.Latency/ratesH200.Clock*1e9 {
		t.Errorf("a block takes %.0f cycles, and the launch %v", e.Latency, e.Time)
	}
	if e.Resident < 1 || e.Registers < 64 || e.Registers > 255 {
		t.Errorf("%d blocks of %d registers per thread on a multiprocessor", e.Resident, e.Registers)
	}
}

// TestModelRegisters: values that live at a time need registers each, and a kernel
// that needs more than there are is slower.
func TestModelRegisters(t *testing.T) {
	took := func(n int) *Report {
		var b strings.Builder
		fmt.Fprintf(&b, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"+
			"\t.reg .b64 %%rd<2>;\n\t.reg .f32 %%f<%d>;\n\tld.param.u64 %%rd0, [p];\n", n+1)
		for i := range n {
			fmt.Fprintf(&b, "\tld.global.f32 %%f%d, [%%rd0+%d];\n", i, 4*i)
		}
		for i := range n - 1 {
			fmt.Fprintf(&b, "\tadd.f32 %%f%d, %%f%d, %%f%d;\n", i+1, i, i+1)
		}
		fmt.Fprintf(&b, "\tst.global.f32 [%%rd0], %%f%d;\n\tret;\n}\n", n-1)
		m, err := Load("k.ptx", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		d := modelled(0)
		return launch(t, d, m, "k", Dim(1), Dim(1024), 0, Upload(d, "p", make([]float32, 1024)))
	}
	few, many := took(20).Estimate, took(200).Estimate
	if few.Spilled != 0 || many.Spilled == 0 || many.Registers-few.Registers < 100 {
		t.Errorf("20 values: %d registers, %d spilled; 200: %d, %d", few.Registers, few.Spilled, many.Registers, many.Spilled)
	}
}

// TestSample: programs of a sample are spread over each axis of the grid.
func TestSample(t *testing.T) {
	const text = `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
	.reg .b64 %rd<4>;
	.reg .b32 %r<6>;
	ld.param.u64 %rd0, [p];
	mov.u32 %r0, %ctaid.x;
	mov.u32 %r1, %ctaid.y;
	mul.wide.u32 %rd1, %r0, 4;
	add.s64 %rd1, %rd1, %rd0;
	st.global.b32 [%rd1], 1;
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd2, %rd2, %rd0;
	st.global.b32 [%rd2+128], 1;
	ret;
}
`
	m, err := Load("k.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	d := modelled(8)
	p := Upload(d, "p", make([]int32, 64))
	rep := launch(t, d, m, "k", Dim(32, 32), Dim(1), 0, p)
	xs, ys := 0, 0
	for i, v := range Download[int32](p) {
		if i < 32 {
			xs += int(v)
		} else {
			ys += int(v)
		}
	}
	if xs != 8 || ys != 8 || rep.Ran != 8 || rep.Blocks != 1024 {
		t.Errorf("%d of %d programs ran, with %d different x and %d different y", rep.Ran, rep.Blocks, xs, ys)
	}
}
