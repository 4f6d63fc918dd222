package memory

import (
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/pass"
)

// AllocateGlobal places the scratch memory that programs have in global memory: in the
// order of the function, each allocation at its alignment, and the frames of called
// functions like allocations. Nothing in it is used twice. The module has the size and
// alignment of its largest kernel's frame.
var AllocateGlobal = &pass.Pass{
	Name:    "tritongpu-global-scratch-memory-allocation",
	Doc:     "place the scratch memory of programs in global memory",
	Example: globalExample,
	Run: func(r *pass.Run) error {
		for _, m := range builtin.Modules(r.Module) {
			if err := allocateGlobal(r, m); err != nil {
				return err
			}
		}
		return nil
	},
}

func allocateGlobal(r *pass.Run, m *ir.Operation) error {
	g := &globalFrames{run: r, funcs: make(map[string]*ir.Operation), frames: make(map[*ir.Operation]*frame)}
	for op := range m.Body().Ops() {
		if op.Is(tt.Func) {
			g.funcs[tt.AsFunc(op).SymName()] = op
		}
	}
	most := frame{align: 1}
	for op := range m.Body().Ops() {
		if !op.Is(tt.Func) {
			continue
		}
		f, err := g.place(op)
		if err != nil {
			return err
		}
		if tt.AsFunc(op).SymVisibility() != "private" {
			most.size, most.align = max(most.size, f.size), max(most.align, f.align)
		}
	}
	most.write(m)
	return nil
}

// frame is the scratch memory of a function; open while its callees are placed.
type frame struct {
	size, align int64
	open        bool
}

func (f *frame) write(op *ir.Operation) {
	ctx := op.Context()
	op.SetAttr(ttg.GlobalScratchSizeAttr, ctx.I32Attr(f.size))
	op.SetAttr(ttg.GlobalScratchAlignAttr, ctx.I32Attr(f.align))
}

type globalFrames struct {
	run    *pass.Run
	funcs  map[string]*ir.Operation
	frames map[*ir.Operation]*frame
}

// place places a function's frame after those of its callees.
func (g *globalFrames) place(fn *ir.Operation) (*frame, error) {
	if f := g.frames[fn]; f != nil {
		if f.open {
			return nil, diag.Errorf(g.run.Place(fn), "function %q calls itself; its scratch memory would have no bound", tt.AsFunc(fn).SymName()).
				WithHelp("write it as a loop")
		}
		return f, nil
	}
	f := &frame{align: 1, open: true}
	g.frames[fn] = f
	var failed error
	ir.WalkPost(fn, func(op *ir.Operation) {
		var size, align int64
		switch {
		case op.Is(ttg.GlobalScratchAlloc):
			size, align = ttg.AsGlobalScratchAlloc(op).Nbytes(), ttg.AsGlobalScratchAlloc(op).Alignment()
		case op.Is(tt.Call) && g.funcs[tt.AsCall(op).Callee()] != nil && failed == nil:
			callee, err := g.place(g.funcs[tt.AsCall(op).Callee()])
			if err != nil {
				failed = err
				return
			}
			size, align = callee.size, callee.align
		}
		if size > 0 {
			at := up(f.size, align)
			op.SetAttr(ttg.GlobalScratchOffsetAttr, op.Context().I32Attr(at))
			f.size, f.align = at+size, max(f.align, align)
		}
	})
	f.open = false
	f.size = up(f.size, f.align)
	f.write(fn)
	return f, failed
}

func up(n, align int64) int64 { return (n + align - 1) / align * align }
