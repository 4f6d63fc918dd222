package text_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir/text"
)

// TestRefused: what Triton's verifier refuses, in its words, at the line that is marked
// with !.
func TestRefused(t *testing.T) {
	const (
		line   = "#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>\n"
		plane  = "#plane = #ttg.blocked<{sizePerThread = [1, 2], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [1, 0]}>\n"
		other  = "#other = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [16, 2], warpsPerCTA = [4, 1], order = [1, 0]}>\n"
		mma    = "#mma = #ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2], instrShape = [16, 8]}>\n#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>\n#b = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 1}>\n#b2 = #ttg.dot_op<{opIdx = 1, parent = #mma, kWidth = 2}>\n"
		shared = "#smem = #ttg.shared_memory\n#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n" +
			"#swizzled = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>\n" +
			"#split = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0], CGALayout = [[1, 0]]}>\n" +
			"#padded = #ttg.padded_shared<[4:+4] {order = [1, 0], shape = [8, 16]}>\n"
	)
	fn := func(head, args, body string) string {
		return head + "tt.func @f(" + args + ") {\n" + body + "\n  tt.return\n}\n"
	}
	slice := func(enc, at, shape string) string {
		return fn(shared, "%m: !ttg.memdesc<8x16xf32, "+enc+", #smem>", "  %0 = ttg.memdesc_subslice %m"+at+" : !ttg.memdesc<8x16xf32, "+enc+", #smem> -> !ttg.memdesc<"+shape+"xf32, "+enc+", #smem, 8x16> // !")
	}
	join := func(half, whole string) string {
		return fn(line+plane+other, "%x: tensor<128xf32"+half+">", "  %0 = tt.join %x, %x : tensor<128xf32"+half+"> -> tensor<128x2xf32"+whole+"> // !")
	}
	split := func(half, whole string) string {
		return fn(line+plane+other, "%x: tensor<128x2xf32"+whole+">", "  %0, %1 = tt.split %x : tensor<128x2xf32"+whole+"> -> tensor<128xf32"+half+"> // !")
	}
	dot := func(elem, b, precision string) string {
		return fn(mma, "%a: tensor<32x16x"+elem+", #a>, %b: tensor<16x16x"+elem+", "+b+">, %c: tensor<32x16xf32, #mma>",
			"  %0 = tt.dot %a, %b, %c"+precision+" : tensor<32x16x"+elem+", #a> * tensor<16x16x"+elem+", "+b+"> -> tensor<32x16xf32, #mma> // !")
	}
	scaled := func(elem, scales string) string {
		return fn("", "%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %s: tensor<64x"+scales+"x"+elem+">, %c: tensor<64x64xf32>",
			"  %0 = tt.dot_scaled %a scale %s, %b, %c lhs = e4m3 rhs = e4m3 {fastMath = true} : tensor<64x64xf8E4M3FN>, tensor<64x"+scales+"x"+elem+"> * tensor<64x64xf8E4M3FN> -> tensor<64x64xf32> // !")
	}
	mapped := func(pack, args, body, out string) string {
		return fn("", "%x: tensor<64xi32>, %p: !tt.ptr<i32>", "  %0 = \"tt.map_elementwise\"(%x) <{pack = "+pack+" : i32}> ({\n  ^bb0("+args+"):\n"+body+"\n  }) : (tensor<64xi32>) -> tensor<64x"+out+">")
	}
	groups := func(in, out, body, partition string) string {
		return fn("", "%i: i32, %l: i64", "  "+out+"ttg.warp_specialize("+in+")\n  default {\n"+body+"\n  }\n"+partition)
	}
	copied := func(mask, other string) string {
		return fn(line+shared+"#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n",
			"%p: tensor<128x!tt.ptr<f32>, #line>, %m: tensor<128x"+mask+", #line>, %o: tensor<128x"+other+", #line>, %b: !ttg.memdesc<128xf32, #one, #smem, mutable>",
			"  %0 = ttg.async_copy_global_to_local %p, %b mask %m other %o : tensor<128x!tt.ptr<f32>, #line> -> <128xf32, #one, #smem, mutable> // !")
	}
	attr := func(enc string) string { return "module {}\n#x = #ttg." + enc + " // !\n" }
	for _, c := range []struct{ src, want string }{
		// attributes
		{attr("dot_op<{opIdx = 2, parent = #ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [1, 1], instrShape = [16, 8]}>, kWidth = 2}>"), "ttg.dot_op opIdx parameter can be 0 or 1, got: 2"},
		{attr("dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 1, warpsPerCTA = [1, 1], instrShape = [16, 8]}>, kWidth = 2}>"), "can only be non-zero for Ampere or Hopper"},
		{attr("dot_op<{opIdx = 0, parent = #ttg.nvidia_mma<{versionMajor = 3, warpsPerCTA = [4, 1], instrShape = [16, 8, 16]}>}>"), "kWidth parameter is mandatory for Ampere or Hopper"},
		{attr("dot_op<{opIdx = 0, parent = #ttg.amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = false}>}>"), "mandatory for MFMA parent"},
		{attr("dot_op<{opIdx = 0, parent = #ttg.amd_wmma<{version = 1, warpsPerCTA = [1, 1]}>, kWidth = 4}>"), "must be 8/16 for WMMA v1 (including packed"},
		{attr("dot_op<{opIdx = 0, parent = #ttg.amd_wmma<{version = 2, warpsPerCTA = [1, 1]}>, kWidth = 2}>"), "must be 4/8/16 for WMMA v2"},
		{attr("dot_op<{opIdx = 0, parent = #ttg.amd_wmma<{version = 3, warpsPerCTA = [1, 1], instrShape = [16, 16, 32]}>, kWidth = 4}>"), "must be 2/8/16 for WMMA v3"},
		{attr("amd_wmma<{version = 4, warpsPerCTA = [1, 1]}>"), "WMMA version must be in the [1, 3] range"},
		{attr("amd_wmma<{version = 3, warpsPerCTA = [1, 1]}>"), "invalid WMMA v3 instruction shape"},
		{attr("amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 16, 8], isTransposed = false}>"), "invalid (mDim, nDim) combination: (32, 16)"},
		{attr("amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32], isTransposed = false}>"), "invalid (mDim, nDim) combination: (32, 0)"},
		{attr("amd_mfma<{version = 3, warpsPerCTA = [1, 1], instrShape = [32, 32, 8], isTransposed = false, elementBitWidth = 8}>"), "elementBitWidth must be 32 or 64"},
		{attr("slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>}>"), "parent layout must have at least rank >= 2"},
		{attr("slice<{dim = 2, parent = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>}>"), "slice dim=2 must be less than the parent rank=2"},
		{attr("padded_shared<[3:+4] {order = [0], shape = [16]}>"), "interval values must all be power of two"},
		{attr("padded_shared<[4:+4] {offset = [[1], [3]], block = []}>"), "Each offset basis must be 0 or a power of two"},
		{attr("padded_shared<[4:+4] {offset = [[1], [2]]}>"), "Expected basis of 'block' not found"},
		{attr("padded_shared<[4:+4] {offset = [[1], [2]], block = [], order = [0]}>"), `Unexpected attribute "order" found`},
		{attr("padded_shared<[4:+4] {order = [1, 0], shape = [4]}>"), "Mismatch of shape and order ranks in padded layout"},

		// buffers
		{"!x = !ttg.memdesc<f32, #flat, #smem> // !\n" + shared + "module {}", "rank 0 memdesc is not allowed"},
		{"!x = !ttg.memdesc<4xf32, #flat, #smem> // !\n" + shared + "module {}", "rank must be equal to or one less than the shape size. Got 2 and 1"},
		{"!x = !ttg.memdesc<2x4x4x4xf32, #flat, #smem> // !\n" + shared + "module {}", "Got 2 and 4"},
		{"!x = !ttg.memdesc<8x8xf32, #padded, #smem> // !\n" + shared + "module {}", "Mismatch in expected shape for dimension 1. Expected: 8, got: 16"},
		{"!x = !ttg.memdesc<2x8x16xf32, #padded, #smem>\n" + shared + "module {}", ""},
		{slice("#flat", "[0, 8]", "8x8"), ""},
		{slice("#swizzled", "[4, 0]", "4x16"), ""},
		{slice("#swizzled", "[0, 0]", "2x16"), "We don't support splitting along the swizzling pattern"},
		{slice("#flat", "[2, 0]", "4x16"), "The split offset may not touch the tile"},
		{slice("#split", "[0, 0]", "8x8"), "non-trivial block dimension"},
		{slice("#padded", "[0, 8]", "8x8"), ""},
		{fn(shared, "%m: !ttg.memdesc<2x8x16xf32, #padded, #smem>", "  %0 = ttg.memdesc_subslice %m[0, 4, 0] : !ttg.memdesc<2x8x16xf32, #padded, #smem> -> !ttg.memdesc<2x4x16xf32, #padded, #smem, 2x8x16> // !"), "SubSlice of low rank PaddedSharedEncoding"},
		{fn(shared, "%m: !ttg.memdesc<3x8x16xf32, #flat, #smem>, %i: i32", "  %0 = ttg.memdesc_index %m[%i] : !ttg.memdesc<3x8x16xf32, #flat, #smem> -> !ttg.memdesc<8x16xf32, #flat, #smem, 3x8x16> // !"), "alloc shape must match shape for both result and src"},
		{copied("i1", "f32"), ""},
		{copied("i32", "f32"), "expects different type than prior uses"},
		{copied("i1", "f16"), "expects different type than prior uses"},

		// tensors
		{join(", #line", ", #plane"), ""},
		{join(", #line", ""), "result encoding must be specified"},
		{join(", #line", ", #other"), "incompatible join layout"},
		{split(", #line", ", #plane"), ""},
		{split("", ", #plane"), "inferred type"},
		{split(", #ttg.slice<{dim = 0, parent = #other}>", ", #plane"), "failed to infer returned types"},
		{fn(plane+other, "%x: tensor<64x64xf32, #plane>", "  %0 = tt.trans %x {order = array<i32: 1, 0>} : tensor<64x64xf32, #plane> -> tensor<64x64xf32, #plane> // !"), "inferred type"},
		{fn(shared, "%x: tensor<64x64xf32, #flat>", "  %0 = tt.trans %x {order = array<i32: 0, 1>} : tensor<64x64xf32, #flat> -> tensor<64x64xf32, #flat> // !"), "Non-distributed layout is not allowed in tensor type."},
		{fn("", "%x: tensor<64xf32>, %y: tensor<32xf32>", "  %0 = tt.elementwise_inline_asm \"\" {constraints = \"=r,r,r\", packed_element = 1 : i32, pure = true} %x, %y : tensor<64xf32>, tensor<32xf32> -> tensor<64xf32> // !"), "same shape"},

		// dots
		{dot("f16", "#b", ""), ""},
		{dot("f16", "#b2", ""), "mismatching kWidth between A and B operands"},
		{dot("f32", "#b", ", inputPrecision = tf32"), ""},
		{dot("f32", "#b", ", inputPrecision = ieee"), "unsupported MMA version"},
		{scaled("i8", "2"), ""},
		{scaled("f8E4M3FN", "4"), ""},
		{scaled("f32", "2"), ""},
		{scaled("i16", "2"), "must be ranked tensor of floating-point or 8-bit signless integer values"},
		{scaled("i8", "4"), "scales K dimension must match the operand K divided by the scale factor"},

		// functions of elements
		{mapped("1", "%v: i32", "    tt.map_elementwise.return %v : i32", "i32"), ""},
		{mapped("2", "%v: i32, %w: i32", "    tt.map_elementwise.return %v, %w : i32, i32", "i32"), ""},
		{mapped("1", "%v: i32, %w: i32", "    tt.map_elementwise.return %v : i32", "i32"), "region has wrong number of arguments"},
		{mapped("1", "%v: i64", "    tt.map_elementwise.return %v : i64", "i64"), "argument types did not match"},
		{mapped("1", "%v: i32", "    tt.map_elementwise.return %v : i32 // !", "i64"), "region return does not match map_elementwise result"},
		{mapped("1", "%v: i32", "    tt.store %p, %v : !tt.ptr<i32> // !\n    tt.map_elementwise.return %v : i32", "i32"), "Stores are not supported inside map_elementwise"},

		// partitions
		{groups("", "", "    ttg.warp_yield", "  : () -> ()"), ""},
		{groups("", "%0 = ", "    ttg.warp_yield // !", "  : () -> i32"), "'ttg.warp_yield' op has 0 operands but parent op expected 1"},
		{groups("", "%0 = ", "    ttg.warp_yield %l : i64 // !", "  : () -> i32"), "operand #0 has type 'i64' but parent op expected 'i32'"},
		{groups("", "", "    ttg.warp_specialize() // !\n    default {\n      ttg.warp_yield\n    } : () -> ()\n    ttg.warp_yield", "  : () -> ()"), "cannot be nested inside another `ttg.warp_specialize` op"},
		{groups("", "", "    ttg.warp_yield", "  partition0() num_warps(2) { // !\n  } : () -> ()"), "region with at least 1 blocks"},
		{groups("", "", "    ttg.warp_yield", "  partition0() num_warps(2) {\n    %c = arith.constant 1 : i32 // !\n  } : () -> ()"), "block with no terminator"},
		{"tt.func @f() {\n  \"ttg.warp_specialize\"() ({ // !\n    ttg.warp_yield\n  }, {\n    \"ttg.warp_specialize.partitions\"() : () -> ()\n  }) {partitionNumWarps = array<i32: 1>} : () -> ()\n}", "has 0 partitions but `partitionNumWarps` has 1 elements"},
	} {
		f, err := text.ParseFile(newContext(), "t", []byte(c.src))
		if err == nil {
			err = f.Verify()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.src, err, c.want)
			continue
		}
		before, _, marked := strings.Cut(c.src, "// !")
		if at := "t:" + strconv.Itoa(strings.Count(before, "\n")+1) + ":"; marked && err != nil && !strings.HasPrefix(err.Error(), at) {
			t.Errorf("%s\ngot %v, want it at %s", c.src, err, at)
		}
	}
}
