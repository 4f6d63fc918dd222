package nvidia

import (
	"slices"
	"testing"

	"github.com/tritonc/tritonc/core/backend/llvm"
)

func TestStrideReductionPairs(t *testing.T) {
	for text, want := range map[string]int{
		"": 0,
		// Three addresses of one base: 1 + 2.
		`  %2 = getelementptr float, ptr addrspace(1) %0, i64 %a, !dbg !1
  %3 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %b
  %4 = getelementptr float, ptr addrspace(1) %0, i64 %c, !dbg !1
`: 3,
		// Constant offsets, other bases and other elements are never compared.
		`  %2 = getelementptr float, ptr addrspace(1) %0, i64 4, !dbg !1
  %3 = getelementptr float, ptr addrspace(1) %0, i64 8, !dbg !1
  %4 = getelementptr float, ptr addrspace(1) %1, i64 %b, !dbg !1
  %5 = getelementptr half, ptr addrspace(1) %1, i64 %c, !dbg !1
`: 0,
		// One index, two bases.
		`  %2 = getelementptr i8, ptr %0, i64 %a
  %3 = getelementptr i8, ptr %1, i64 %a
`: 1,
		// Sums with a common operand on either side; with constants, none.
		`  %2 = add i32 %a, %b, !dbg !1
  %3 = add nsw i32 %c, %a, !dbg !1
  %4 = add i32 %a, 7, !dbg !1
  %5 = add i32 %a, 9, !dbg !1
`: 1,
		// Functions apart; names are their own.
		`  %2 = add i32 %a, %b
define void @f() {
  %2 = add i32 %a, %c
`: 0,
	} {
		if got := strideReductionPairs(text); got != want {
			t.Errorf("%d pairs, want %d, of\n%s", got, want, text)
		}
	}
}

// The reduction is left away for long code alone, and llc is then done with what it
// took minutes for: it has half a minute here, and needs a second.
func TestStrideReductionIsBounded(t *testing.T) {
	needTools(t, llvm.LLC)
	for _, g := range growing {
		if g.sizes[0] != 64 {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			_, kernel := steps(t, g.source(256))
			if args := (&job{}).llcArguments(84, string(kernel.llir)); slices.Contains(args, "-opt-disable=slsr") {
				t.Errorf("256 iterations: llc %v", args)
			}
			_, kernel = steps(t, g.source(2048))
			req := request(t, "80", stagePTX, "k.llir", kernel.llir, "")
			req.Last, req.Settings = stagePTX, map[string]string{"tool_seconds": "30"}
			if _, err := New().RunStages(t.Context(), req); err != nil {
				t.Errorf("2,048 iterations: %v", err)
			}
		})
	}
}
