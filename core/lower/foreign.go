package lower

import (
	"fmt"
	"math"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/tt"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/llir"
)

func foreignHandlers(h map[*ir.OpDef]handler) {
	h[tt.Print] = (*emitter).print
	h[tt.Assert] = (*emitter).assert
	h[tt.ExternElementwise] = (*emitter).extern
	h[tt.InlineAsm] = (*emitter).inlineAsm
}

// print writes a line for each element of each operand, in Triton's form:
// program, index, prefix, value. As there, every thread writes what it holds: of
// replicas each.
func (e *emitter) print(op *ir.Operation) error {
	prefix := op.StringAttr("prefix")
	hex, _ := op.IntAttr("hex")
	signed, _ := op.Attr("isSigned").(*ir.DenseArrayAttr)
	pid := []PrintPart{{Text: "pid ("}}
	for axis := range 3 {
		if axis > 0 {
			pid = append(pid, PrintPart{Text: ", "})
		}
		pid = append(pid, PrintPart{Value: e.m.target.ProgramID(e.b, axis)})
	}
	pid = append(pid, PrintPart{Text: ")"})
	if op.NumOperands() == 0 {
		e.m.target.Print(e.b, append(pid, PrintPart{Text: prefix + "\n"}))
		return nil
	}
	for i, v := range op.Operands() {
		index, width, err := e.printIndex(v)
		if err != nil {
			return err
		}
		which := ""
		if op.NumOperands() > 1 {
			which = fmt.Sprintf("(operand %d) ", i)
		}
		for r, x := range e.value(v) {
			parts := append([]PrintPart(nil), pid...)
			parts = append(parts, PrintPart{Text: " idx ("})
			for d := range index {
				if d > 0 {
					parts = append(parts, PrintPart{Text: ", "})
				}
				parts = append(parts, PrintPart{Value: index[d][r], Width: width[d]})
			}
			isSigned := signed != nil && i < len(signed.Values) && signed.Values[i] != 0
			parts = append(parts, PrintPart{Text: ")" + prefix + which},
				PrintPart{Value: x, Signed: isSigned, Hex: hex != 0}, PrintPart{Text: "\n"})
			e.m.target.Print(e.b, parts)
		}
	}
	return nil
}

// printIndex gives the coordinates of each register's element and the number
// of digits of each.
func (e *emitter) printIndex(v *ir.Value) ([][]llir.Value, []int, error) {
	if _, ok := v.Type().(*ir.TensorType); !ok {
		return nil, nil, nil
	}
	l, err := e.layout(v)
	if err != nil {
		return nil, nil, err
	}
	index, width := make([][]llir.Value, len(l.shape)), make([]int, len(l.shape))
	for d, n := range l.shape {
		index[d] = e.coords(l, d)
		width[d] = int(math.Ceil(math.Log10(float64(n))))
	}
	return index, width, nil
}

// assert stops the program where any element of the condition is false.
func (e *emitter) assert(op *ir.Operation) error {
	var all llir.Value = e.m.llvm.Bool(true)
	for _, c := range e.value(op.Operand(0)) {
		if c.Type() != llir.I1 {
			c = e.b.ICmp(ipredNE, c, e.m.llvm.Zero(c.Type()))
		}
		all = e.b.And(all, c)
	}
	pos := position(op.Loc())
	e.m.target.Assert(e.b, all, Assertion{
		Message: op.StringAttr("message"), File: pos.File, Line: pos.Line, Function: e.fn.name,
	})
	return nil
}

// inlineAsm emits the user's assembly once for each group of packed elements.
// Narrow elements are packed into 32-bit words, as Triton does; where a thread
// has not enough for the last group, zeros stand for the others.
func (e *emitter) inlineAsm(op *ir.Operation) error {
	pack, _ := op.IntAttr("packed_element")
	pure, _ := op.IntAttr("pure")
	n, err := e.m.regsOf(op.Result(0).Type())
	if err != nil {
		return err
	}
	group := int(pack)
	outs := make([][]llir.Value, op.NumResults())
	for i := range outs {
		outs[i] = make([]llir.Value, 0, n)
	}
	for r := 0; r < n; r += group {
		var args []llir.Value
		for _, v := range op.Operands() {
			elems := slices.Clone(spread(e.value(v), n)[r:min(r+group, n)])
			for len(elems) < group {
				elems = append(elems, e.m.llvm.Zero(elems[0].Type()))
			}
			args = append(args, e.packWords(elems)...)
		}
		var fields []llir.Type
		for _, res := range op.Results() {
			ts, err := e.wordTypes(res.Type(), group)
			if err != nil {
				return err
			}
			fields = append(fields, ts...)
		}
		ret := fields[0]
		if len(fields) > 1 {
			ret = e.m.llvm.Struct(fields...)
		}
		v := e.b.Asm(op.StringAttr("asm_string"), op.StringAttr("constraints"), pure == 0, ret, args...)
		next := 0
		for i, res := range op.Results() {
			t, err := scalarType(res.Type())
			if err != nil {
				return err
			}
			words, err := e.wordTypes(res.Type(), group)
			if err != nil {
				return err
			}
			for range words {
				w := v
				if len(fields) > 1 {
					w = e.b.ExtractValue(v, next)
				}
				next++
				outs[i] = append(outs[i], e.unpackWord(w, t, group/len(words))...)
			}
		}
	}
	for i, res := range op.Results() {
		e.set(res, outs[i][:n])
	}
	return nil
}

// perWord is how many elements of a type go into one word of inline assembly.
func perWord(t llir.Type, group int) int {
	w := llir.Width(t)
	if llir.IsPtr(t) || w >= 32 || w == 1 {
		return 1
	}
	return min(32/w, group)
}

func (e *emitter) packWords(vals []llir.Value) []llir.Value {
	n := perWord(vals[0].Type(), len(vals))
	if n == 1 {
		return vals
	}
	var words []llir.Value
	for i := 0; i < len(vals); i += n {
		v := e.b.Vector(vals[i : i+n]...)
		words = append(words, e.b.BitCast(v, llir.IntN(n*llir.Width(vals[i].Type()))))
	}
	return words
}

func (e *emitter) wordTypes(t ir.Type, group int) ([]llir.Type, error) {
	s, err := scalarType(t)
	if err != nil {
		return nil, err
	}
	n := perWord(s, group)
	out := make([]llir.Type, group/n)
	for i := range out {
		if out[i] = s; n > 1 {
			out[i] = llir.IntN(n * llir.Width(s))
		}
	}
	return out, nil
}

func (e *emitter) unpackWord(w llir.Value, t llir.Type, n int) []llir.Value {
	if n == 1 {
		return []llir.Value{w}
	}
	v := e.b.BitCast(w, e.m.llvm.Vec(n, t))
	out := make([]llir.Value, n)
	for i := range out {
		out[i] = e.b.ExtractElement(v, i)
	}
	return out
}
