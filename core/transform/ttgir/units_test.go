package ttgir_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/dialect/scf"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
	"github.com/tritonc/tritonc/core/ir/text"
	"github.com/tritonc/tritonc/core/layout"
	"github.com/tritonc/tritonc/core/pass"
	"github.com/tritonc/tritonc/core/transform/ttgir/dots"
	"github.com/tritonc/tritonc/core/transform/ttgir/sharedmem"
	"github.com/tritonc/tritonc/core/transform/ttgir/tensors"
	"github.com/tritonc/tritonc/internal/passtest"
)

// unitDialect has the operations of a unit that reads shared memory while the
// program goes on.
const unitDialect = `{"name": "unit", "ops": [
  {"name": "unit.multiply", "operands": [{"name": "a", "type": "ttg.memdesc"}, {"name": "b", "type": "ttg.memdesc"}, {"name": "c", "type": "tensor"}],
   "results": [{"name": "d", "type": "tensor"}], "effects": ["read"]},
  {"name": "unit.wait", "operands": [{"name": "c", "type": "tensor"}], "results": [{"name": "d", "type": "tensor"}], "effects": ["read", "write"]}
]}`

// groupUnit is a matrix unit in the shape of wgmma: four warps multiply together,
// 64 rows by up to 256 columns, operands of 16 bits stay in shared memory in rows
// of up to 128 bytes, and what was started is waited for.
type groupUnit struct {
	dots.MultiplyAdd
	dialect        *ir.Dialect
	multiply, wait *ir.OpDef
	runsOn         bool
}

func newGroupUnit(t *testing.T, runsOn bool) *groupUnit {
	d, err := decl.Load([]byte(unitDialect), dialect.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return &groupUnit{dialect: d, multiply: d.Ops[0], wait: d.Ops[1], runsOn: runsOn}
}

func (u *groupUnit) Form(d dots.Dot) *dots.Form {
	x, y, _ := d.Elems()
	shape := d.Shape()
	if ir.BitWidth(u.Widen(d, x)) != 16 || ir.BitWidth(u.Widen(d, y)) != 16 || d.Warps%4 != 0 || len(shape) != 2 || shape[0]%64 != 0 {
		return nil
	}
	return &dots.Form{
		Result: &layout.NvidiaMMA{
			VersionMajor: 3, WarpsPerCTA: []int{d.Warps, 1}, InstrShape: []int{16, int(min(shape[1], 256)), 16}, CGA: d.Cluster(),
		},
		A: u.rows(d.A()), B: u.rows(d.B()),
		Make: func(b *ir.Builder, _ dots.Dot, x, y, acc *ir.Value) *ir.Value {
			b.Context().Load(u.dialect)
			sum := b.Op(u.multiply, []*ir.Value{x, y, acc}, acc.Type()).Result(0)
			return b.Op(u.wait, []*ir.Value{sum}, acc.Type()).Result(0)
		},
	}
}

// rows is how an operand is laid out in shared memory.
func (u *groupUnit) rows(v *ir.Value) layout.Encoding {
	t := tensors.Type(dots.Unconverted(v))
	order := sharedmem.Order(t)
	return &layout.NVMMAShared{
		SwizzlingByteWidth: min(128, 2*int(t.Shape[order[0]])), Transposed: order[0] == 0, ElementBitWidth: 16,
	}
}

func (*groupUnit) Widen(d dots.Dot, elem ir.Type) ir.Type {
	if dots.IsFloat8(elem) {
		return d.Op.Context().F16()
	}
	return elem
}

func (u *groupUnit) Made(op *ir.Operation) (dots.Made, bool) {
	if !op.Is(u.multiply) {
		return dots.Made{}, false
	}
	return dots.Made{Acc: op.Operand(2), RunsOn: u.runsOn}, true
}

// A unit whose operands stay in shared memory passes through the whole stage: its
// operations get buffers, those of loads in loops the ones that asynchronous copies
// fill, with no way through registers; transpositions become views; dots that it
// does not take are multiply-adds; and prefetch leaves all as it is.
func TestOperandsInSharedMemory(t *testing.T) {
	for _, c := range []struct {
		kernel   string
		dots     int // the unit's
		others   int
		buffered int // operands that copies fill while the loop runs
		views    int // operands that are transposed views
	}{
		{"matmul_fp16", 1, 0, 2, 0},
		{"matmul_fp16_strided", 1, 0, 0, 0}, // a thread's elements are too few bytes for a copy
		{"flash_fwd_causal", 2, 0, 2, 0},
		{"dot_chain", 2, 0, 0, 1},
		{"dot_fp16_float32_None", 1, 0, 0, 0},
		{"dot_fp8e5_float32_None", 1, 0, 0, 0},
		{"dot_fp32_float32_ieee", 0, 1, 0, 0},
	} {
		for _, runsOn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%v", c.kernel, runsOn), func(t *testing.T) {
				u := newGroupUnit(t, runsOn)
				s := archives(t, "testdata/stage")[c.kernel]
				m := passtest.Module(t, c.kernel, s["ttir.mlir"])
				p := passesFor(u)
				passtest.Apply(t, m, stage(t, s, p)...)
				before := text.String(m)
				passtest.Apply(t, m, pass.Row{Pass: p.prefetch})
				if after := text.String(m); after != before {
					t.Errorf("prefetch changed what the unit reads from shared memory:\n%s", after)
				}
				stages, err := strconv.Atoi(s["num-stages"])
				if err != nil {
					t.Fatal(err)
				}
				buffers := int64(stages - 1)
				if runsOn {
					buffers++
				}
				u.check(t, m, c.dots, c.others, c.buffered, c.views, buffers)
				if t.Failed() {
					t.Log(before)
				}
			})
		}
	}
}

