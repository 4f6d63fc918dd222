package ttng_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/backends/nvidia/ttng"
	"github.com/tritonc/tritonc/core/diag"
	"github.com/tritonc/tritonc/core/dialect"
	"github.com/tritonc/tritonc/core/ir/text"
)

const preamble = `#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>
#mma2 = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 8]}>
#b1 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2 = #ttg.blocked<{sizePerThread = [1, 64], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#two = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#nv = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#nv32 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 32}>
#nv0 = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = 32}>
#nvT = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 32}>
#smem = #ttg.shared_memory
#tm = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
#tm64 = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>
#tm2 = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 2>
#tms = #ttng.tensor_memory_scales_encoding<>
#tmem = #ttng.tensor_memory
#dotA = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
#dotA1 = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>
#mmaN = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 32, 16]}>
#dotN = #ttg.dot_op<{opIdx = 0, parent = #mmaN, kWidth = 2}>
#mmaW = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 32, 16]}>
#dotB = #ttg.dot_op<{opIdx = 0, parent = #mmaW, kWidth = 2}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k(%bar: !ttg.memdesc<1xi64, #one, #smem, mutable>, %bad: !ttg.memdesc<2xi64, #one, #smem, mutable>, %i: i32, %l: i64, %c: i1, %p: !tt.ptr<i8>,
      %d: !tt.tensordesc<tensor<64x64xf16, #nv>>, %row: !tt.tensordesc<tensor<1x64xf16, #nv>>, %x: tensor<64xi32, #b1>,
      %m: !ttg.memdesc<64x64xf16, #nv, #smem, mutable>, %const: !ttg.memdesc<64x64xf16, #nv, #smem>, %plain: !ttg.memdesc<64x64xf16, #two, #smem, mutable>, %big: !ttg.memdesc<128x64xf16, #nv, #smem, mutable>,
      %half: !ttg.memdesc<64x64xf32, #nv32, #smem, mutable>, %r: tensor<64x64xf32, #mma>, %old: tensor<64x64xf32, #mma2>,
      %a: tensor<64x64xf16, #dotA>, %a1: tensor<64x64xf16, #dotA1>, %ab: tensor<64x64xf16, #dotB>, %an: tensor<64x64xf16, #dotN>, %acc: !ttg.memdesc<128x64xf32, #tm, #tmem, mutable>, %t: tensor<128x64xf32, #b2>,
      %fixed: !ttg.memdesc<128x64xf32, #tm, #tmem>, %src: !ttg.memdesc<128x64xf32, #nv32, #smem, mutable>) {
`

// typeOf has the types of the preamble's values.
var typeOf = strings.NewReplacer(
	"<bar>", "!ttg.memdesc<1xi64, #one, #smem, mutable>", "<bad>", "!ttg.memdesc<2xi64, #one, #smem, mutable>", "<d>", "!tt.tensordesc<tensor<64x64xf16, #nv>>",
	"<row>", "!tt.tensordesc<tensor<1x64xf16, #nv>>", "<m>", "!ttg.memdesc<64x64xf16, #nv, #smem, mutable>", "<const>", "!ttg.memdesc<64x64xf16, #nv, #smem>",
	"<plain>", "!ttg.memdesc<64x64xf16, #two, #smem, mutable>", "<big>", "!ttg.memdesc<128x64xf16, #nv, #smem, mutable>", "<x>", "tensor<64xi32, #b1>",
	"<half>", "!ttg.memdesc<64x64xf32, #nv32, #smem, mutable>", "<r>", "tensor<64x64xf32, #mma>", "<acc>", "!ttg.memdesc<128x64xf32, #tm, #tmem, mutable>", "<t>", "tensor<128x64xf32, #b2>",
	"<a>", "tensor<64x64xf16, #dotA>", "<fixed>", "!ttg.memdesc<128x64xf32, #tm, #tmem>", "<src>", "!ttg.memdesc<128x64xf32, #nv32, #smem, mutable>",
)

