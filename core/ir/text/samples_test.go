package text_test

import (
	"strings"
	"testing"

	"github.com/tritonc/tritonc/core/ir/text"
)

// samples are forms that the golden files have none of, one per line. They use
// the values of preamble, and must be printed as they are.
const samples = `
%0 = tt.int_to_ptr %l : i64 -> !tt.ptr<f32>
%0 = tt.ptr_to_int %ps : tensor<4x!tt.ptr<f32>> -> tensor<4xi64>
%0 = tt.unsplat %one : tensor<1xf32>
%0 = tt.clampf %x, %x, %x, propagateNan = all : f32
%0 = tt.load %ps, %m, %v cacheModifier = ca evictionPolicy = evict_first {isVolatile = true} : tensor<4x!tt.ptr<f32>>
tt.store %ps, %v cacheModifier = cs : tensor<4x!tt.ptr<f32>>
tt.store %bp, %t {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<4x8xf32>>
%0 = tt.atomic_rmw max, acq_rel, sys, %q, %i, %c : (!tt.ptr<i32>, i32, i1) -> i32
%0 = tt.dot %t, %tt, %acc : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xf32>
%0 = tt.dot %t, %tt, %acc, inputPrecision = tf32 {maxNumImpreciseAcc = 32 : i32} : tensor<4x8xf32> * tensor<8x4xf32> -> tensor<4x4xf32>
%0 = tt.dot_scaled %e4 scale %s1, %e5 scale %s1, %acc lhs = e4m3 rhs = e5m2 {fastMath = true, lhs_k_pack = false} : tensor<4x32xf8E4M3FN>, tensor<4x1xi8> * tensor<32x4xf8E5M2>, tensor<4x1xi8> -> tensor<4x4xf32>
%0 = tt.dot_scaled %bf, %hf, %acc lhs = bf16 rhs = fp16 {fastMath = false} : tensor<4x8xbf16> * tensor<8x4xf16> -> tensor<4x4xf32>
%0 = tt.reshape %t allow_reorder efficient_layout : tensor<4x8xf32> -> tensor<32xf32>
%0 = tt.histogram %n, %m : tensor<4xi32> -> tensor<8xi32>
%0 = tt.gather %v[%n] {axis = 0 : i32, efficient_layout} : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
%0 = tt.descriptor_load %d[%i, %i] cacheModifier = cg evictionPolicy = evict_last : !tt.tensordesc<tensor<4x8xf32>> -> tensor<4x8xf32>
tt.descriptor_reduce add, %d[%i, %i], %t : !tt.tensordesc<tensor<4x8xf32>>, tensor<4x8xf32>
%0 = tt.descriptor_gather %row[%at, %i] : (!tt.tensordesc<tensor<1x8xf32>>, tensor<8xi32>, i32) -> tensor<8x8xf32>
tt.descriptor_scatter %row[%at, %i], %rows : !tt.tensordesc<tensor<1x8xf32>>, tensor<8xi32>, i32, tensor<8x8xf32>
%0 = tt.make_tensor_descriptor %p, [%i, %i], [%l, %l] {padding = 2 : i32} : <f32>, <tensor<4x8xf32>>
%0 = tt.call @callee(%i) : (i32) -> i32
%0:2 = tt.elementwise_inline_asm "mov $0, $1;" {constraints = "=r,=r,r", packed_element = 1 : i32, pure = true} %i : i32 -> i32, i32
%0 = tt.elementwise_inline_asm "mov $0, 1;" {constraints = "=r", packed_element = 1 : i32, pure = false} -> i32
tt.print "x" {hex = false, isSigned = array<i32>}
tt.print "x" {hex = true, isSigned = array<i32: 1, 0>} : %i, %x : i32, f32
tt.assert %c, "a \22b\22" : i1
%0:2 = arith.addui_extended %i, %i : i32, i1
%0 = arith.select %m, %v, %v : tensor<4xi1>, tensor<4xf32>
%0 = arith.select %c, %v, %v : tensor<4xf32>
%c1_i8 = arith.constant {a.b} 1 : i8
%false = arith.constant {a.b = 1 : i32} false
%0 = arith.cmpf ueq, %x, %x : f32
cf.assert %c, "no"
scf.execute_region {
%0 = scf.execute_region -> i32 no_inline {
%0:2 = scf.execute_region -> (i32, i32) {
scf.for unsigned %k = %i to %i step %i  : i32 {
%0 = ttg.local_alloc {alignment = 16 : i32} : () -> !ttg.memdesc<4xf32, #shared, #smem, mutable>
%0 = ttg.memdesc_subslice %s[0] : !ttg.memdesc<4xf32, #shared, #smem, mutable> -> !ttg.memdesc<2xf32, #shared, #smem, mutable, 4>
%0 = ttg.memdesc_reinterpret %s : !ttg.memdesc<4xf32, #shared, #smem, mutable> -> !ttg.memdesc<4xi32, #shared, #smem, mutable>
%0 = ttg.predicate_stage %i, %i, %i maxStage 2 stage 1 : i32 -> i1
ttg.local_barrier
%0 = ttg.async_commit_group
%0 = ttg.async_copy_global_to_local %ps, %s : tensor<4x!tt.ptr<f32>> -> <4xf32, #shared, #smem, mutable>
ttng.fence_async_shared {bCluster = true}
ttng.cluster_arrive {relaxed = false}
ttng.cluster_wait
ttng.arrive_barrier %s, 2, %c : !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.wait_barrier %s, %i, %c deps %s, %s : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.wait_barrier %s, %i deps %s : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.async_copy_mbarrier_arrive %s noIncrement : !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.async_tma_copy_global_to_local %d[%i, %i] %s, %s, %c cacheModifier = cg : !tt.tensordesc<tensor<4x8xf32>>, !ttg.memdesc<4xf32, #shared, #smem, mutable> -> !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.async_tma_reduce add, %d[%i, %i] %s : !tt.tensordesc<tensor<4x8xf32>>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.async_tma_gather %d[%n, %i] %s, %s, %c : !tt.tensordesc<tensor<4x8xf32>>, tensor<4xi32>, i32, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, i1
ttng.async_tma_scatter %d[%n, %i] %s : !tt.tensordesc<tensor<4x8xf32>>, tensor<4xi32>, i32, !ttg.memdesc<4xf32, #shared, #smem, mutable>
%0 = ttng.warp_group_dot %t, %s, %acc, %c {isAsync = true} : tensor<4x8xf32> * !ttg.memdesc<4xf32, #shared, #smem, mutable> -> tensor<4x4xf32>
ttng.tc_gen5_mma %s, %s, %s, %c, %c : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
%0 = ttng.tc_gen5_mma %s, %s, %s[], %c, %c : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
%0 = ttng.tc_gen5_mma %s, %s, %s[%tok], %c, %c, %s[%c], %s[%c] {is_async, two_ctas} : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.tc_gen5_mma_scaled %s, %s, %s, %s, %s, %c, %c lhs = e4m3 rhs = e2m1 : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.tc_gen5_commit %s, %c : !ttg.memdesc<4xf32, #shared, #smem, mutable>
%result, %token = ttng.tmem_alloc %v : (tensor<4xf32>) -> (!ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.async.token)
%result, %token = ttng.tmem_load %s[%tok] : !ttg.memdesc<4xf32, #shared, #smem, mutable> -> tensor<4xf32>
%0 = ttng.tmem_store %v, %s[%tok], %c : tensor<4xf32> -> !ttg.memdesc<4xf32, #shared, #smem, mutable>
%0 = ttng.tmem_subslice %s {N = 2 : i32} : !ttg.memdesc<4xf32, #shared, #smem, mutable> -> !ttg.memdesc<4xf32, #shared, #smem, mutable>
ttng.tmem_copy %s, %s, %s : !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>, !ttg.memdesc<4xf32, #shared, #smem, mutable>
`

