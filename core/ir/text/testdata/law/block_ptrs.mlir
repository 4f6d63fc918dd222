// ===== 03 TritonRewriteTensorPointer (triton-rewrite-tensor-pointer) ('builtin.module' operation)
module {
  tt.func public @block_ptrs(%a_ptr: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %M: i32 {tt.divisibility = 16 : i32}, %N: i32 {tt.divisibility = 16 : i32}, %sm: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %acc = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
    %c64_i64 = arith.constant 64 : i64
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1_i64 = arith.constant 1 : i64
    %c32_i32 = arith.constant 32 : i32
    %p = tt.get_program_id x : i32
    %p_0 = arith.muli %p, %c32_i32 : i32
    %p_1 = arith.extsi %M : i32 to i64
    %p_2 = arith.extsi %N : i32 to i64
    %p_3 = arith.extsi %sm : i32 to i64
    %p_4 = tt.make_tensor_ptr %a_ptr, [%p_1, %p_2], [%p_3, %c1_i64], [%p_0, %c0_i32] {order = array<i32: 1, 0>} : <tensor<32x64xf16>>
    %acc_5:2 = scf.for %_ = %c0_i32 to %N step %c64_i32 iter_args(%p_9 = %p_4, %acc_10 = %acc) -> (!tt.ptr<tensor<32x64xf16>>, tensor<32x64xf32>)  : i32 {
      %acc_11 = tt.load %p_9 {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<32x64xf16>>
      %acc_12 = arith.extf %acc_11 : tensor<32x64xf16> to tensor<32x64xf32>
      %acc_13 = arith.addf %acc_10, %acc_12 : tensor<32x64xf32>
      %p_14 = tt.advance %p_9, [%c0_i32, %c64_i32] : <tensor<32x64xf16>>
      scf.yield %p_14, %acc_13 : !tt.ptr<tensor<32x64xf16>>, tensor<32x64xf32>
    }
    %q = tt.get_program_id x : i32
    %q_6 = arith.muli %q, %c32_i32 : i32
    %q_7 = arith.extsi %M : i32 to i64
    %q_8 = tt.make_tensor_ptr %o_ptr, [%q_7, %c64_i64], [%c64_i64, %c1_i64], [%q_6, %c0_i32] {order = array<i32: 1, 0>} : <tensor<32x64xf32>>
    tt.store %q_8, %acc_5#1 {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<32x64xf32>>
    tt.return
  }
}

// ===== 04 TritonRewriteTensorDescriptorToPointer (triton-rewrite-tensor-descriptor-to-pointer) ('builtin.module' operation)
module {
  tt.func public @block_ptrs(%a_ptr: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %o_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %M: i32 {tt.divisibility = 16 : i32}, %N: i32 {tt.divisibility = 16 : i32}, %sm: i32 {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %acc = arith.constant dense<0.000000e+00> : tensor<32x64xf32>
    %c64_i64 = arith.constant 64 : i64
    %c64_i32 = arith.constant 64 : i32
    %c0_i32 = arith.constant 0 : i32
    %c1_i64 = arith.constant 1 : i64
    %c32_i32 = arith.constant 32 : i32
    %p = tt.get_program_id x : i32
    %p_0 = arith.muli %p, %c32_i32 : i32
    %p_1 = arith.extsi %M : i32 to i64
    %p_2 = arith.extsi %N : i32 to i64
    %p_3 = arith.extsi %sm : i32 to i64
    %p_4 = arith.extsi %p_0 : i32 to i64
    %p_5 = arith.extsi %c0_i32 : i32 to i64
    %acc_6:3 = scf.for %acc_11 = %c0_i32 to %N step %c64_i32 iter_args(%p_12 = %p_4, %p_13 = %p_5, %acc_14 = %acc) -> (i64, i64, tensor<32x64xf32>)  : i32 {
      %acc_15 = tt.splat %a_ptr : !tt.ptr<f16> -> tensor<32x64x!tt.ptr<f16>>
      %acc_16 = tt.splat %p_12 : i64 -> tensor<32xi64>
      %acc_17 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
      %acc_18 = arith.extsi %acc_17 : tensor<32xi32> to tensor<32xi64>
      %acc_19 = arith.addi %acc_16, %acc_18 : tensor<32xi64>
      %acc_20 = tt.expand_dims %acc_19 {axis = 1 : i32} : tensor<32xi64> -> tensor<32x1xi64>
      %acc_21 = tt.splat %p_3 : i64 -> tensor<32x1xi64>
      %acc_22 = arith.muli %acc_20, %acc_21 : tensor<32x1xi64>
      %acc_23 = tt.broadcast %acc_22 : tensor<32x1xi64> -> tensor<32x64xi64>
      %acc_24 = tt.addptr %acc_15, %acc_23 : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi64>
      %acc_25 = tt.splat %p_13 : i64 -> tensor<64xi64>
      %acc_26 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
      %acc_27 = arith.extsi %acc_26 : tensor<64xi32> to tensor<64xi64>
      %acc_28 = arith.addi %acc_25, %acc_27 : tensor<64xi64>
      %acc_29 = tt.expand_dims %acc_28 {axis = 0 : i32} : tensor<64xi64> -> tensor<1x64xi64>
      %acc_30 = tt.splat %c1_i64 : i64 -> tensor<1x64xi64>
      %acc_31 = arith.muli %acc_29, %acc_30 : tensor<1x64xi64>
      %acc_32 = tt.broadcast %acc_31 : tensor<1x64xi64> -> tensor<32x64xi64>
      %acc_33 = tt.addptr %acc_24, %acc_32 : tensor<32x64x!tt.ptr<f16>>, tensor<32x64xi64>
      %acc_34 = arith.constant 0 : i64
      %acc_35 = tt.splat %acc_34 : i64 -> tensor<32x1xi64>
      %acc_36 = arith.cmpi sge, %acc_20, %acc_35 : tensor<32x1xi64>
      %acc_37 = tt.splat %p_1 : i64 -> tensor<32x1xi64>
      %acc_38 = arith.cmpi slt, %acc_20, %acc_37 : tensor<32x1xi64>
      %acc_39 = arith.andi %acc_36, %acc_38 : tensor<32x1xi1>
      %acc_40 = tt.broadcast %acc_39 : tensor<32x1xi1> -> tensor<32x64xi1>
      %acc_41 = arith.constant 0 : i64
      %acc_42 = tt.splat %acc_41 : i64 -> tensor<1x64xi64>
      %acc_43 = arith.cmpi sge, %acc_29, %acc_42 : tensor<1x64xi64>
      %acc_44 = tt.splat %p_2 : i64 -> tensor<1x64xi64>
      %acc_45 = arith.cmpi slt, %acc_29, %acc_44 : tensor<1x64xi64>
      %acc_46 = arith.andi %acc_43, %acc_45 : tensor<1x64xi1>
      %acc_47 = tt.broadcast %acc_46 : tensor<1x64xi1> -> tensor<32x64xi1>
      %acc_48 = arith.andi %acc_40, %acc_47 : tensor<32x64xi1>
      %acc_49 = arith.constant 0.000000e+00 : f16
      %acc_50 = tt.splat %acc_49 : f16 -> tensor<32x64xf16>
      %acc_51 = tt.load %acc_33, %acc_48, %acc_50 : tensor<32x64x!tt.ptr<f16>>
      %acc_52 = arith.extf %acc_51 : tensor<32x64xf16> to tensor<32x64xf32>
      %acc_53 = arith.addf %acc_14, %acc_52 : tensor<32x64xf32>
      %p_54 = arith.extsi %c0_i32 : i32 to i64
      %p_55 = arith.addi %p_12, %p_54 : i64
      %p_56 = arith.extsi %c64_i32 : i32 to i64
      %p_57 = arith.addi %p_13, %p_56 : i64
      scf.yield %p_55, %p_57, %acc_53 : i64, i64, tensor<32x64xf32>
    }
    %q = tt.get_program_id x : i32
    %q_7 = arith.muli %q, %c32_i32 : i32
    %q_8 = arith.extsi %M : i32 to i64
    %q_9 = arith.extsi %q_7 : i32 to i64
    %q_10 = arith.extsi %c0_i32 : i32 to i64
    %0 = tt.splat %o_ptr : !tt.ptr<f32> -> tensor<32x64x!tt.ptr<f32>>
    %1 = tt.splat %q_9 : i64 -> tensor<32xi64>
    %2 = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
    %3 = arith.extsi %2 : tensor<32xi32> to tensor<32xi64>
    %4 = arith.addi %1, %3 : tensor<32xi64>
    %5 = tt.expand_dims %4 {axis = 1 : i32} : tensor<32xi64> -> tensor<32x1xi64>
    %6 = tt.splat %c64_i64 : i64 -> tensor<32x1xi64>
    %7 = arith.muli %5, %6 : tensor<32x1xi64>
    %8 = tt.broadcast %7 : tensor<32x1xi64> -> tensor<32x64xi64>
    %9 = tt.addptr %0, %8 : tensor<32x64x!tt.ptr<f32>>, tensor<32x64xi64>
    %10 = tt.splat %q_10 : i64 -> tensor<64xi64>
    %11 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %12 = arith.extsi %11 : tensor<64xi32> to tensor<64xi64>
    %13 = arith.addi %10, %12 : tensor<64xi64>
    %14 = tt.expand_dims %13 {axis = 0 : i32} : tensor<64xi64> -> tensor<1x64xi64>
    %15 = tt.splat %c1_i64 : i64 -> tensor<1x64xi64>
    %16 = arith.muli %14, %15 : tensor<1x64xi64>
    %17 = tt.broadcast %16 : tensor<1x64xi64> -> tensor<32x64xi64>
    %18 = tt.addptr %9, %17 : tensor<32x64x!tt.ptr<f32>>, tensor<32x64xi64>
    %c0_i64 = arith.constant 0 : i64
    %19 = tt.splat %c0_i64 : i64 -> tensor<32x1xi64>
    %20 = arith.cmpi sge, %5, %19 : tensor<32x1xi64>
    %21 = tt.splat %q_8 : i64 -> tensor<32x1xi64>
    %22 = arith.cmpi slt, %5, %21 : tensor<32x1xi64>
    %23 = arith.andi %20, %22 : tensor<32x1xi1>
    %24 = tt.broadcast %23 : tensor<32x1xi1> -> tensor<32x64xi1>
    tt.store %18, %acc_6#2, %24 : tensor<32x64x!tt.ptr<f32>>
    tt.return
  }
}

