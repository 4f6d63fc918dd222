package sim

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/driver/sim/simt"
)

// lineKernel has a line for each thing that is counted: line 10 reads columns of 128
// bytes, so that each lane asks for a sector of its own; line 11 stores to shared memory
// with a stride of two words; in line 12 an inlined function computes; the lanes of
// line 13 part, and those of line 14 are half of them.
const lineKernel = `.version 8.4
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p_0, .param .u64 s, .param .u64 g)
.reqntid 32
{
	.reg .pred %p<3>;
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<9>;
	.shared .align 16 .b8 room[512];
	.loc 1 9 0
L0:
	ld.param.u64 %rd1, [p_0];
	mov.u32 %r1, %tid.x;
	mov.u32 %r4, %ctaid.x;
	mad.lo.s32 %r5, %r4, 32, %r1;
	mul.wide.u32 %rd2, %r5, 128;
	add.s64 %rd3, %rd1, %rd2;
	.loc 1 10 3
	ld.global.f32 %f1, [%rd3];
	.loc 1 11 3
	shl.b32 %r2, %r1, 3;
	mov.u32 %r3, room;
	add.s32 %r3, %r3, %r2;
	st.shared.f32 [%r3], %f1;
	.loc 2 30 5, function_name L1, inlined_at 1 12 2
	fma.rn.f32 %f2, %f1, %f1, %f1;
	.loc	2 31 5                          // lib.py:31:5 @[ lib.py:40:1 @[ k.py:12:2 ] ]
	add.f32 %f2, %f2, %f1;
	.loc 1 13 1
	setp.lt.u32 %p1, %r1, 16;
	@%p1 bra L2;
	.loc 1 14 1
	mul.f32 %f2, %f2, %f2;
L2:
	.loc 1 15 1
	st.global.f32 [%rd3], %f2;
	ret;
}
	.file 1 "k.py"
	.file 2 "lib.py"
	.section .debug_str { L1: .b8 102 .b8 0 }
`

func TestLines(t *testing.T) {
	m, err := Load("lines.ptx", []byte(lineKernel))
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{Estimate: true})
	p := Upload(d, "p", make([]float32, 3*32*32))
	rep := launch(t, d, m, "k", Dim(3), Dim(32), 0, p)
	type counts = simt.LineCounters
	for _, want := range []struct {
		file       string
		line       int
		own, total counts
	}{
		{"k.py", 10, counts{Warps: 3, Lanes: 96, Sectors: 96, SectorsNeeded: 12}, counts{}},
		{"k.py", 11, counts{Warps: 12, Lanes: 384, Wavefronts: 6, WavefrontsNeeded: 3}, counts{}},
		{"k.py", 12, counts{}, counts{Warps: 6, Lanes: 192, FLOPs: 288}},
		{"k.py", 13, counts{Warps: 6, Lanes: 96 + 48, Divergent: 3}, counts{}},
		{"k.py", 14, counts{Warps: 3, Lanes: 48, FLOPs: 48}, counts{}},
		{"lib.py", 30, counts{Warps: 3, Lanes: 96, FLOPs: 192}, counts{}},
		{"lib.py", 31, counts{Warps: 3, Lanes: 96, FLOPs: 96}, counts{}},
		{"lib.py", 40, counts{}, counts{Warps: 3, Lanes: 96, FLOPs: 96}},
	} {
		if want.total == (counts{}) {
			want.total = want.own
		}
		found := false
		for _, l := range rep.Lines {
			if l.Loc.File == want.file && l.Loc.Line == want.line {
				found = true
				if l.LineCounters != want.own || l.Total != want.total {
					t.Errorf("%s:%d: %+v, with what is inlined %+v\nwant %+v and %+v", want.file, want.line, l.LineCounters, l.Total, want.own, want.total)
				}
			}
		}
		if !found {
			t.Errorf("%s:%d is not there", want.file, want.line)
		}
	}
	k := &rep.Counters
	var sum counts
	for _, l := range rep.Lines {
		sum.Warps += l.Warps
		sum.Sectors += l.Sectors
		sum.Wavefronts += l.Wavefronts
		sum.FLOPs += l.FLOPs
		sum.Divergent += l.LineCounters.Divergent
	}
	if sum.Warps != k.WarpInstructions || sum.Sectors != k.GlobalSectors || sum.Wavefronts != k.SharedWavefronts || sum.FLOPs != k.FLOPs+k.MatrixFLOPs || sum.Divergent != k.DivergentBranches {
		t.Errorf("the lines' sum is %+v, of the launch %+v", sum, k)
	}

	var table bytes.Buffer
	if err := rep.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  k.py:10    3             100.0%  96       12      0           0       0      0\n", "roofline             0.0547 FLOPs per byte; f32 at 19.5 TFLOP/s and 1.55 TB/s meet at 12.5",
		"shared memory        512 bytes per block\n", "FLOPs                336\n", "occupancy            50%: 32 blocks on a multiprocessor, limited by blocks\n",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
	if strings.Contains(table.String(), "k.py:12 ") {
		t.Errorf("a line without instructions is in\n%s", &table)
	}
	var text bytes.Buffer
	if err := rep.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Lines []struct {
			Line  int
			FLOPs uint64
			Total struct{ FLOPs uint64 }
		}
	}
	if err := json.Unmarshal(text.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	for _, l := range back.Lines {
		if l.Line == 12 && (l.FLOPs != 0 || l.Total.FLOPs != 288) {
			t.Errorf("JSON has %+v", l)
		}
	}
}