func TestSamples(t *testing.T) {
	head := strings.NewReplacer("%x: f32,", "%x: f32, %one: tensor<1xf32>, %acc: tensor<4x4xf32>, %tok: !ttg.async.token, "+
		"%row: !tt.tensordesc<tensor<1x8xf32>>, %at: tensor<8xi32>, %rows: tensor<8x8xf32>, %e4: tensor<4x32xf8E4M3FN>, %e5: tensor<32x4xf8E5M2>, %s1: tensor<4x1xi8>, %bf: tensor<4x8xbf16>, %hf: tensor<8x4xf16>, %by: tensor<4x8xi8>,", "#sh ", "#shared ", "#sh,", "#shared,").Replace(preamble)
	head = strings.Replace(head, "module {", "#smem = #ttg.shared_memory\nmodule {", 1)
	for line := range strings.Lines(strings.TrimSpace(samples)) {
		line = strings.TrimSuffix(line, "\n")
		body := line
		if strings.HasSuffix(line, "{") {
			yield := ""
			switch strings.Count(strings.TrimPrefix(line, "%0"), "i32") {
			case 1:
				if strings.Contains(line, "->") {
					yield = "scf.yield %i : i32"
				}
			case 2:
				yield = "scf.yield %i, %i : i32, i32"
			}
			if strings.HasPrefix(line, "scf.execute") {
				yield = "scf.yield"
			}
			body += "\n" + yield + "\n}"
		}
		f, err := text.ParseFile(newContext(), "x.mlir", []byte(head+body+"\ntt.return }\n}\n"))
		if err == nil {
			err = f.Verify()
		}
		if err != nil {
			t.Errorf("%s\n  %v", line, err)
			continue
		}
		if got := string(text.Append(nil, f.Op, text.Options{})); !strings.Contains(got, "\n    "+line+"\n") {
			_, after, _ := strings.Cut(got, "@f(")
			t.Errorf("want %s\ngot  %s", line, after)
		}
	}
}
