package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir/text"
)

// preamble gives the cases below values of many types.
const preamble = `#b = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2 = #ttg.blocked<{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#b2d = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 4], order = [1, 0]}>
#sh = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
module {
  tt.func private @callee(%x: i32) -> i32 {
    tt.return %x : i32
  }
  tt.func public @f(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>, %ps: tensor<4x!tt.ptr<f32>>, %bp: !tt.ptr<tensor<4x8xf32>>,
      %i: i32, %l: i64, %c: i1, %x: f32, %h: f16, %v: tensor<4xf32>, %n: tensor<4xi32>, %m: tensor<4xi1>, %w: tensor<8xf32>,
      %m8: tensor<8xi1>, %t: tensor<4x8xf32>, %tt: tensor<8x4xf32>, %ve: tensor<4xf32, #b>, %vf: tensor<4xf32, #b2>, %me: tensor<4xi1, #b>,
      %d: !tt.tensordesc<tensor<4x8xf32>>, %s: !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>) {
`

// buffers makes a buffer of two parts.
const buffers = "%two = ttg.local_alloc : () -> !ttg.memdesc<2x4xf32, #sh, #ttg.shared_memory, mutable>\n"

func blocked(regs, lanes, warps int) string {
	return fmt.Sprintf("#ttg.blocked<{sizePerThread = [%d], threadsPerWarp = [%d], warpsPerCTA = [%d], order = [0]}>", regs, lanes, warps)
}

// laidOut is a module for so many warps, lanes and CTAs with a tensor of a layout.
func laidOut(warps, lanes, ctas int, layout string) string {
	return fmt.Sprintf("module attributes {\"ttg.num-ctas\" = %d : i32, \"ttg.num-warps\" = %d : i32, \"ttg.threads-per-warp\" = %d : i32} {\n", ctas, warps, lanes) +
		"  tt.func public @k() {\n    %0 = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, " + layout + ">\n    tt.return\n  }\n}\n"
}

// gather is a module that gathers rows of those shapes.
func gather(block, offsets, rows string) string {
	return "module {\n  tt.func public @k(%row: !tt.tensordesc<tensor<" + block + "xf32>>, %at: tensor<" + offsets + "xi32>, %y: i32, %small: tensor<4x8xf32>) {\n" +
		"    %0 = tt.descriptor_gather %row[%at, %y] : (!tt.tensordesc<tensor<" + block + "xf32>>, tensor<" + offsets + "xi32>, i32) -> tensor<" + rows + "xf32>\n" +
		"    tt.return // scatter\n  }\n}\n"
}

func wrap(body string) string {
	if strings.HasPrefix(body, "module") {
		return body
	}
	if strings.Contains(body, "#dotA") {
		body = "%da = ub.poison : tensor<16x16xf32, #dotA>\n%acc = ub.poison : tensor<16x16xf32, #b2d>\n" + body
		body = strings.ReplaceAll(body, "#dotA", "#ttg.dot_op<{opIdx = 0, parent = #b2d}>")
	}
	return preamble + body + "\n    tt.return\n  }\n}\n"
}

