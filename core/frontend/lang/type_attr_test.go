package lang

import (
	"testing"

	"github.com/tritonc/tritonc/core/frontend/eval"
)

// TestBlockAttrs: what kernels ask of a tensor's type, some by a call.
func TestBlockAttrs(t *testing.T) {
	b := &Block{Elem: DTypeNamed("fp16"), Shape: []int64{4, 8}}
	for name, want := range map[string]string{
		"shape": "(4, 8)", "get_block_shapes": "(4, 8)", "numel": "32", "nbytes": "64", "is_block": "True", "is_ptr": "False",
		"scalar": "fp16", "primitive_bitwidth": "16",
	} {
		v, ok := b.Attr(name)
		if f, isCall := v.(*eval.Native); isCall {
			v = f.Fn(nil, nil, nil)
		}
		if !ok || eval.Repr(v) != want && eval.Str(v) != want {
			t.Errorf("%s is %s, want %s", name, eval.Str(v), want)
		}
	}
}
