package encoding

import (
	"testing"

	"github.com/tritonc/tritonc/core/ir"
	"github.com/tritonc/tritonc/core/layout"
)

// TestLinear: an attribute gives the map of its layout for each shape, in whatever order
// shapes are asked for, and its error for one that does not fit.
func TestLinear(t *testing.T) {
	e := &layout.Blocked{SizePerThread: []int{1, 4}, ThreadsPerWarp: []int{4, 8}, WarpsPerCTA: []int{4, 1}, Order: []int{1, 0}}
	a := Of(ir.NewContext(), e)
	shape := []int64{0, 0}
	for _, s := range [][2]int64{{16, 32}, {64, 32}, {16, 32}, {16, 128}, {64, 32}, {3, 32}, {16, 32}, {3, 32}} {
		copy(shape, s[:]) // an attribute keeps none that its caller may change
		want, wantErr := e.Linear(shape)
		got, err := a.Linear(shape)
		if (err != nil) != (wantErr != nil) || err == nil && !got.Equal(want) {
			t.Errorf("%d: %v, %v; the layout says %v, %v", s, got, err, want, wantErr)
		}
	}
	if _, err := a.Linear([]int64{3, 32}); err == nil {
		t.Error("a shape that is not a power of two has a map")
	}
}
