package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/core/analysis/alias"
	"github.com/tritonc/tritonc/core/analysis/allocation"
	"github.com/tritonc/tritonc/core/analysis/axisinfo"
	"github.com/tritonc/tritonc/core/analysis/membar"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Place places the shared memory of a module, and tells what operations of a
// target's dialect do to it. Which operations need scratch memory is known to who
// lowers them.
type Place func(m *ir.Operation) (*allocation.Result, membar.Foreign, error)

// Names lists the analyses. Those from Liveness on need a Place.
var Names = []string{AxisInfo, Alias, Liveness, Allocation, Membar}

// The analyses by name.
const (
	AxisInfo   = "axis-info"
	Alias      = "alias"
	Liveness   = "liveness"
	Allocation = "allocation"
	Membar     = "membar"
)

// NeedsPlace reports whether an analysis asks where shared memory is.
func NeedsPlace(name string) bool { return slices.Index(Names, name) >= slices.Index(Names, Liveness) }

// Text is what the analysis of that name knows of the module. place may be nil
// where NeedsPlace says so. The error is the user's: a name that there is not,
// or what place returned.
func Text(name string, m *ir.Operation, place Place) (string, error) {
	p := &printer{ctx: m.Context(), names: text.Names(m)}
	switch name {
	case AxisInfo:
		p.axisInfo(m)
	case Alias:
		p.alias(m)
	case Liveness, Allocation, Membar:
		alloc, foreign, err := place(m)
		if err != nil {
			return "", err
		}
		switch name {
		case Liveness:
			p.liveness(m, alloc)
		case Allocation:
			p.allocation(m, alloc)
		default:
			p.membar(m, membar.Analyze(m, alloc, foreign))
		}
	default:
		return "", fmt.Errorf("no analysis %q; there are: %s", name, strings.Join(Names, ", "))
	}
	return p.out.String(), nil
}

type printer struct {
	ctx   *ir.Context
	names map[*ir.Value]string
	out   strings.Builder
}

func (p *printer) printf(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

// value names v and what defines it.
func (p *printer) value(v *ir.Value) string {
	by := "an argument"
	if v.Def() != nil {
		by = v.Def().Name()
	}
	return fmt.Sprintf("%s = %s : %s", p.names[v], by, p.typ(v))
}

// typ is v's type, of which the text says more: without its layout.
func (p *printer) typ(v *ir.Value) string {
	switch t := v.Type().(type) {
	case *ir.TensorType:
		return text.TypeString(p.ctx, p.ctx.Tensor(t.Shape, t.Elem, nil))
	case *ttg.MemDescType:
		return "memdesc" + strings.TrimPrefix(text.TypeString(p.ctx, p.ctx.Tensor(t.Shape, t.Elem, nil)), "tensor")
	}
	return text.TypeString(p.ctx, v.Type())
}

// op names an operation by its results, or else by its operands.
func (p *printer) op(op *ir.Operation) string {
	if results := op.Results(); len(results) > 0 {
		return p.value(results[0])
	}
	operands := make([]string, op.NumOperands())
	for i, v := range op.OperandValues() {
		operands[i] = p.names[v]
	}
	return strings.TrimSpace(op.Name() + " " + strings.Join(operands, ", "))
}

// values calls f for each value inside m, in program order.
func values(m *ir.Operation, f func(*ir.Value)) {
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		for _, v := range op.Results() {
			f(v)
		}
		for _, region := range op.Regions() {
			for block := range region.Blocks() {
				for _, v := range block.Args() {
					f(v)
				}
			}
		}
		return ir.Advance
	})
}

func (p *printer) axisInfo(m *ir.Operation) {
	r := axisinfo.Analyze(m)
	values(m, func(v *ir.Value) {
		if r.Known(v) {
			p.printf("%s => %v", p.value(v), r.Of(v))
		}
	})
}

func (p *printer) alias(m *ir.Operation) {
	values(m, func(v *ir.Value) {
		if _, ok := v.Type().(*ttg.MemDescType); !ok {
			return
		}
		set := alias.Of(v)
		var of []string
		for _, b := range set.Buffers {
			of = append(of, p.names[b.OneResult()])
		}
		if set.Any {
			of = append(of, "any memory")
		}
		p.printf("%s -> %s", p.value(v), strings.Join(of, ", "))
	})
}

// areas calls f for each function and then each operation in it that has memory.
func areas(m *ir.Operation, r *allocation.Result, function func(name string), f func(op *ir.Operation, a allocation.Area)) {
	for fn := range m.Body().Ops() {
		if !fn.Is(tt.Func) {
			continue
		}
		function(tt.AsFunc(fn).SymName())
		ir.Walk(fn, func(op *ir.Operation) ir.WalkResult {
			if a, ok := r.Area(op); ok {
				f(op, a)
			}
			return ir.Advance
		})
	}
}

func (p *printer) liveness(m *ir.Operation, r *allocation.Result) {
	areas(m, r, func(name string) { p.printf("@%s", name) }, func(op *ir.Operation, a allocation.Area) {
		p.printf("%s => operations %d to %d", p.op(op), a.First, a.Last)
	})
}

func (p *printer) allocation(m *ir.Operation, r *allocation.Result) {
	areas(m, r, func(name string) { p.printf("@%s => size = %d", name, r.Frame(name)) }, func(op *ir.Operation, a allocation.Area) {
		scratch := ""
		if a.Scratch {
			scratch = "scratch "
		}
		p.printf("%s => %soffset = %d, size = %d", p.op(op), scratch, a.Offset, a.Size)
	})
}

func (p *printer) membar(m *ir.Operation, r *membar.Result) {
	ir.Walk(m, func(op *ir.Operation) ir.WalkResult {
		switch {
		case r.Fence(op):
			p.printf("%s => fence and barrier before", p.op(op))
		case r.Before(op):
			p.printf("%s => barrier before", p.op(op))
		}
		if r.After(op) {
			p.printf("%s => barrier after", p.op(op))
		}
		return ir.Advance
	})
}