// verifierCases has one row a rule: a text that breaks it and what is said.
var verifierCases = []struct{ body, want string }{
	// What every table row says.
	{`"arith.addi"(%i) : (i32) -> i32`, "'arith.addi' op expected 2 operands, but found 1"},
	{`"tt.return"() : () -> i32`, "'tt.return' op expected 0 results, but found 1"},
	{`"arith.addi"(%x, %x) : (f32, f32) -> f32`, "'arith.addi' op operand #0 must be signless-integer-like, but got f32"},
	{`"arith.sitofp"(%i) : (i32) -> i32`, "'arith.sitofp' op result #0 must be floating-point-like, but got i32"},
	{`"arith.cmpi"(%i, %i) : (i32, i32) -> i1`, "'arith.cmpi' op requires attribute 'predicate'"},
	{`"arith.cmpi"(%i, %i) <{predicate = 99 : i64}> : (i32, i32) -> i1`, "attribute 'predicate' failed to satisfy constraint: one of the enumeration's cases"},
	{`"tt.make_range"() <{start = 0 : i64, end = 4 : i32}> : () -> tensor<4xi32>`, "attribute 'start' failed to satisfy constraint: 32-bit signless integer attribute"},
	{`"tt.reshape"(%v) <{allow_reorder = true}> : (tensor<4xf32>) -> tensor<4xf32>`, "attribute 'allow_reorder' failed to satisfy constraint: unit attribute"},
	{`"tt.print"() <{prefix = 1 : i32, hex = false, isSigned = array<i32>}> : () -> ()`, "attribute 'prefix' failed to satisfy constraint: string attribute"},
	{`"tt.print"() <{prefix = "", hex = 1 : i32, isSigned = array<i32>}> : () -> ()`, "attribute 'hex' failed to satisfy constraint: bool attribute"},
	{`"tt.print"() <{prefix = "", hex = false, isSigned = array<i64>}> : () -> ()`, "attribute 'isSigned' failed to satisfy constraint: i32 dense array attribute"},
	{`"tt.call"(%i) <{callee = "f"}> : (i32) -> i32`, "attribute 'callee' failed to satisfy constraint: symbol reference attribute"},
	{`"arith.constant"() <{value = "x"}> : () -> i32`, "attribute 'value' failed to satisfy constraint: typed attribute"},
	{`"tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0>}> : (!tt.ptr<f32>) -> f32`, "needs operand segment sizes for 3 groups, has 2"},
	{`"tt.load"(%p) : (!tt.ptr<f32>) -> f32`, "needs operand segment sizes for 3 groups, has 0"},
	{`"tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (!tt.ptr<f32>) -> f32`, "operand segment sizes add up to 2, but it has 1 operand"},
	{`"tt.load"(%p, %c, %c) <{operandSegmentSizes = array<i32: 1, 2, 0>}> : (!tt.ptr<f32>, i1, i1) -> f32`, "operand group 'mask' has size 2"},
	{`"arith.addi"(%i, %i) : (i32, i32) -> i64`, "requires the same type for all operands and results"},
	{`"arith.cmpi"(%i, %l) <{predicate = 0 : i64}> : (i32, i64) -> i1`, "requires the same type for all operands"},
	{`"arith.extf"(%h) : (f16) -> tensor<4xf32>`, "requires the same shape for all operands and results"},
	{`"arith.sitofp"(%n) : (tensor<4xi32>) -> tensor<8xf32>`, "requires the same shape for all operands and results"},
	{`"tt.bitcast"(%ve) : (tensor<4xf32, #b>) -> tensor<4xi32, #b2>`, "requires the same encoding for all operands and results"},
	{"module attributes {tt.any_block_sizes} {\n  tt.func public @k(%x: f32) {\n    %0 = tt.splat %x : f32 -> tensor<0xf32>\n    tt.return\n  }\n}\n", "a dimension is 0"},
	{`%0 = tt.splat %x : f32 -> tensor<3xf32>`, "number of elements must be power-of-two, but a dimension is 3"},
	{`%0 = tt.splat %x : f32 -> tensor<2097152xf32>`, "maximum allowed number of elements is 1048576"},
	{`"cf.br"() : () -> ()`, "requires 1 successor, but found 0"},
	{`"scf.if"(%c) ({ scf.yield }) : (i1) -> ()`, "requires 2 regions, but found 1"},
	{`"tt.return"() : () -> ()
    %0 = arith.addi %i, %i : i32`, "'tt.return' op must be the last operation in the parent block"},
	{`scf.if %c {
    ^bb0:
      cf.br ^bb1
    ^bb1:
      scf.yield
    }`, "region #0 ('thenRegion') must have at most one block"},
	{`"scf.if"(%c) ({
      %0 = arith.addi %i, %i : i32
    }, {
    }) : (i1) -> ()`, "begins a block with no terminator, in region #0 of 'scf.if'"},
	{`cf.cond_br %c, ^bb1, ^bb2
  ^bb1:
    %0 = arith.addi %i, %i : i32
    cf.br ^bb2
  ^bb2:
    %1 = arith.addi %0, %i : i32`, "operand #0 does not dominate this use"},
	{`"arith.addi"(%0, %i) : (i32, i32) -> i32
    %0 = arith.addi %i, %i : i32`, "operand #0 does not dominate this use"},

	// builtin
	{`"builtin.module"() ({
    }) : () -> ()`, "'builtin.module' op must have a block"},
	{`"builtin.module"() ({
    ^bb0(%a: i32):
    }) : () -> ()`, "'builtin.module' op body must have no arguments"},
	{`module { tt.func @f() { tt.return } tt.func @f() { tt.return } }`, "'builtin.module' op redefinition of symbol named 'f'"},

	// scf
	{`"scf.for"(%i, %i, %i) ({
    }) : (i32, i32, i32) -> ()`, "'scf.for' op must have a body"},
	{`"scf.for"(%i, %l, %i) ({
    ^bb0(%k: i32):
      scf.yield
    }) : (i32, i64, i32) -> ()`, "'scf.for' op bounds and step must have one type"},
	{`"scf.for"(%i, %i, %i) ({
    ^bb0(%k: i64):
      scf.yield
    }) : (i32, i32, i32) -> ()`, "'scf.for' op the first argument of the body must be the induction variable"},
	{`"scf.for"(%i, %i, %i, %x) ({
    ^bb0(%k: i32):
      scf.yield %x : f32
    }) : (i32, i32, i32, f32) -> f32`, "'scf.for' op has 1 initial value, but 0 arguments of the body"},
	{`"scf.for"(%i, %i, %i, %x) ({
    ^bb0(%k: i32, %a: f32):
      scf.yield %i : i32
    }) : (i32, i32, i32, f32) -> i32`, "'scf.for' op types of results #0 and initial values #0 differ"},
	{`"scf.for"(%x, %x, %x) ({
    ^bb0(%k: f32):
      scf.yield
    }) : (f32, f32, f32) -> ()`, "'scf.for' op operand #0 must be signless integer or index, but got f32"},
	{`%0 = scf.for %k = %i to %i step %i iter_args(%a = %x) -> (f32) : i32 {
      scf.yield
    }`, "'scf.yield' op has 0 values, but 1 result of the parent"},
	{`%0 = scf.for %k = %i to %i step %i iter_args(%a = %x) -> (f32) : i32 {
      scf.yield %i : i32
    }`, "'scf.yield' op types of values #0 and results of the parent #0 differ"},
	{`"scf.if"(%c) ({
    }, {
    }) : (i1) -> ()`, "'scf.if' op must have a block in its first region"},
	{`%0 = scf.if %c -> (i32) {
      scf.yield %i : i32
    }`, "'scf.if' op must have an else block if defining values"},
	{`"scf.if"(%c) ({
    ^bb0(%a: i32):
      scf.yield
    }, {
    }) : (i1) -> ()`, "'scf.if' op regions must have no arguments"},
	{`"scf.while"() ({
    }, {
      scf.yield
    }) : () -> ()`, "'scf.while' op must have a block in both regions"},
	{`scf.while : () -> () {
      scf.yield
    } do {
      scf.yield
    }`, "'scf.while' op expects the 'before' region to terminate with 'scf.condition'"},
	{`scf.while : () -> () {
      scf.condition(%c)
    } do {
      tt.return
    }`, "expects parent op 'tt.func'"},
	{`scf.while : () -> () {
      scf.condition(%c)
    } do {
      "cf.br"()[^bb0] : () -> ()
    ^bb0:
      scf.yield
    }`, "must have at most one block"},
	{`scf.while : () -> () {
      scf.condition(%c)
    } do {
      ub.stop
    }`, "unknown operation 'ub.stop'"},
	{`%0 = scf.while (%a = %i) : (i32) -> f32 {
      scf.condition(%c) %a : i32
    } do {
    ^bb0(%b: f32):
      scf.yield %i : i32
    }`, "'scf.condition' op types of values #0 and results of the loop #0 differ"},
	{`%0 = scf.while (%a = %i) : (i32) -> i32 {
      scf.condition(%c) %a : i32
    } do {
    ^bb0(%b: f32):
      scf.yield %i : i32
    }`, "'scf.while' op types of results #0 and arguments of the 'after' region #0 differ"},
	{`"scf.while"(%i) ({
      scf.condition(%c)
    }, {
      scf.yield %i : i32
    }) : (i32) -> ()`, "'scf.while' op has 1 operand, but 0 arguments of the 'before' region"},
	{`scf.while (%a = %i) : (i32) -> () {
      scf.condition(%c)
    } do {
      scf.yield
    }`, "'scf.yield' op has 0 values, but 1 operand of the loop"},
	{`module { tt.func @f(%c: i1) { scf.condition(%c) } }`, "'scf.condition' op expects to stand in the 'before' region of 'scf.while'"},
	{`module { tt.func @f() { scf.yield } }`, "'scf.yield' op expects parent op to be one of 'scf.for, scf.if, scf.while, scf.execute_region'"},
	{`"scf.execute_region"() ({
    }) : () -> ()`, "'scf.execute_region' op must have a block"},
	{`"scf.execute_region"() ({
    ^bb0(%a: i32):
      scf.yield
    }) : () -> ()`, "'scf.execute_region' op region must have no arguments"},
	{`scf.if %i {
    }`, "use of value '%i' expects different type than prior uses: 'i1' vs 'i32'"},

	// cf
	{`cf.br ^bb1
  ^bb1:
    cf.cond_br %c, ^bb1, ^bb0`, "undefined block ^bb0"},
	{`module { tt.func @f() {
  ^bb0:
    cf.br ^bb0
  } }`, "'cf.br' op branches to the entry block of its region, which must have no predecessors"},
	{`scf.execute_region {
    ^bb0:
      cf.cond_br %c, ^bb0, ^bb1
    ^bb1:
      scf.yield
    }`, "'cf.cond_br' op branches to the entry block of its region, which must have no predecessors"},
	{`cf.cond_br %c weights([1, 2, 3]), ^bb1, ^bb1
  ^bb1:`, "'cf.cond_br' op expects number of branch weights to match number of successors: 3 vs 2"},
	{`cf.cond_br %c weights([0, 0]), ^bb1, ^bb1
  ^bb1:`, "'cf.cond_br' op branch weights cannot all be zero"},
	{`"cf.br"()[^bb1, ^bb1] : () -> ()
  ^bb1:`, "requires 1 successor, but found 2"},
	{gather("1x8", "8", "8x8"), ""},
	{gather("4x8", "8", "8x8"), "block must have exactly 1 row, but has 4"},
	{gather("8", "8", "8x8"), "block must be a 2D tensor, but has 1 dimension"},
	{gather("1x8", "8x1", "8x8"), "x offsets must be a 1D tensor, but have 2 dimensions"},
	{gather("1x8", "8", "64"), "result must be a 2D tensor"},
	{gather("1x8", "4", "4x8"), "there must be at least 8 rows, but there are 4"},
	{gather("1x4", "8", "8x4"), "rows of 32-bit elements must have at least 8 columns, but have 4"},
	{gather("1x8", "16", "8x8"), "result tensor must have as many rows as indices (16)"},
	{gather("1x8", "8", "8x16"), "result tensor number of columns must match block (8)"},
	{strings.Replace(gather("1x8", "8", "8x8"), "-> tensor<8x8xf32>", "-> tensor<8x8xf64>", 1), "elements must not be wider than 32 bits, but have 64"},
	{strings.Replace(gather("1x8", "8", "8x8"), "-> tensor<8x8xf32>", "-> tensor<8x8xf16>", 1), "rows of 16-bit elements must have at least 16 columns"},
	{strings.Replace(gather("1x8", "8", "8x8"), "tensor<8xi32>", "tensor<8xi64>", 2), "operand #1 must be tensor of 32-bit signless integers"},
	{strings.Replace(gather("1x8", "8", "8x8"), "tt.return // scatter", `tt.descriptor_scatter %row[%at, %y], %0 : !tt.tensordesc<tensor<1x8xf32>>, tensor<8xi32>, i32, tensor<8x8xf32>
    tt.return`, 1), ""},
	{strings.Replace(gather("1x8", "8", "8x8"), "tt.return // scatter", `tt.descriptor_scatter %row[%at, %y], %small : !tt.tensordesc<tensor<1x8xf32>>, tensor<8xi32>, i32, tensor<4x8xf32>
    tt.return`, 1), "there must be at least 8 rows, but there are 4"},
	{`cf.br ^bb1(%i : i32)
  ^bb1:`, "'cf.br' op branch has 1 operand for successor #0, but target block has 0"},
	{`cf.br ^bb1(%i : i32)
  ^bb1(%a: i64):`, "'cf.br' op type mismatch for bb argument #0 of successor #0"},
	{`cf.cond_br %c, ^bb1, ^bb1(%i : i32)
  ^bb1:`, "'cf.cond_br' op branch has 1 operand for successor #1, but target block has 0"},
	{`"cf.cond_br"(%i)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()
  ^bb1:`, "'cf.cond_br' op operand #0 must be 1-bit signless integer, but got i32"},

	// arith
	{`"arith.extsi"(%l) : (i64) -> i32`, "result type must be wider than operand type"},
	{`"arith.trunci"(%i) : (i32) -> i64`, "result type must be shorter than operand type"},
	{`"arith.bitcast"(%i) : (i32) -> f16`, "operand and result must have the same bit width"},
	{`"arith.constant"() <{value = 1 : i32}> : () -> i64`, "value's type and the result type must be the same"},
	{`"arith.select"(%c, %i, %l) : (i1, i32, i64) -> i32`, "requires the same type for both values and the result"},
	{`"arith.select"(%m, %w, %w) : (tensor<4xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>`, "expected condition type to have the same shape and encoding as the result type"},
	{`"arith.select"(%i, %i, %i) : (i32, i32, i32) -> i32`, "operand #0 must be bool-like, but got i32"},

	// tt: memory
	{`"tt.addptr"(%p, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<i32>`, "result type must be the type of the pointer"},
	{`%0 = tt.load %p, %m : !tt.ptr<f32>`, "mask must have the shape and encoding of the pointer"},
	{`%0 = tt.load %ps, %me : tensor<4x!tt.ptr<f32>>`, "mask must have the shape and encoding of the pointer"},
	{`%0 = tt.load %p, %c, %i : !tt.ptr<f32>`, "other must have the type of what the pointer points to"},
	{`"tt.load"(%p, %x) <{operandSegmentSizes = array<i32: 1, 0, 1>}> : (!tt.ptr<f32>, f32) -> f32`, "other needs a mask"},
	{`"tt.load"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<f32>) -> i32`, "result must have the type of what the pointer points to"},
	{`%0 = tt.load %p {boundaryCheck = array<i32: 0>} : !tt.ptr<f32>`, "boundaryCheck is allowed with a block pointer only"},
	{`%0 = tt.load %bp, %c : !tt.ptr<tensor<4x8xf32>>`, "mask and other are not allowed with a block pointer"},
	{`tt.store %p, %i : !tt.ptr<f32>`, "value must have the type of what the pointer points to"},
	{`tt.store %ps, %v, %m8 : tensor<4x!tt.ptr<f32>>`, "mask must have the shape and encoding of the pointer"},
	{"tt.store %bp, %bp : !tt.ptr<tensor<4x8xf32>>", "value must have the type of what the pointer points to"},
	{`%z = "tt.load"(%bp) <{boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> : (!tt.ptr<tensor<4x8xf32>>) -> tensor<8x4xf32>`, "result must have the type of what the pointer points to"},
	{"%z = ttg.local_alloc : () -> !ttg.memdesc<8x8xf32, #ttg.padded_shared<[32:+4] {order = [1, 0], shape = [8, 8]}>, #ttg.shared_memory, mutable, 8>", "rank must be equal to or one less than the shape size. Got 2 and 1"},
	{`tt.store %bp, %t, %c : !tt.ptr<tensor<4x8xf32>>`, "mask is not allowed with a block pointer"},
	{`%0 = tt.atomic_rmw fadd, relaxed, gpu, %p, %i : (!tt.ptr<f32>, i32) -> i32`, "failed to verify that ptr type matches value type"},
	{`%0 = tt.atomic_rmw fadd, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f32) -> i32`, "result must have the type of what the pointer points to"},
	{`%0 = tt.atomic_cas relaxed, gpu, %q, %i, %x : (!tt.ptr<i32>, i32, f32) -> i32`, "failed to verify that ptr type matches value type"},

	// tt: shape and arithmetic
	{`%0 = tt.bitcast %x : f32 -> i64`, "Cannot bitcast data-type of size 32 to data-type of size 64"},
	{`%0 = tt.bitcast %l : i64 -> !tt.ptr<i32>`, "Cannot bitcast pointer to non-pointer type"},
	{`%0 = tt.fp_to_fp %x : f32 -> f16`, "Rounding mode is required for FP downcast"},
	{`%0 = tt.splat %v : tensor<4xf32> -> tensor<4xf32>`, "source must be a scalar, but has 1 dimension"},
	{`%0 = tt.splat %i : i32 -> tensor<4xf32>`, "source and result must have the same element type"},
	{`%0 = tt.unsplat %v : tensor<4xf32>`, "source tensor must have exactly one element"},
	{`%0 = tt.expand_dims %v {axis = 2 : i32} : tensor<4xf32> -> tensor<4x1xf32>`, "axis 2 is outside 0 to 1"},
	{`%0 = tt.expand_dims %v {axis = 0 : i32} : tensor<4xf32> -> tensor<4x1xf32>`, "result must have the source's shape with a 1 at axis 0"},
	{`%0 = tt.expand_dims %ve {axis = 1 : i32} : tensor<4xf32, #b> -> tensor<1x4xf32, #b>`, "Layout has rank 1 (blocked), but the tensor it's attached to has rank 2"},
	{`%0 = tt.expand_dims %ve {axis = 1 : i32} : tensor<4xf32, #b> -> tensor<4x1xf32, #b2d>`, "source encoding must be the slice of the result's along axis 1"},
	{`%0 = tt.broadcast %v : tensor<4xf32> -> tensor<4x8xf32>`, "rank of source must be same as rank of result"},
	{`%0 = tt.broadcast %v : tensor<4xf32> -> tensor<8xf32>`, "Different dimensions at index 0 between source and result.  Broadcast requires the source dimension to be 1."},
	{`%0 = tt.trans %t {order = array<i32: 0, 0>} : tensor<4x8xf32> -> tensor<4x8xf32>`, "order must be a permutation of 0..n-1"},
	{`%0 = tt.trans %t {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<8xf32>`, "rank of source must be same as rank of result"},
	{`%0 = tt.trans %t {order = array<i32: 1, 0>} : tensor<4x8xf32> -> tensor<4x8xf32>`, "result dimension 0 must be source dimension 1"},
	{`%0 = tt.reshape %t : tensor<4x8xf32> -> tensor<16xf32>`, "number of src and dst elements of reshape must be the same"},
	{`%0 = tt.join %v, %v : tensor<4xf32> -> tensor<8xf32>`, "result shape must be (4, 2), but got 8"},
	{`%0, %1 = tt.split %t : tensor<4x8xf32> -> tensor<4xf32>`, "inferred type is incompatible with the result's: halves tensor<4xf32> of tensor<4x8xf32>; op failed to infer returned types"},
	{`"tt.split"(%t) : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<8xf32>)`, "both results must have the same type"},
	{`%0 = tt.make_range {start = 4 : i32, end = 4 : i32} : tensor<4xi32>`, "start must be less than end"},
	{`%0 = tt.make_range {start = 4 : i32, end = 4 : i32} : tensor<0xi32>`, "start must be less than end"},
	{`%0 = tt.make_range {start = 0 : i32, end = 3 : i32} : tensor<3xi32>`, "number of elements must be power-of-two, but a dimension is 3"},
	{`%0 = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<4xi64>`, "returned tensor must have i32 elements"},
	{`%0 = tt.elementwise_inline_asm "" {constraints = "=r", packed_element = 0 : i32, pure = true} -> i32`, "packed_element must be positive, not 0"},
	{"%eight = tt.make_range {start = 0 : i32, end = 8 : i32} : tensor<8xi32>\n" + `%0 = tt.elementwise_inline_asm "" {constraints = "=r,r", packed_element = 3 : i32, pure = true} %eight : tensor<8xi32> -> tensor<8xi32>`, "number of input elements 8 must be a multiple of the op's packed_element attribute, 3"},
	{`%0 = tt.make_range {start = 0 : i32, end = 4 : i32} : tensor<8xi32>`, "number of elements in result 8 must equal end - start, 4"},
	{`%0 = tt.dot %t, %tt, %t : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xf32>`, "accumulator and result must have the same type"},
	{`%0 = tt.dot %v, %tt, %t : tensor<4xf32> * tensor<8x4xf32> -> tensor<4x8xf32>`, "operands and result must all have rank 2 or all rank 3"},
	{`%0 = tt.dot %t, %t, %t : tensor<4x8xf32> * tensor<4x8xf32> -> tensor<4x8xf32>`, "expected the last dimension of the first operand to be equal to the second-to-last dimension of the second operand"},

	{"%0 = tt.splat %l : i64 -> tensor<8x4xi64>\n" + `%1 = tt.dot %t, %0, %t : tensor<4x8xf32> * tensor<8x4xi64> -> tensor<4x8xf32>`, "element types of operands A and B must have same bit width"},
	{"%0 = tt.splat %i : i32 -> tensor<4x4xi32>\n" + `%1 = tt.dot %t, %tt, %0 : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xi32>`, "operands and result must all be integers or all floats"},
	{"%0 = tt.splat %x : f32 -> tensor<4x4xf32>\n" + `%1 = tt.dot_scaled %t, %tt, %0 lhs = bf16 rhs = bf16 {fastMath = false} : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xf32>`, "operand a has no elements of the format that it is said to have"},
	{"%0 = tt.splat %x : f32 -> tensor<4x4xf32>\n%2 = tt.splat %h : f16 -> tensor<4x4xf16>\n" + `%1 = tt.dot_scaled %2, %2, %t lhs = fp16 rhs = fp16 {fastMath = false} : tensor<4x4xf16> * tensor<4x4xf16> -> tensor<4x8xf32>`, "shapes do not fit: expected [M, K] * [K, N] -> [M, N]"},
	{`%0 = tt.cat %v, %v : tensor<4xf32> -> tensor<4xf32>`, "result must have twice the elements of an operand, 8, not 4"},
	{`%0 = tt.histogram %v : tensor<4xf32> -> tensor<8xi32>`, "source must have integer elements"},
	{`%0 = tt.histogram %n, %m8 : tensor<4xi32> -> tensor<8xi32>`, "mask must have elements of i1 and the source's shape and encoding"},
	{`%0 = tt.gather %v[%v] {axis = 0 : i32} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>`, "indices must be integers"},
	{`%0 = tt.gather %v[%n] {axis = 1 : i32} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>`, "gather dimension must be less than the input rank"},
	{`%0 = tt.gather %v[%n] {axis = 0 : i32} : (tensor<4xf32>, tensor<4xi32>) -> tensor<8xf32>`, "indices and output shapes must match"},
	{`%0 = tt.gather %v[%n] {axis = 0 : i32} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf16>`, "input and output element types must match"},
	{`%0 = tt.gather %t[%n] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>`, "input and indices ranks must match"},
	{"%0 = tt.splat %i : i32 -> tensor<4x4xi32>\n" + `%1 = tt.gather %t[%0] {axis = 0 : i32} : (tensor<4x8xf32>, tensor<4x4xi32>) -> tensor<4x4xf32>`, "indices dimension 1 must match the corresponding input dimension"},
	{`tt.print "x" {hex = false, isSigned = array<i32>} : %i : i32`, "isSigned must have a value for each operand"},

	{`%0 = tt.call @none(%i) : (i32) -> i32`, "'none' does not reference a valid function"},
	{`%0 = tt.call @callee(%i, %i) : (i32, i32) -> i32`, "incorrect number of operands for callee: 2, not 1"},
	{`tt.call @callee(%i) : (i32) -> ()`, "incorrect number of results for callee: 0, not 1"},
	{`%0 = tt.call @callee(%l) : (i64) -> i32`, "operand type mismatch: operand number 0 is not of the type of the callee's argument"},
	{`%0 = tt.call @callee(%i) : (i32) -> i64`, "result type mismatch: result number 0 is not of the type that the callee gives"},

	// tt: blocks
	{`%0 = tt.make_tensor_ptr %p, [%l], [%l, %l], [%i, %i] {order = array<i32: 1, 0>} : <tensor<4x8xf32>>`, "shape must have one value per dimension of the block, 2, not 1"},
	{`%0 = tt.make_tensor_ptr %p, [%l, %l], [%l, %l], [%i, %i] {order = array<i32: 1, 1>} : <tensor<4x8xf32>>`, "order must be a permutation of 0 to 1"},
	{`%0 = tt.advance %bp, [%i] : <tensor<4x8xf32>>`, "there must be one offset per dimension of the block, 2, not 1"},
	{`%0 = tt.advance %bp, [%i, %i] : <tensor<8x8xf32>>`, "expects different type than prior uses: the pointer must have the type of the result"},
	{`%0 = tt.load %bp {boundaryCheck = array<i32: 2>} : !tt.ptr<tensor<4x8xf32>>`, "boundaryCheck 2 is not a dimension of a block of 2"},
	{`tt.store %bp, %t {boundaryCheck = array<i32: 0, 3>} : !tt.ptr<tensor<4x8xf32>>`, "boundaryCheck 3 is not a dimension of a block of 2"},
	{`%0 = tt.make_tensor_descriptor %p, [%i], [%l, %l] : <f32>, <tensor<4x8xf32>>`, "shape and strides must have one value per dimension of the block, 2, not 1 and 2"},
	{`%0 = tt.descriptor_load %d[%i] : !tt.tensordesc<tensor<4x8xf32>> -> tensor<4x8xf32>`, ""},
	{`tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<4x8xf32>>, tensor<4xf32>`, "ranked reduce load only allowed for unit dimension leading dim"},

	// tt: regions
	{`"tt.reduce"() <{axis = 0 : i32}> ({
      tt.reduce.return %x : f32
    }) : () -> ()`, "must have the same number of inputs as outputs, at least one"},
	{reduce("axis = 1 : i32", "tensor<4xf32>", "f32", "%a: f32, %b: f32", "%a : f32"), "axis 1 is outside the operand's 1 dimension"},
	{reduce("axis = 0 : i32", "tensor<4xf32>", "i32", "%a: f32, %b: f32", "%a : f32"), "result #0 must be operand #0 without dimension 0"},
	{reduce("axis = 0 : i32", "tensor<4xf32>", "f32", "%a: f32", "%a : f32"), "combine region must take 2 arguments, but has 1"},
	{reduce("axis = 0 : i32", "tensor<4xf32>", "f32", "%a: f32, %b: i32", "%a : f32"), "argument #1 of the combine region must have the element type of operand #0"},
	{reduce("axis = 0 : i32", "tensor<4xf32>", "f32", "%a: f32, %b: f32", "%a, %b : f32, f32"), "combine region must return 1 value, but returns 2"},
	{reduce("axis = 0 : i32", "tensor<4xf32>", "f32", "%a: f32, %b: f32", "%i : i32"), "value #0 returned by the combine region must have the element type of operand #0"},
	{`"tt.reduce"(%v, %w) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32, %e: f32, %g: f32):
      tt.reduce.return %a, %b : f32, f32
    }) : (tensor<4xf32>, tensor<8xf32>) -> (f32, f32)`, "requires the same shape for all operands"},
	{`"tt.reduce"(%v) <{axis = 0 : i32}> ({
    }) : (tensor<4xf32>) -> f32`, "must have a combine region"},
	{`"tt.scan"(%v) <{axis = 0 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      tt.scan.return %a : f32
    }) : (tensor<4xf32>) -> tensor<8xf32>`, "requires the same shape for all operands and results"},
	{`"tt.scan"(%v) <{axis = 3 : i32, reverse = false}> ({
    ^bb0(%a: f32, %b: f32):
      tt.scan.return %a : f32
    }) : (tensor<4xf32>) -> tensor<4xf32>`, "axis 3 is outside the operand's 1 dimension"},

	// tt: functions
	{`module { tt.func @f(%i: i32) { tt.return %i : i32 } }`, "has 1 operand, but enclosing function (@f) returns 0"},
	{`module { tt.func @f() -> f32 { %0 = arith.constant 1 : i32 tt.return %0 : i32 } }`, "operand #0 must have the type of the function's result"},
	{`module { "tt.func"() <{sym_name = "f", function_type = i32}> ({}) : () -> () }`, "function_type must be a function type"},
	{`module { "tt.func"() <{sym_name = "f", function_type = (i32) -> ()}> ({ tt.return }) : () -> () }`, "entry block must have 1 argument, but has 0"},
	{`module { "tt.func"() <{sym_name = "f", function_type = (i32) -> ()}> ({
^bb0(%a: f32): tt.return }) : () -> () }`, "entry block argument #0 must have the type of the function's argument"},

	// ttg
	{`%0 = "ttg.convert_layout"(%ve) : (tensor<4xf32, #b>) -> tensor<4xi32, #b2>`, "source and result must have the same element type"},
	{`%0 = "ttg.local_load"(%v) : (tensor<4xf32>) -> tensor<4xf32>`, "operand #0 must be memory descriptor"},
	{`%0 = ttg.local_load %s : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> tensor<8xf32, #b>`, "source shape [4] must match destination shape [8]"},
	{`%0 = ttg.local_load %s : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> tensor<4xf16, #b>`, "source and destination must have the same element type"},
	{`ttg.local_store %w, %s : tensor<8xf32> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`, "source shape [8] must match destination shape [4]"},
	{"%0 = ttg.local_alloc %v : (tensor<4xf32>) -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory>\n" +
		`ttg.local_store %v, %0 : tensor<4xf32> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory>`, "cannot store into immutable memory"},
	{`%0 = ttg.local_alloc %v : (tensor<4xf32>) -> !ttg.memdesc<4xi32, #sh, #ttg.shared_memory>`, "source and destination must have the same element type"},
	{`%0 = ttg.local_alloc : () -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory>`, "uninitialized alloc must have a mutable memdesc type"},
	{`%0 = ttg.local_alloc : () -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable, 8>`, "result shape and its alloc shape must match"},
	{`%0 = ttg.local_alloc {alignment = 12 : i32} : () -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`, "alignment must be a power of two, not 12"},
	{`%0 = ttg.memdesc_index %s[%i] : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`, "result rank must be one less than the source's, 0, not 1"},
	{`%0 = ttg.memdesc_subslice %s[3] : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<2xf32, #sh, #ttg.shared_memory, mutable, 4>`, "dimension 0: 2 elements from 3 on are not part of 4"},
	{`%0 = ttg.memdesc_subslice %s[4] : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<2xf32, #sh, #ttg.shared_memory, mutable, 4>`, "dimension 0: 2 elements from 4 on are not part of 4"},
	{`%0 = ttg.memdesc_subslice %s[0, 0] : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<2xf32, #sh, #ttg.shared_memory, mutable, 4>`, "source, offsets and result must have the same rank"},
	{`%0 = ttg.memdesc_trans %s {order = array<i32: 1>} : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`, "order must be a permutation of 0 to 0"},
	{`%0 = ttg.memdesc_reshape %s : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<8xf32, #sh, #ttg.shared_memory, mutable>`, "must have the same number of elements"},
	{`%0 = ttg.memdesc_reinterpret %s : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<8xf16, #sh, #ttg.shared_memory>`, "source and result must both be mutable or neither"},
	{`%0 = ttg.memdesc_reinterpret %s : !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<16xf16, #sh, #ttg.shared_memory, mutable>`, "result has 32 bytes, the source only 16"},
	{"%0 = ttg.local_alloc %v : (tensor<4xf32>) -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory>\n" +
		`%1 = ttg.async_copy_global_to_local %ps, %0 : tensor<4x!tt.ptr<f32>> -> <4xf32, #sh, #ttg.shared_memory>`, "cannot store into immutable memory"},
	{"%0 = tt.splat %q : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>\n" +
		`%1 = ttg.async_copy_global_to_local %0, %s : tensor<4x!tt.ptr<i32>> -> <4xf32, #sh, #ttg.shared_memory, mutable>`, "source must point to elements of the destination's type"},
	{`%1 = ttg.async_copy_global_to_local %ps, %s mask %v : tensor<4x!tt.ptr<f32>> -> <4xf32, #sh, #ttg.shared_memory, mutable>`, "expects different type than prior uses: mask must have elements of type i1"},
	{`%1 = ttg.async_copy_global_to_local %ps, %s mask %m8 : tensor<4x!tt.ptr<f32>> -> <4xf32, #sh, #ttg.shared_memory, mutable>`, "mask must have the source's shape and layout"},
	{`%0 = ttg.async_wait {num = -2 : i32}`, "num must not be negative, but for -1"},
	{`%0 = ttg.fp4_to_fp %t {axis = 1 : i32} : tensor<4x8xf32> -> tensor<4x16xf16>`, "source must have elements of i8"},
	{`%0 = ttg.fp4_to_fp %t {axis = 2 : i32} : tensor<4x8xf32> -> tensor<4x16xf16>`, "axis 2 is not a dimension of both source and result"},
	{`%0 = ttg.fp4_to_fp %t {axis = 0 : i32} : tensor<4x8xf32> -> tensor<4x16xf16>`, "result shape [4 16] must be the source's [4 8] with axis 0 doubled"},
	{`%0 = ttg.global_scratch_alloc {alignment = 3 : i32, nbytes = 4 : i32} : !tt.ptr<i8>`, "alignment must be a power of two, not 4 and 3"},
	{`%0 = "ttg.async_wait"(%i) <{num = 0 : i32}> : (i32) -> !ttg.async.token`, "operand #0 must be async token"},

	// kinds of atomics and what they are on
	{`%0 = tt.atomic_rmw fadd, relaxed, gpu, %q, %i : (!tt.ptr<i32>, i32) -> i32`, "fadd adds floats, not integers"},

	// an index that is known
	{buffers + "%at = arith.constant 2 : i32\n" + `%0 = ttg.memdesc_index %two[%at] : !ttg.memdesc<2x4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`, "index 2 is outside 0 to 1"},
	{buffers + "%at = arith.constant -1 : i32\n" + `%0 = ttg.memdesc_index %two[%at] : !ttg.memdesc<2x4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`, "index -1 is outside 0 to 1"},

	// partitions
	{groups("(%i)", "", "partition0() num_warps(1) {ttg.warp_return} : (i32)"), "partition region #0 has 0 arguments but expected 1"},
	{groups("(%i)", "", "partition0(%a: i64) num_warps(1) {ttg.warp_return} : (i32)"), "partition region #0 argument #0 has type 'i64' but corresponding capture has type 'i32'"},
	{groups("()", "", "partition0() num_warps(3) {ttg.warp_return} : ()"), "partition #0 number of warps (3) must be a power of 2"},
	{groups("()", "", "partition0() num_warps(1) {ttg.warp_yield} : ()"), "a region ends in ttg.warp_yield, and should in ttg.warp_return"},
	{groups("()", "attributes {requestedRegisters = array<i32: 24, 32>}", "partition0() num_warps(1) {ttg.warp_return} : ()"), "requestedRegisters has 2 numbers, and needs 1"},
	{groups("()", "attributes {actualRegisters = array<i32: 24>}", "partition0() num_warps(1) {ttg.warp_return} : ()"), "actualRegisters has 1 number, and needs 2"},
	{groups("()", "attributes {warpGroupStartIds = array<i32: 4, 5>}", "partition0() num_warps(1) {ttg.warp_return} : ()"), "has 2 warp group start IDs but expected 1"},
	{strings.Replace(groups("()", "", ": ()"), "ttg.warp_yield", "ttg.warp_yield %i : i32", 1), "has 1 operands but parent op expected 0"},
	{"ttg.warp_specialize()\ndefault {\nttg.warp_return\n}\n: () -> ()", "a region ends in ttg.warp_return, and should in ttg.warp_yield"},
	{groups("()", "attributes {requestedRegisters = array<i32: 24>}", "partition0() num_warps(8) {ttg.warp_return} : ()"), ""},

	// layouts and the module that they are in
	{laidOut(4, 32, 1, blocked(1, 32, 8)), "Layout has 8 warps per CTA, but the context requires 4 warps per CTA (blocked, ttg.num-warps)"},
	{laidOut(4, 32, 1, blocked(1, 16, 4)), "Layout has 16 threads per warp, but the module specifies 32 threads per warp (blocked, ttg.threads-per-warp)"},
	{laidOut(4, 32, 2, blocked(1, 32, 4)), "Layout has 1 CTAs per CGA, but the context requires 2 CTAs per CGA (blocked, ttg.num-ctas)"},
	{laidOut(4, 32, 1, "#ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [1, 2], order = [1, 0]}>}>"), "Layout has 2 warps per CTA, but the context requires 4 warps per CTA"},
	{laidOut(2, 32, 1, "#ttg.linear<{register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]], block = []}>"), "Layout has 4 warps per CTA, but the context requires 2 warps per CTA"},
	{laidOut(4, 32, 1, "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"), "Layout has rank 2 (nvidia_mma), but the tensor it's attached to has rank 1"},
	{laidOut(4, 64, 1, "#ttg.slice<{dim = 0, parent = #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>}>"), "Layout has 32 threads per warp, but the module specifies 64 threads per warp"},
	{`%0 = tt.dot %da, %da, %acc : tensor<16x16xf32, #dotA> * tensor<16x16xf32, #dotA> -> tensor<16x16xf32, #b2d>`, "operand B must have the layout of operand 1 of a dot"},

	// a declared dialect
	{`"ttng.init_barrier"(%i) <{count = 1 : i32}> : (i32) -> ()`, "operand #0 must be memory descriptor"},
	{`"ttng.init_barrier"(%s) : (!ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>) -> ()`, "requires attribute 'count'"},
}