// cases are operations, each with the rule that it breaks; "" for none.
var cases = []struct{ body, want string }{
	{"ttng.init_barrier %bar, 1 : <bar>", ""},
	{"ttng.init_barrier %bad, 1 : <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.init_barrier %bar, 0 : <bar>", "count must be from 1 to 1048575, not 0"},
	{"ttng.init_barrier %bar, 1048576 : <bar>", "count must be from 1 to 1048575, not 1048576"},
	{"ttng.inval_barrier %bar : <bar>", ""},
	{"ttng.inval_barrier %bad : <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.barrier_expect %bar, 16, %c : <bar>", ""},
	{"ttng.barrier_expect %bar, -1, %c : <bar>", "size must be greater than or equal to 0"},
	{"ttng.barrier_expect %bad, 16, %c : <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.wait_barrier %bar, %i : <bar>", ""},
	{"ttng.wait_barrier %m, %i : <m>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.arrive_barrier %bar, 1 : <bar>", ""},
	{"ttng.arrive_barrier %bar, 0 : <bar>", "count must be greater than or equal to 1"},
	{"ttng.arrive_barrier %bad, 1 : <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.async_copy_mbarrier_arrive %bad : <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.tc_gen5_commit %bad : <bad>", "barrier allocation must be a descriptor of 1xi64 type"},

	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %m, %bar, %c : <d>, <bar> -> <m>", ""},
	{"ttng.async_tma_copy_global_to_local %d[] %m, %bar, %c : <d>, <bar> -> <m>", "TMA copies must have between 1 and 5 coordinates, not 0"},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i, %i, %i, %i, %i] %m, %bar, %c : <d>, <bar> -> <m>", "between 1 and 5 coordinates, not 6"},
	{"ttng.async_tma_copy_global_to_local %d[%i] %m, %bar, %c : <d>, <bar> -> <m>", ""},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %m, %bad, %c : <d>, <bad> -> <m>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %const, %bar, %c : <d>, <bar> -> <const>", "cannot store into immutable memory"},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %plain, %bar, %c : <d>, <bar> -> <plain>", "TMA result must have NVMMA shared layout"},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %big, %bar, %c : <d>, <bar> -> <big>", "the same number of elements, of the same width"},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %half, %bar, %c : <d>, <bar> -> <half>", "the same number of elements, of the same width"},
	{"ttng.async_tma_copy_global_to_local %d[%i, %i] %acc, %bar, %c : <d>, <bar> -> <acc>", "TMA copies from and to shared memory alone"},
	{"ttng.async_tma_copy_local_to_global %d[%i, %i] %m : <d>, <m>", ""},
	{"ttng.async_tma_copy_local_to_global %d[] %m : <d>, <m>", "between 1 and 5 coordinates, not 0"},
	{"ttng.async_tma_copy_local_to_global %d[%i, %i] %big : <d>, <big>", "the same number of elements"},
	{"ttng.async_tma_reduce add, %d[%i, %i] %m : <d>, <m>", ""},
	{"ttng.async_tma_reduce add, %d[%i, %i] %half : <d>, <half>", "of the same width"},
	{"ttng.async_tma_store_wait {pendings = 0 : i32}", ""},
	{"ttng.async_tma_store_wait {pendings = -1 : i32}", "pendings must be greater than or equal to 0"},
	{"ttng.async_tma_gather %row[%x, %i] %m, %bar, %c : <row>, <x>, i32, <bar>, <m>, i1", ""},
	{"ttng.async_tma_gather %row[%x, %i] %m, %bad, %c : <row>, <x>, i32, <bad>, <m>, i1", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.async_tma_gather %row[%x, %i] %const, %bar, %c : <row>, <x>, i32, <bar>, <const>, i1", "cannot store into immutable memory"},
	{"ttng.async_tma_gather %d[%x, %i] %m, %bar, %c : <d>, <x>, i32, <bar>, <m>, i1", ""},
	{"ttng.async_tma_gather %row[%x, %i] %big, %bar, %c : <row>, <x>, i32, <bar>, <big>, i1", "result tensor must have as many rows as indices (64)"},
	{"ttng.async_tma_scatter %row[%x, %i] %m : <row>, <x>, i32, <m>", ""},
	{"ttng.async_tma_scatter %row[%x, %i] %half : <row>, <x>, i32, <half>", ""},
	{"ttng.async_tma_scatter %row[%x, %i] %big : <row>, <x>, i32, <big>", "result tensor must have as many rows as indices (64)"},
	{"ttng.tensormap_create %p, %p, [%i], [%i], [], [%i] {elem_type = 6 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32, fill_mode = 0 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()", ""},
	{"ttng.tensormap_create %p, %p, [%i], [%i, %i], [], [%i] {elem_type = 6 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32, fill_mode = 0 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32, i32) -> ()", "rank mismatch for global dim: got 2 but expected 1"},
	{"ttng.tensormap_create %p, %p, [%i], [%i], [%l], [%i] {elem_type = 6 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32, fill_mode = 0 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i64, i32) -> ()", "rank mismatch for global stride: got 1 but expected 0"},
	{"ttng.tensormap_create %p, %p, [%i], [%i], [], [] {elem_type = 6 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32, fill_mode = 0 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32) -> ()", "rank mismatch for element stride: got 0 but expected 1"},
	{"ttng.tensormap_create %p, %p, [%i], [%i], [], [%i] {elem_type = 16 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32, fill_mode = 0 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()", "elem_type must be from 0 to 15, not 16"},
	{"ttng.tensormap_create %p, %p, [%i], [%i], [], [%i] {elem_type = 6 : i32, interleave_layout = 0 : i32, swizzle_mode = 4 : i32, fill_mode = 0 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()", "swizzle_mode must be from 0 to 3, not 4"},
	{"ttng.tensormap_create %p, %p, [%i], [%i], [], [%i] {elem_type = 6 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32, fill_mode = -1 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()", "fill_mode must be from 0 to 1, not -1"},

	{"%0 = ttng.warp_group_dot %m, %m, %r : <m> * <m> -> <r>", ""},
	{"%0 = ttng.warp_group_dot %a, %m, %r : <a> * <m> -> <r>", ""},
	{`%0 = "ttng.warp_group_dot"(%m, %m, %r) : (<m>, <m>, <r>) -> tensor<64x64xf32, #mma2>`, "result's type must match the accumulator's type"},
	{"%0 = ttng.warp_group_dot %m, %m, %old : <m> * <m> -> tensor<64x64xf32, #mma2>", "WGMMA result layout must be Hopper NVMMA"},
	{"%0 = ttng.warp_group_dot %plain, %m, %r : <plain> * <m> -> <r>", "WGMMA A operand must have NVMMA shared or dot layout"},
	{"%0 = ttng.warp_group_dot %m, %plain, %r : <m> * <plain> -> <r>", "WGMMA B operand must have NVMMA shared layout"},
	{"%0 = ttng.warp_group_dot %a1, %m, %r : tensor<64x64xf16, #dotA1> * <m> -> <r>", "in-register LHS operand must have a kWidth of 2 but got 1"},
	{"%0 = ttng.warp_group_dot %an, %m, %r : tensor<64x64xf16, #dotN> * <m> -> <r>", ""},
	{"%0 = ttng.warp_group_dot %ab, %m, %r : tensor<64x64xf16, #dotB> * <m> -> <r>", "must have the layout of operand 0 of the result's layout"},
	{"%0 = ttng.warp_group_dot %big, %m, %r : <big> * <m> -> <r>", "result shape [64 64] must be [128 64]"},
	{"%0 = ttng.warp_group_dot %m, %big, %r : <m> * <big> -> <r>", "64 and 128"},
	{"%0:2 = ttng.warp_group_dot_wait %r, %m {pendings = 0 : i32} : <r>, <m>", ""},
	{`"ttng.warp_group_dot_wait"() {pendings = 0 : i32} : () -> ()`, "expected to be waiting on at least one dependency"},
	{"%0 = ttng.warp_group_dot_wait %r {pendings = -1 : i32} : <r>", "pendings must be greater than or equal to 0"},
	{`%0 = "ttng.warp_group_dot_wait"(%r) {pendings = 0 : i32} : (<r>) -> <m>`, "types of input #0 and output #0 differ"},
	{`%0:2 = "ttng.warp_group_dot_wait"(%r) {pendings = 0 : i32} : (<r>) -> (<r>, <r>)`, "has 1 input, but 2 outputs"},

	{"ttng.tc_gen5_mma %big, %m, %acc, %c, %c : <big>, <m>, <acc>", ""},
	{"ttng.tc_gen5_mma %big, %m, %acc, %c, %c, %bar[%c] {is_async} : <big>, <m>, <acc>, <bar>", ""},
	{"ttng.tc_gen5_mma %big, %m, %acc, %c, %c, %bar[%c] : <big>, <m>, <acc>, <bar>", "the op is synchronous but a barrier is present"},
	{"ttng.tc_gen5_mma %big, %m, %acc, %c, %c, %bad[%c] {is_async} : <big>, <m>, <acc>, <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"ttng.tc_gen5_mma %big, %half, %acc, %c, %c : <big>, <half>, <acc>", "LHS kind is f16 but RHS kind is tf32"},
	{"ttng.tc_gen5_mma %big, %m, %big, %c, %c : <big>, <m>, <big>", "return operand must have a TensorMemory encoding"},
	{"ttng.tc_gen5_mma %bar, %m, %acc, %c, %c : <bar>, <m>, <acc>", "unsupported LHS operand dtype: i64"},
	{"ttng.tc_gen5_mma %big, %plain, %acc, %c, %c : <big>, <plain>, <acc>", "RHS operand must have a NVMMAShared encoding"},
	{"ttng.tc_gen5_mma %plain, %m, %acc, %c, %c : <plain>, <m>, <acc>", "LHS operand must have a NVMMAShared or TensorMemory encoding"},
	{"ttng.tc_gen5_mma %m, %m, %acc, %c, %c : <m>, <m>, <acc>", "result shape [128 64] must be [64 64]"},
	{"ttng.tc_gen5_mma %big, %m, %acc, %c, %c {two_ctas} : <big>, <m>, <acc>", "split num of the LHS is not [2 1]: got [1 1]"},
	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #tm2, #tmem, mutable>\n ttng.tc_gen5_mma %big, %m, %0, %c, %c : <big>, <m>, !ttg.memdesc<128x64xf32, #tm2, #tmem, mutable>", "must be 32 / 32 but got 2"},
	{"ttng.tc_gen5_mma_scaled %big, %m, %acc, %m, %m, %c, %c lhs = fp16 rhs = fp16 : <big>, <m>, <acc>, <m>, <m>", ""},
	{"ttng.tc_gen5_mma_scaled %big, %m, %acc, %m, %m, %c, %c lhs = e2m1 rhs = fp16 : <big>, <m>, <acc>, <m>, <m>", "operands have 128 and 64 elements along K"},
	{"ttng.tc_gen5_mma_scaled %m, %m, %acc, %m, %m, %c, %c lhs = fp16 rhs = fp16 : <m>, <m>, <acc>, <m>, <m>", "result shape [128 64] must be [64 64]"},

	{"%0 = ttng.tmem_alloc : () -> <acc>", ""},
	{"%0 = ttng.tmem_alloc : () -> <fixed>", "uninitialized alloc must have a mutable memdesc type"},
	{"%0 = ttng.tmem_alloc %t : (<t>) -> <fixed>", ""},
	{"%0 = ttng.tmem_alloc : () -> <big>", "should use tensor memory encoding"},
	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #tm, #smem, mutable>", "the buffer must be in tensor memory"},
	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #tm, #tmem, mutable, 256x64>", "result shape and its alloc shape must match"},
	{"%0 = ttng.tmem_alloc %t : (<t>) -> !ttg.memdesc<128x64xf16, #tm, #tmem, mutable>", "element type must match: f32 and f16"},
	{"%0 = ttng.tmem_alloc %t : (<t>) -> !ttg.memdesc<128x128xf32, #tm, #tmem, mutable>", "shape [128 64] of the tensor must match shape [128 128] of the buffer"},
	{"%0 = ttng.tmem_alloc %x : (<x>) -> !ttg.memdesc<64xi32, #tm, #tmem, mutable>", "source must be a 2D tensor"},
	{"%0 = ttng.tmem_load %acc : <acc> -> <t>", ""},
	{"%0 = ttng.tmem_load %src : <src> -> <t>", "source must be a tensor memory buffer"},
	{"%0 = ttng.tmem_load %acc : <acc> -> tensor<64x64xf32, #b2>", "shape [64 64] of the tensor"},
	{"ttng.tmem_store %t, %acc, %c : <t> -> <acc>", ""},
	{"ttng.tmem_store %t, %fixed, %c : <t> -> <fixed>", "Cannot store into an immutable alloc"},
	{"ttng.tmem_store %t, %src, %c : <t> -> <src>", "should use tensor memory encoding"},
	{"%0 = ttng.tmem_subslice %acc {N = 32 : i32} : <acc> -> !ttg.memdesc<128x32xf32, #tm, #tmem, mutable, 128x64>", ""},
	{"%0 = ttng.tmem_subslice %acc {N = 48 : i32} : <acc> -> !ttg.memdesc<128x32xf32, #tm, #tmem, mutable, 128x64>", ""},
	{"%0 = ttng.tmem_subslice %acc {N = 496 : i32} : <acc> -> !ttg.memdesc<128x32xf32, #tm, #tmem, mutable, 128x64>", "32 columns from 496 on are not in tensor memory"},
	{"%0 = ttng.tmem_subslice %acc {N = -1 : i32} : <acc> -> !ttg.memdesc<128x32xf32, #tm, #tmem, mutable, 128x64>", "32 columns from -1 on are not in tensor memory"},
	{"%0 = ttng.tmem_subslice %acc {N = 0 : i32} : <acc> -> !ttg.memdesc<64x64xf32, #tm, #tmem, mutable>", "a part of a buffer has all its rows"},
	{"%0 = ttng.tmem_subslice %acc {N = 0 : i32} : <acc> -> !ttg.memdesc<128x32xf32, #tm64, #tmem, mutable>", "blockM is 64, not 128"},
	{"%0 = ttng.tmem_subslice %acc {N = 0 : i32} : <acc> -> !ttg.memdesc<128x32xf16, #tm, #tmem, mutable>", "must have the same element type"},
	{"%0 = ttng.tmem_subslice %m {N = 0 : i32} : <m> -> <m>", "the source must be a tensor memory buffer"},
	{"%0 = ttng.tmem_subslice %acc {N = 0 : i32} : <acc> -> <big>", "the destination must be a tensor memory buffer"},
	{"ttng.tmem_copy %src, %acc : <src>, <acc>", ""},
	{"ttng.tmem_copy %acc, %acc : <acc>, <acc>", "the source must be a shared memory buffer"},
	{"ttng.tmem_copy %src, %fixed : <src>, <fixed>", "Cannot copy into an immutable alloc"},
	{"ttng.tmem_copy %half, %acc : <half>, <acc>", "source shape [64 64] must match destination shape [128 64]"},
	{"ttng.tmem_copy %big, %acc : <big>, <acc>", "source element type should be 32-bit"},
	{"ttng.tmem_copy %src, %acc, %bad : <src>, <acc>, <bad>", "barrier allocation must be a descriptor of 1xi64 type"},
	{"%0 = ttg.local_alloc : () -> !ttg.memdesc<128x64xf32, #nvT, #smem, mutable>\n ttng.tmem_copy %0, %acc : !ttg.memdesc<128x64xf32, #nvT, #smem, mutable>, <acc>", "the source should not be transposed or padded"},
	{"%0 = ttg.local_alloc : () -> !ttg.memdesc<128x64xf32, #nv0, #smem, mutable>\n ttng.tmem_copy %0, %acc : !ttg.memdesc<128x64xf32, #nv0, #smem, mutable>, <acc>", "source layout should be swizzled"},

	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 32, blockN = 64, colStride = 1>, #tmem, mutable>", "blockM must be one of [64 128], not 32"},
	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 64, blockN = 48, colStride = 1>, #tmem, mutable>", "blockN must be one of [1 2 4 8 16 32 64 128 256 512], not 48"},
	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 3>, #tmem, mutable>", "colStride must be one of [1 2 4], not 3"},
	{"%0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1, CTASplitN = 0>, #tmem, mutable>", "CTASplitN must be one of"},
}

func verify(src string) error {
	f, err := text.ParseFile(dialect.NewContext(ttng.Dialect()), "x.mlir", []byte(src))
	if err != nil {
		return err
	}
	return f.Verify()
}

func TestVerify(t *testing.T) {
	line := strings.Count(preamble, "\n") + 1
	for _, c := range cases {
		body := typeOf.Replace(c.body)
		err := verify(preamble + body + "\n    tt.return\n  }\n}\n")
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s\n  is refused: %v", c.body, err)
		case c.want == "":
		case err == nil:
			t.Errorf("%s\n  is accepted, want %s", c.body, c.want)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s\n  got  %v\n  want %s", c.body, err, c.want)
		default:
			var d *diag.Diagnostic
			if !errors.As(err, &d) || d.Pos.Line != line+strings.Count(body, "\n") || d.Pos.Col == 0 {
				t.Errorf("%s\n  the place is %+v, not line %d", c.body, d, line)
			}
		}
	}
}

// TestVerifyAccepts: what Triton printed for Hopper and Blackwell verifies.
func TestVerifyAccepts(t *testing.T) {
	n := 0
	for _, dir := range []string{"sm90", "sm100"} {
		err := filepath.WalkDir(filepath.Join("../../../core/ir/text/testdata/law", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			src, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := verify(string(src)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
			n++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Fatal("there are no files")
	}
}