// check counts dots, and operands by where they come from.
func (u *groupUnit) check(t *testing.T, m *ir.Operation, wantDots, wantOthers, wantBuffered, wantViews int, buffers int64) {
	t.Helper()
	made, others, buffered, views := 0, 0, 0, 0
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		if op.Is(tt.Dot) {
			others++
		}
		if !op.Is(u.multiply) {
			return ir.Advance
		}
		made++
		if e, ok := encoding.Get(op.Result(0).Type()).(layout.Accumulator); !ok || e.Warps()[0]%4 != 0 {
			t.Errorf("the result has another layout: %s", text.String(op))
		}
		for _, v := range op.OperandValues()[:2] {
			if _, ok := v.Type().(*ttg.MemDescType).Encoding.(*encoding.Attr).Layout.(*layout.NVMMAShared); !ok {
				t.Errorf("an operand is in a buffer of another layout: %s", text.String(op))
			}
			if v.DefIs(ttg.MemDescTrans) {
				views++
			}
			at, base := v, v
			for base.Def() != nil && sharedmem.IsView(base.Def()) {
				at, base = base, base.Def().Operand(0)
			}
			if op.Parent().Is(scf.For) && at.DefIs(ttg.MemDescIndex) && base.DefIs(ttg.LocalAlloc) && !op.Parent().IsAncestorOf(base.Def()) {
				buffered++
				if n := base.Type().(*ttg.MemDescType).Shape[0]; n != buffers {
					t.Errorf("%d buffers for an operand of a loop, want %d", n, buffers)
				}
			}
		}
		return ir.Advance
	})
	if made != wantDots || others != wantOthers || buffered != wantBuffered || views != wantViews {
		t.Errorf("the unit computes %d dots, others %d, %d operands have copies in flight, %d are transposed views; want %d, %d, %d, %d",
			made, others, buffered, views, wantDots, wantOthers, wantBuffered, wantViews)
	}
}

// waveUnit is a matrix unit in the shape of WMMA: 32 lanes, tiles of 16×16, transposed
// results, of 16 bits only, operands in registers with eight neighbours along K.
type waveUnit struct{ dots.MultiplyAdd }

func (waveUnit) takes(d dots.Dot) bool {
	x, y, _ := d.Elems()
	return ir.BitWidth(x) == 16 && ir.BitWidth(y) == 16 && d.Lanes == 32
}

func (u waveUnit) Form(d dots.Dot) *dots.Form {
	if !u.takes(d) {
		return nil
	}
	result := &layout.AMDWMMA{Version: 2, IsTranspose: true, WarpsPerCTA: dots.SpreadWarps(d, [2]int{16, 16}, u.takes, nil), CGA: d.Cluster()}
	return &dots.Form{
		Result: result, Elem: d.Op.Context().F16(),
		A: &layout.DotOp{OpIdx: 0, Parent: result, KWidth: 8}, B: &layout.DotOp{OpIdx: 1, Parent: result, KWidth: 8},
	}
}

func (waveUnit) PartK(*layout.DotOp) int64 { return 16 }

func (waveUnit) Check(target string) error {
	if target != "cuda:80" {
		return fmt.Errorf("no unit for %q", target)
	}
	return nil
}

// A unit of another vendor's layouts passes through the whole stage, and an
// accumulator narrower than the dot's is widened where it leaves the unit.
func TestOperandsInRegisters(t *testing.T) {
	for _, kernel := range []string{"matmul_fp16", "flash_fwd_causal", "dot_chain", "dot_fp16_float32_None"} {
		s := archives(t, "testdata/stage")[kernel]
		m, p := passtest.Module(t, kernel, s["ttir.mlir"]), passesFor(waveUnit{})
		passtest.Apply(t, m, stage(t, s, p)...)
		passtest.Apply(t, m, pass.Row{Pass: p.prefetch, With: []pass.Setting{{Name: "carry-buffers", Value: true}}})
		found := 0
		ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
			if op.Is(tt.Dot) {
				found++
				d := tt.AsDot(op)
				if _, ok := encoding.Get(d.Result().Type()).(*layout.AMDWMMA); !ok || ir.ElemOf(d.Result().Type()) != ir.Type(op.Context().F16()) {
					t.Errorf("%s: %s", kernel, text.String(op))
				}
			}
			return ir.Advance
		})
		if found == 0 {
			t.Errorf("%s: no dots", kernel)
		}
	}
}

// A module for another target is an error, not one without a unit.
func TestUnitOfAnotherTarget(t *testing.T) {
	m := passtest.Module(t, "m", `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "other:1", "ttg.threads-per-warp" = 32 : i32} {}`)
	var r pass.Runner
	if _, err := r.Run(m, []pass.Row{{Pass: passesFor(waveUnit{}).accelerate}}, nil); err == nil || !strings.Contains(err.Error(), `no unit for "other:1"`) {
		t.Errorf("got %v", err)
	}
}