// groups is a ttg.warp_specialize with the captures, attributes and partitions.
func groups(captures, attrs, parts string) string {
	return "ttg.warp_specialize" + captures + " " + attrs + "\ndefault {\nttg.warp_yield\n}\n" + parts + " -> ()"
}

// reduce is a tt.reduce of one operand.
func reduce(attrs, in, out, args, ret string) string {
	return `%r = "tt.reduce"(%v) <{` + attrs + `}> ({
    ^bb0(` + args + `):
      tt.reduce.return ` + ret + `
    }) : (` + in + `) -> ` + out
}

func TestVerifier(t *testing.T) {
	if f := mustParse(t, wrap("")); f.Verify() != nil {
		t.Fatal(f.Verify())
	}
	for _, c := range verifierCases {
		src := wrap(c.body)
		f, err := text.ParseFile(newContext(), "x.mlir", []byte(src))
		if err == nil {
			err = f.Verify()
		}
		switch {
		case c.want == "":
			if err != nil {
				t.Errorf("%s\n  is refused: %v", c.body, err)
			}
		case err == nil:
			t.Errorf("%s\n  is accepted, want %s", c.body, c.want)
		case !strings.Contains(err.Error(), c.want):
			t.Errorf("%s\n  got  %v\n  want %s", c.body, err, c.want)
		}
	}
}

