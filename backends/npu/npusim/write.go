package npusim

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tritonc/tritonc/backends/npu/chip"
	"github.com/tritonc/tritonc/backends/npu/npuir"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect/builtin"
	"github.com/tritonc/tritonc/core/dialect/linalg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/text"
)

// Format is what a file and the metadata of its kernel say that it is for.
const Format = "sim"

// Write translates the kernel of a module for a chip. What the format has no instruction
// for is a diagnostic at its place.
func Write(module *ir.Operation, c *chip.Chip) (file []byte, err error) {
	w := &writer{ctx: module.Context(), regs: map[*ir.Value]string{}, files: map[string]int{}, used: map[npuir.Space]int64{}}
	defer func() {
		if r := recover(); r != nil {
			refused, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			err = refused.d
		}
	}()
	var kernel *ir.Operation
	for op := range builtin.AsModule(module).BodyRegion().First().Ops() {
		if !op.Is(linalg.Func) || linalg.AsFunc(op).SymVisibility() == "private" {
			continue
		}
		if kernel != nil {
			w.refuse(op, "a program has one function")
		}
		kernel = op
	}
	if kernel == nil {
		w.refuse(module, "the module has no function")
	}
	return w.function(kernel, c), nil
}

// writer writes the code of a function.
type writer struct {
	ctx    *ir.Context
	code   bytes.Buffer
	regs   map[*ir.Value]string
	types  []string // of registers
	files  map[string]int
	names  []string // of files
	labels int
	used   map[npuir.Space]int64
	place  string // of the operation that is written
}

// refusal ends the translation.
type refusal struct{ d *diag.Diagnostic }

func (w *writer) refuse(op *ir.Operation, format string, args ...any) {
	pos := diag.Pos{}
	if l := ir.OwnFileLocOf(op); l != nil {
		pos = diag.Pos{File: l.File, Line: l.Line, Col: l.Col + 1}
	}
	panic(refusal{diag.Errorf(pos, format, args...)})
}

// function is the file of a function.
func (w *writer) function(f *ir.Operation, c *chip.Chip) []byte {
	body := linalg.AsFunc(f).Body().First()
	var params []string
	for _, a := range body.Args() {
		params = append(params, w.define(f, a))
	}
	w.block(body)

	var out bytes.Buffer
	core := f.StringAttr(npuir.CoreAttr)
	if core == "" {
		core = "program"
	}
	fmt.Fprintf(&out, "npusim 1\nformat %s\nkernel %s\nchip %s\ncore %s\n", Format, linalg.AsFunc(f).SymName(), c.Name, core)
	if n, ok := f.IntAttr(npuir.WorkspaceAttr); ok && n > 0 {
		fmt.Fprintf(&out, "workspace %d\n", n)
	}
	for _, s := range []npuir.Space{npuir.UB, npuir.L1, npuir.L0A, npuir.L0B, npuir.L0C} {
		if n := w.used[s]; n > 0 {
			fmt.Fprintf(&out, "space %s %d\n", s, n)
		}
	}
	for _, name := range w.names {
		fmt.Fprintf(&out, "file %q\n", name)
	}
	for _, reg := range params {
		fmt.Fprintf(&out, "param %s\n", reg)
	}
	out.WriteString("code\n")
	out.Write(w.code.Bytes())
	return out.Bytes()
}

// define makes the register of a value; it returns the register with its type.
func (w *writer) define(op *ir.Operation, v *ir.Value) string {
	reg := w.register(w.typeOf(op, v.Type()))
	w.regs[v] = reg
	return reg + " " + w.typ(reg)
}

// register makes a register of a type.
func (w *writer) register(t string) string {
	w.types = append(w.types, t)
	return fmt.Sprintf("%%%d", len(w.types)-1)
}

// typ is the type of a register.
func (w *writer) typ(reg string) string {
	var n int
	fmt.Sscanf(reg, "%%%d", &n)
	return w.types[n]
}

// elements are the types that the format has.
var elements = []string{"i1", "i8", "i16", "i32", "i64", "index", "f8E4M3FN", "f8E5M2", "f16", "bf16", "f32", "f64"}

// typeOf is a type as the format has it.
func (w *writer) typeOf(op *ir.Operation, t ir.Type) string {
	elem, memory := t, ""
	if m := linalg.MemRefOf(w.ctx, t); m != nil {
		s, ok := npuir.SpaceOf(w.ctx, t)
		if !ok {
			w.refuse(op, "the simulated NPU has no memory of type %s", text.TypeString(w.ctx, t))
		}
		memory = string(s)
		if s == npuir.Global {
			memory = "gm"
		}
		memory, elem = fmt.Sprintf("%s<%%s,%d>", memory, len(m.Shape)), m.Elem
	}
	name := text.TypeString(w.ctx, elem)
	if !slices.Contains(elements, name) {
		w.refuse(op, "the simulated NPU has no values of type %s", name)
	}
	if memory == "" {
		return name
	}
	return fmt.Sprintf(memory, name)
}

// value is the register of an operand.
func (w *writer) value(op *ir.Operation, v *ir.Value) string {
	reg, ok := w.regs[v]
	if !ok {
		w.refuse(op, "BUG: %s reads a value that nothing has written", op.Name())
	}
	return reg
}

func (w *writer) values(op *ir.Operation, list []*ir.Value) string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = w.value(op, v)
	}
	return strings.Join(words, " ")
}

// emit writes a line of code.
func (w *writer) emit(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	w.code.WriteString("  " + line + w.place + "\n")
}

// assign writes a line that writes the result of an operation.
func (w *writer) assign(op *ir.Operation, v *ir.Value, format string, args ...any) {
	rest := fmt.Sprintf(format, args...)
	w.emit("%s = %s", w.define(op, v), rest)
}

// move writes a line that copies a register to another.
func (w *writer) move(to, from string) {
	if to != from {
		w.emit("%s %s = move %s", to, w.typ(to), from)
	}
}

func (w *writer) label() string {
	w.labels++
	return fmt.Sprintf("L%d", w.labels)
}

func (w *writer) mark(label string) { w.code.WriteString(label + ":\n") }

// block writes the operations of a block.
func (w *writer) block(b *ir.Block) {
	for op := range b.Ops() {
		w.op(op)
	}
}

// at has the lines that follow name the place of an operation: that of the call in the
// kernel's file, of what was inlined from another.
func (w *writer) at(op *ir.Operation) {
	l := ir.OwnFileLocOf(op)
	if w.place = ""; l == nil {
		return
	}
	n, ok := w.files[l.File]
	if !ok {
		n = len(w.names)
		w.files[l.File] = n
		w.names = append(w.names, l.File)
	}
	w.place = fmt.Sprintf(" @%d:%d:%d", n, l.Line, l.Col)
}
