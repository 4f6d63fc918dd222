// Package encoding is the attribute that puts a layout on a tensor type: the
// bridge between core/layout, which knows no IR, and the tt and ttg dialects.
// Equal layouts are one attribute within a context.
package encoding

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// Attr is the encoding of a tensor or of shared memory.
type Attr struct {
	Layout layout.Encoding
	// Parent is the interned attribute of a slice's or dot operand's parent
	// encoding, nil for others.
	Parent *Attr

	linear []linear // that were asked for
}

// linear is a layout as a linear map, for a shape.
type linear struct {
	shape  []int64
	layout layout.Layout
}

// Linear is the layout of a tensor of that shape as a linear map. It is computed once
// for each shape: passes and the lowering ask for the same again and again.
func (a *Attr) Linear(shape []int64) (layout.Layout, error) {
	for i := range a.linear {
		if slices.Equal(a.linear[i].shape, shape) {
			return a.linear[i].layout, nil
		}
	}
	l, err := a.Layout.Linear(shape)
	if err == nil {
		a.linear = append(a.linear, linear{slices.Clone(shape), l})
	}
	return l, err
}

// AttrDialect is "ttg", in whose grammar encodings are printed.
func (*Attr) AttrDialect() string { return "ttg" }

type key struct {
	kind   string
	fields string
	parent *Attr
}

// Of returns the attribute of e; a nil e gives a nil attribute.
func Of(c *ir.Context, e layout.Encoding) *Attr {
	if e == nil {
		return nil
	}
	k, parentEnc := keyOf(e)
	var parent *Attr
	if parentEnc != nil {
		parent = Of(c, parentEnc)
		k.parent = parent
	}
	return ir.InternAttr(c, k, func() *Attr { return &Attr{Layout: e, Parent: parent} })
}

// Get is the encoding of a tensor type, nil when it has none or t is not a tensor.
func Get(t ir.Type) layout.Encoding {
	if a := AttrOf(t); a != nil {
		return a.Layout
	}
	return nil
}

// AttrOf is the encoding attribute of a tensor type, nil when it has none; also of the nil
// type that callers have of what is not a tensor.
func AttrOf(t ir.Type) *Attr {
	tt, _ := t.(*ir.TensorType)
	if tt == nil {
		return nil
	}
	a, _ := tt.Encoding.(*Attr)
	return a
}

// Slice is the encoding of t's elements after dimension dim has gone: what a
// reduction along dim gives. Nil stays nil.
func Slice(c *ir.Context, enc ir.Attribute, dim int) ir.Attribute {
	a, ok := enc.(*Attr)
	if !ok {
		return nil
	}
	return Of(c, &layout.Slice{Dim: dim, Parent: a.Layout})
}

// WrongRank says that a layout is of another rank than its tensor, in the words of Triton's
// verifier (lib/Dialect/TritonGPU/IR/Dialect.cpp); "" of one that fits, or none.
func WrongRank(e layout.Encoding, rank int) string {
	if e == nil || e.Rank() == 0 || e.Rank() == rank {
		return ""
	}
	return fmt.Sprintf("Layout has rank %d (%s), but the tensor it's attached to has rank %d", e.Rank(), e.Mnemonic(), rank)
}

// Same reports whether two encodings put the elements of a tensor of that shape
// in the same places, whatever they are called.
func Same(shape []int64, a, b ir.Attribute) bool {
	if a == b {
		return true
	}
	x, ok := a.(*Attr)
	y, ok2 := b.(*Attr)
	if !ok || !ok2 {
		return false
	}
	lx, err := x.Linear(shape)
	ly, err2 := y.Linear(shape)
	return err == nil && err2 == nil && lx.Equal(ly)
}

// keyOf is what distinguishes e from others of its kind, apart from its parent.
func keyOf(e layout.Encoding) (key, layout.Encoding) {
	var w fields
	var parent layout.Encoding
	switch e := e.(type) {
	case *layout.Blocked:
		w.ints(e.SizePerThread).ints(e.ThreadsPerWarp).ints(e.WarpsPerCTA).ints(e.Order).bases(e.CGA)
	case *layout.Linear:
		w.bases(e.Register).bases(e.Lane).bases(e.Warp).bases(e.Block)
	case *layout.Slice:
		w.int(e.Dim)
		parent = e.Parent
	case *layout.DotOp:
		w.int(e.OpIdx).int(e.KWidth)
		parent = e.Parent
	case *layout.NvidiaMMA:
		w.int(e.VersionMajor).int(e.VersionMinor).ints(e.WarpsPerCTA).ints(e.InstrShape).bases(e.CGA)
	case *layout.AMDMFMA:
		w.int(e.Version).ints(e.WarpsPerCTA).ints(e.InstrShape).bool(e.IsTransposed).ints(e.TilesPerWarp).int(e.ElementBitWidth).bases(e.CGA)
	case *layout.AMDWMMA:
		w.int(e.Version).ints(e.WarpsPerCTA).ints(e.InstrShape).bool(e.IsTranspose).ints(e.TilesPerWarp).bases(e.CGA)
	case *layout.SwizzledShared:
		w.int(e.Vec).int(e.PerPhase).int(e.MaxPhase).ints(e.Order).bases(e.CGA)
	case *layout.AMDRotatingShared:
		w.int(e.Vec).int(e.PerPhase).int(e.MaxPhase).ints(e.Order).bases(e.CGA)
	case *layout.PaddedShared:
		w.ints(e.Intervals).ints(e.Paddings).ints(e.Order).ints64(e.Shape).bases(e.Offset).bases(e.Block).bases(e.CGA)
	case *layout.SharedLinear:
		w.bases(e.Offset).bases(e.Block).int(e.Alignment)
	case *layout.NVMMAShared:
		w.int(e.SwizzlingByteWidth).bool(e.Transposed).int(e.ElementBitWidth).bool(e.FP4Padded).int(e.NDims).bases(e.CGA)
	default:
		panic("BUG: encoding: no key for " + e.Mnemonic())
	}
	return key{kind: e.Mnemonic(), fields: string(w.b)}, parent
}

// fields packs an encoding's fields into bytes, self-delimiting.
type fields struct{ b []byte }

func (w *fields) int(v int) *fields {
	w.b = binary.AppendVarint(w.b, int64(v))
	return w
}

func (w *fields) bool(v bool) *fields {
	if v {
		return w.int(1)
	}
	return w.int(0)
}

func (w *fields) ints(vs []int) *fields {
	w.int(len(vs))
	for _, v := range vs {
		w.int(v)
	}
	return w
}

func (w *fields) ints64(vs []int64) *fields {
	w.int(len(vs))
	for _, v := range vs {
		w.b = binary.AppendVarint(w.b, v)
	}
	return w
}

func (w *fields) bases(vs layout.Bases) *fields {
	w.int(len(vs))
	for _, v := range vs {
		w.int(len(v))
		for _, x := range v {
			w.int(int(x))
		}
	}
	return w
}