// TestVerifierAccepts: what the rules above must leave alone.
func TestVerifierAccepts(t *testing.T) {
	partition := `module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @k() {
    ttg.warp_specialize()
    default {
      %0 = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, ` + blocked(1, 32, 4) + `>
      ttg.warp_yield
    }
    partition0() num_warps(2) {
      %0 = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, ` + strings.Replace(blocked(1, 32, 2), "CTA = [2]", "CTA = [WARPS]", 1) + `>
      ttg.warp_return
    } : () -> ()
    tt.return
  }
}
`
	for _, c := range []struct{ name, src, want string }{
		{"a layout for the module", laidOut(4, 32, 1, blocked(2, 32, 4)), ""},
		{"64 lanes", laidOut(4, 64, 1, blocked(2, 64, 4)), ""},
		{"a partition's own warps", strings.Replace(partition, "WARPS", "2", 1), ""},
		{"a partition with the module's warps", strings.Replace(partition, "WARPS", "4", 1), "Layout has 4 warps per CTA, but the context requires 2 warps per CTA"},
		{"the last part", wrap(buffers + "%at = arith.constant 1 : i32\n" + `%0 = ttg.memdesc_index %two[%at] : !ttg.memdesc<2x4xf32, #sh, #ttg.shared_memory, mutable> -> !ttg.memdesc<4xf32, #sh, #ttg.shared_memory, mutable>`), ""},
		{"an exchange of floats", wrap(`%0 = tt.atomic_rmw exch, relaxed, gpu, %p, %x : (!tt.ptr<f32>, f32) -> f32`), ""},
	} {
		err := mustParse(t, c.src).Verify()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// The place of a verifier's error is that of the operation in the text.
func TestVerifierPlace(t *testing.T) {
	f := mustParse(t, "module {\n  tt.func @f(%i: i64) {\n    %0 = arith.constant 1 : i32\n      %1 = arith.extsi %i : i64 to i32\n    tt.return\n  }\n}\n")
	err := f.Verify()
	if err == nil || !strings.HasPrefix(err.Error(), "test.mlir:4:12: error: 'arith.extsi' op result type must be wider") {
		t.Errorf("got %v", err)
	}
}
