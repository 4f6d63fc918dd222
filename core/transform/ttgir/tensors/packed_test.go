package tensors

import (
	"testing"

	"github.com/tritonc/tritonc/core/layout"
)

// What is unpacked in one layout was packed in the layout that it came from, and
// each thread unpacks its own.
func TestPackedLayouts(t *testing.T) {
	mma := &layout.NvidiaMMA{VersionMajor: 2, WarpsPerCTA: []int{2, 2}, InstrShape: []int{16, 8}}
	blocked := &layout.Blocked{SizePerThread: []int{1, 8}, ThreadsPerWarp: []int{8, 4}, WarpsPerCTA: []int{4, 1}, Order: []int{1, 0}}
	shape := []int64{64, 32}
	for _, e := range []layout.Encoding{
		blocked, mma,
		&layout.DotOp{OpIdx: 0, Parent: mma, KWidth: 4},
		&layout.DotOp{OpIdx: 1, Parent: mma, KWidth: 4},
		&layout.DotOp{OpIdx: 0, Parent: blocked},
	} {
		for axis := range 2 {
			doubled := []int64{64, 32}
			doubled[axis] *= 2
			wide := Unpacked(e, shape, axis)
			back := Packed(wide, doubled, axis)
			if back == nil {
				t.Errorf("%s, axis %d: no way back", e.Mnemonic(), axis)
				continue
			}
			from, err := e.Linear(shape)
			if err != nil {
				t.Fatal(err)
			}
			to, err := back.Linear(shape)
			if err != nil || !to.Equal(from) {
				t.Errorf("%s, axis %d: came from\n%v\nand go back to\n%v, %v", e.Mnemonic(), axis, from, to, err)
			}
			w, err := wide.Linear(doubled)
			if err != nil || w.Registers() != 2*from.Registers() {
				t.Errorf("%s, axis %d: %d registers from %d, %v", e.Mnemonic(), axis, w.Registers(), from.Registers(), err)
			}
		}
	}
	lanes := &layout.Blocked{SizePerThread: []int{1, 1}, ThreadsPerWarp: []int{1, 32}, WarpsPerCTA: []int{4, 1}, Order: []int{1, 0}}
	if e := Packed(lanes, shape, 1); e != nil {
		t.Errorf("the two of a pair are in different lanes, but were packed as %s", e.Mnemonic())
	}
}
