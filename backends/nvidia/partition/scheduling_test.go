package partition_test

import (
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/partition"
)

// Marks that do not fit the loop are the user's mistakes.
func TestSchedulingMistakes(t *testing.T) {
	for _, c := range []struct{ body, attrs, want string }{
		{`"a"() {ttg.partition = array<i32: 3>} : () -> ()`, "ttg.partition.stages = [0 : i32, 1 : i32], ttg.warp_specialize.tag = 0 : i32", "partition 3 of a is none of the loop's 2"},
		{`"a"() {ttg.partition = array<i32: 0>} : () -> ()`, "ttg.partition.stages = [-1 : i32], ttg.warp_specialize.tag = 0 : i32", "not a number of 0 or more"},
		{`"a"() {ttg.partition = array<i32: 0>} : () -> ()
		  %x = "b"() : () -> tensor<8xf32>`, "ttg.partition.stages = [0 : i32], ttg.warp_specialize.tag = 0 : i32", "no partition needs b"},
	} {
		src := `module attributes {"ttg.num-warps" = 4 : i32} {
		tt.func public @f(%n: i32) {
		scf.for %i = %n to %n step %n : i32 {
		` + c.body + `
		} {tt.warp_specialize, ` + c.attrs + `}
		tt.return
		}
		}`
		refused(t, c.body, src, partition.PartitionScheduling, c.want)
	}
}