// TestRoofline: 3 blocks of 128 sectors each, with 336 operations.
func TestRoofline(t *testing.T) {
	m, err := Load("lines.ptx", []byte(lineKernel))
	if err != nil {
		t.Fatal(err)
	}
	m.Usage = simt.Usage{Registers: 200, SpillStores: 16, SpillLoads: 24}
	d := New(Options{Chip: H200, Estimate: true})
	p := Upload(d, "p", make([]float32, 3*32*32))
	rep := launch(t, d, m, "k", Dim(3), Dim(32), 0, p)
	f := rep.Roofline
	if f == nil {
		t.Fatal("there is none")
	}
	// All sectors that are asked for, which are less than the buffer.
	if f.FLOPs != 336 || f.Bytes != 192*32 || f.Unit != "f32" || f.Bandwidth != 4.8e12 {
		t.Errorf("got %+v", f)
	}
	if peak := 132 * 128 * 2 * 1.83e9; f.Peak != peak || f.Ridge() != peak/4.8e12 || f.Roof() != f.Intensity()*4.8e12 {
		t.Errorf("got %+v", f)
	}
	if e := rep.Estimate; e.Registers != 200 || e.Spilled != 6 || !e.Exact || e.Resident != 10 || e.Limit != "registers" || e.Occupancy != 10./64 {
		t.Errorf("got %+v", e)
	}
	if s := f.String(); !strings.Contains(s, "bound by memory, at most 262 GFLOP/s") {
		t.Errorf("got %s", s)
	}
}

// TestLimit: of a warp a block with few registers and no shared memory a multiprocessor
// holds as many as it holds blocks.
func TestLimit(t *testing.T) {
	for _, c := range []struct {
		registers, shared, resident int
		limit                       string
	}{{16, 0, 32, "blocks"}, {200, 0, 10, "registers"}, {16, 57 << 10, 4, "shared memory"}} {
		m, err := Load("empty.ptx", []byte(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"))
		if err != nil {
			t.Fatal(err)
		}
		m.Usage = simt.Usage{Registers: c.registers}
		rep := launch(t, New(Options{Chip: H200, Estimate: true}), m, "k", Dim(3), Dim(32), c.shared)
		if e := rep.Estimate; e.Resident != c.resident || e.Limit != c.limit {
			t.Errorf("%+v: %d blocks, limited by %s", c, e.Resident, e.Limit)
		}
	}
}
