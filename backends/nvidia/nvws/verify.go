//lint:file-ignore ST1005 these messages are Triton's, word for word

package nvws

import (
	"errors"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/dialect/ttg"
	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/ir/decl"
)

// verifiers check what the declaration of nvws cannot say.
var verifiers = map[string]func(*ir.Operation) error{
	"aref.create": verifyCreate,
	"aref.get.enter": func(op *ir.Operation) error {
		v := AsArefGetEnter(op)
		return verifyEnter(v.Aref(), v.Buffers())
	},
	"aref.put.enter": func(op *ir.Operation) error {
		v := AsArefPutEnter(op)
		return verifyEnter(v.Aref(), v.Buffers())
	},
	"descriptor_load": func(op *ir.Operation) error {
		v := AsDescriptorLoad(op)
		if v.TxCount() < 0 {
			return errors.New("the count of bytes is negative")
		}
		return ttng.VerifyFill(v.Desc(), v.Indices(), v.Result())
	},
	"warp_group": verifyWarpGroup,
}

// Messages that Triton's tests know (lib/Dialect/NVWS/IR/Ops.cpp, release 3.6).
const (
	usedElsewhere  = "Aref buffer is used elsewhere, Aref cannot guarantee async safety"
	leadingDims    = "Leading dims of sliced aref inputs don't match."
	otherArguments = "Aref has different number of arguments than enter"
	otherRanks     = "Ranks don't match"
	otherDims      = "Dimensions don't match"
	notSliced      = "Slicing not Implemented for this type"
	noWarps        = "Must supply numWarps for each Warp Group."
	noRegions      = "Must have at least one region when there are results."
	noYield        = "When nvws.warp_group op has results, the first region should be terminated by nvws.warp_group.yield op."
	otherResults   = "Mismatch in the number of results returned by nvws.warp_group op and the number of the operands of the corresponding nvws.warp_group.yield op in the first region."
)

// verifyCreate checks that only the reference uses the buffers, that all have the same
// number of stages, and that the reference's type is of their types.
func verifyCreate(op *ir.Operation) error {
	stages := int64(-1)
	c := AsArefCreate(op)
	of := c.Result().Type().(*decl.TypeValue).Types("baseType")
	if len(of) != len(c.Buffers()) {
		return errors.New("the reference is of another number of buffers than its type")
	}
	for i, v := range c.Buffers() {
		if v.Type() != of[i] {
			return errors.New("a buffer is of another type than in the reference's type")
		}
		for user := range v.Users() {
			if user.Def() != op.Def() && !user.Is(ttg.LocalDealloc) {
				return errors.New(usedElsewhere)
			}
		}
		t := v.Type().(*ttg.MemDescType)
		if len(t.Shape) == 0 {
			return errors.New(otherRanks)
		}
		if stages >= 0 && t.Shape[0] != stages {
			return errors.New(leadingDims)
		}
		stages = t.Shape[0]
	}
	return nil
}

// verifyEnter checks that the buffers of a stage are those of the reference without
// their first dimension. Scales have none, since tensor memory keeps them whole.
func verifyEnter(aref *ir.Value, given []*ir.Value) error {
	buffers := aref.Type().(*decl.TypeValue).Types("baseType")
	if len(buffers) != len(given) {
		return errors.New(otherArguments)
	}
	for i, v := range given {
		whole, ok := buffers[i].(*ttg.MemDescType)
		if !ok {
			return errors.New(notSliced)
		}
		stage := v.Type().(*ttg.MemDescType)
		shape := whole.Shape
		if !ttng.IsScales(whole.Encoding) && len(shape) > 0 {
			shape = shape[1:]
		}
		switch {
		case stage.Elem != whole.Elem || len(stage.Shape) != len(shape):
			return errors.New(otherRanks)
		case ir.KeyOf(stage.Shape) != ir.KeyOf(shape):
			return errors.New(otherDims)
		case stage.Encoding != whole.Encoding:
			return errors.New("a buffer of a stage is arranged otherwise than the reference's")
		}
	}
	return nil
}

func verifyWarpGroup(op *ir.Operation) error {
	group := AsWarpGroup(op)
	if len(group.NumWarps()) != len(group.PartitionRegions()) {
		return errors.New(noWarps)
	}
	if op.NumResults() == 0 {
		return nil
	}
	if len(group.PartitionRegions()) == 0 {
		return errors.New(noRegions)
	}
	var end *ir.Operation
	if first := group.PartitionRegions()[0].First(); first != nil {
		end = first.Terminator()
	}
	if end == nil || end.Name() != "nvws.warp_group.yield" {
		return errors.New(noYield)
	}
	if end.NumOperands() != op.NumResults() {
		return errors.New(otherResults)
	}
	return nil
}
