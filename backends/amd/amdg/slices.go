//lint:file-ignore ST1005 these messages are Triton's, word for word

package amdg

import (
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/dialect/encoding"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// linearOf is the layout of a tensor as a linear map.
func linearOf(t *ir.TensorType) (layout.Layout, error) {
	e := encoding.Get(t)
	if e == nil {
		return layout.Layout{}, fmt.Errorf("tensors must have layouts")
	}
	return e.Linear(t.Shape)
}

// checkMoves checks that every thread holds the elements of a tensor of type to already, in
// one of type from. tileOf says which element of from is the element at a place of to; that
// must be the same for all threads but for where the thread is.
func checkMoves(from, to *ir.TensorType, tileOf func(at []int) []int) error {
	src, err := linearOf(from)
	if err != nil {
		return err
	}
	dst, err := linearOf(to)
	if err != nil {
		return err
	}
	held := map[uint64]bool{} // by the first thread
	for r := range src.Registers() {
		held[src.ApplyPacked(uint64(r))] = true
	}
	for r := range dst.Registers() {
		at := tileOf(dst.UnpackOut(dst.ApplyPacked(uint64(r))))
		if !held[src.PackOut(at...)] {
			return fmt.Errorf("No source register holds the element for destination index %s", index(at))
		}
	}
	for _, d := range []layout.Dim{layout.Lane, layout.Warp} {
		a, b := src.BasesOf(d), dst.BasesOf(d)
		if !slices.EqualFunc(a, b, slices.Equal) {
			return fmt.Errorf("Lane and warp dim basis must match between source and destination layout.")
		}
	}
	return nil
}

// index writes coordinates as Triton does.
func index(at []int) string {
	s := "["
	for i, n := range at {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(n)
	}
	return s + "]"
}

func verifyExtractSlice(op *ir.Operation) error {
	v := AsExtractSlice(op)
	src, dst := v.Source().Type().(*ir.TensorType), v.Result().Type().(*ir.TensorType)
	offsets := v.StaticOffsets()
	switch {
	case src.Elem != dst.Elem:
		return fmt.Errorf("result element type must match source element type")
	case len(src.Shape) != len(dst.Shape):
		return fmt.Errorf("result rank must be equal to source rank")
	case len(offsets) != len(src.Shape):
		return fmt.Errorf("there must be an offset for each dimension")
	}
	for i, n := range dst.Shape {
		if n > src.Shape[i] {
			return fmt.Errorf("result shape cannot exceed source shape at dimension %d", i)
		}
		if offsets[i] < 0 || offsets[i]+n > src.Shape[i] {
			return fmt.Errorf("invalid offset at dimension %d", i)
		}
	}
	return checkMoves(src, dst, func(at []int) []int {
		for i := range at {
			at[i] += int(offsets[i])
		}
		return at
	})
}

func verifyConcat(op *ir.Operation) error {
	v := AsConcat(op)
	if len(v.Sources()) == 0 {
		return fmt.Errorf("there must be a source")
	}
	src, dst := v.Sources()[0].Type().(*ir.TensorType), v.Result().Type().(*ir.TensorType)
	if len(src.Shape) != len(dst.Shape) {
		return fmt.Errorf("Source and destination tensors must have the same rank.")
	}
	tiles := int64(1)
	for i, n := range dst.Shape {
		if n%src.Shape[i] != 0 {
			return fmt.Errorf("Source and destination tensor shapes don't match.")
		}
		tiles *= n / src.Shape[i]
	}
	if n := len(v.Sources()); int64(n) != tiles {
		return fmt.Errorf("Number of source tiles (%d) doesn't match required count (%d).", n, tiles)
	}
	for _, s := range v.Sources() {
		if s.Type() != ir.Type(src) {
			return fmt.Errorf("All sources must have identical tensor types.")
		}
	}
	if src.Elem != dst.Elem {
		return fmt.Errorf("Element types of sources and destination must match.")
	}
	return checkMoves(src, dst, func(at []int) []int {
		for i := range at {
			at[i] %= int(src.Shape[i])
		}
		return at
	})
}

// TransposedInThread is the layout of what in_thread_transpose makes of a tensor: the
// elements that follow one another in a thread do so along the other dimension.
func TransposedInThread(shape []int64, from *layout.Blocked) (layout.Layout, error) {
	if len(shape) != 2 || len(from.Order) != 2 {
		return layout.Layout{}, fmt.Errorf("Expect 2d tensor")
	}
	l, err := from.Linear(shape)
	if err != nil {
		return l, err
	}
	tile := layout.IdentityND(layout.Register, from.SizePerThread, []int{from.Order[1], from.Order[0]})
	tile = tile.TransposeOuts(layout.TensorDim(0), layout.TensorDim(1))
	registers, turned := l.BasesOf(layout.Register), tile.BasesOf(layout.Register)
	if len(turned) > len(registers) {
		return l, fmt.Errorf("the tensor is smaller than what a thread holds")
	}
	copy(registers, turned)
	return layout.New(l.Outs(), layout.Input{Dim: layout.Register, Bases: registers},
		layout.Input{Dim: layout.Lane, Bases: l.BasesOf(layout.Lane)}, layout.Input{Dim: layout.Warp, Bases: l.BasesOf(layout.Warp)},
		layout.Input{Dim: layout.Block, Bases: l.BasesOf(layout.Block)}), nil
}

func verifyInThreadTranspose(op *ir.Operation) error {
	v := AsInThreadTranspose(op)
	src, dst := v.Src().Type().(*ir.TensorType), v.Result().Type().(*ir.TensorType)
	switch {
	case src.Elem != dst.Elem:
		return fmt.Errorf("Expect input and output tensor to have same dtype")
	case !slices.Equal(src.Shape, dst.Shape):
		return fmt.Errorf("Expect equal input and output shapes")
	case len(src.Shape) != 2:
		return fmt.Errorf("Expect 2d tensor")
	}
	from, ok := encoding.Get(src).(*layout.Blocked)
	if !ok {
		return fmt.Errorf("Expect input tensor in Blocked encoding")
	}
	want, err := TransposedInThread(src.Shape, from)
	if err != nil {
		return err
	}
	got, err := linearOf(dst)
	if err != nil {
		return err
	}
	if !got.Equal(want) {
		return fmt.Errorf("Expect output layout to be transposed per thread: %v", want)
	}
	return nil
}
