package partition_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/partition"
)

// Buffers that partitions do not use one after the other are refused.
func TestTmemArefMistakes(t *testing.T) {
	const (
		m    = "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>"
		dot  = "ttng.tc_gen5_mma %a, %b, %d[%u], %yes, %yes {ttg.partition = array<i32: 1>} : !ttg.memdesc<128x64xf16, #shared, #smem>, !ttg.memdesc<64x64xf16, #shared, #smem>, " + m
		load = "ttng.tmem_load %d[%v] {ttg.partition = array<i32: 0>} : " + m + " -> tensor<128x64xf32, #acc>"
	)
	for _, c := range []struct{ body, last, want string }{
		{"%v = " + dot + "\n%s, %w = " + load + "\n%x, %y = " + load, "%w", "of a token's 2 uses, not one is in each branch of a condition"},
		{"%v = " + dot + "\n%s, %w = " + load + "\n%x, %y = " + strings.Replace(strings.Replace(load, "%v", "%w", 1), "i32: 0", "i32: 2", 1), "%y", "3 partitions use the buffer"},
		{"%v = " + dot + "\n%s, %w = " + strings.Replace(load, "i32: 0", "i32: 0, 1", 1), "%w", "in 2 partitions, not in one"},
		{"%v = " + dot + "\n%s, %w = " + load + "\n\"other\"(%d) : (" + m + ") -> ()", "%w", "without its token"},
		{`%v = "other"(%u) : (!ttg.async.token) -> !ttg.async.token`, "%v", "other takes the token"},
	} {
		src := `#acc = #ttg.blocked<{sizePerThread = [1, 64], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
		module attributes {"ttg.num-warps" = 4 : i32} {
		tt.func public @f(%a: !ttg.memdesc<128x64xf16, #shared, #smem>, %b: !ttg.memdesc<64x64xf16, #shared, #smem>, %n: i32, %yes: i1) {
		%d, %t = ttng.tmem_alloc : () -> (` + m + `, !ttg.async.token)
		%last = scf.for %i = %n to %n step %n iter_args(%u = %t) -> (!ttg.async.token) : i32 {
		` + c.body + `
		scf.yield ` + c.last + ` : !ttg.async.token
		} {tt.warp_specialize, ttg.partition = array<i32: 0, 1, 2>, ttg.partition.outputs = [array<i32: 1>], ttg.warp_specialize.tag = 0 : i32}
		tt.return
		}
		}`
		refused(t, c.body, src, partition.InsertTmemAref, c.want)
	}
}
