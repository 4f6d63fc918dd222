// RUN: triton-opt %s -split-input-file --convert-triton-gpu-to-llvm=compute-capability=90

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [2, 1], order = [1, 0]}>
#columns = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [4, 8], warpsPerCTA = [1, 2], order = [0, 1]}>
#shared = #ttg.swizzled_shared<{vec = 4, perPhase = 1, maxPhase = 4, order = [1, 0]}>
#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>
#row = #ttg.swizzled_shared<{vec = 2, perPhase = 1, maxPhase = 8, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 2 : i32} {
  // outcome: ran clean
  tt.func @converts(%x: tensor<16x32xf32, #blocked>) -> tensor<16x32xf32, #columns> {
    %y = ttg.convert_layout %x : tensor<16x32xf32, #blocked> -> tensor<16x32xf32, #columns>
    tt.return %y : tensor<16x32xf32, #columns>
  }
  // outcome: ran clean
  tt.func private @reads_a_buffer(%x: !ttg.memdesc<16x32xf32, #shared, #smem>) {
    %y = ttg.local_load %x : !ttg.memdesc<16x32xf32, #shared, #smem> -> tensor<16x32xf32, #columns>
    tt.return
  }
  // outcome: ran clean
  tt.func @reads_a_part_of_an_array(%x: !ttg.memdesc<16x16xf32, #shared, #smem, mutable, 3x16x32>) {
    %y = ttg.local_load %x : !ttg.memdesc<16x16xf32, #shared, #smem, mutable, 3x16x32> -> tensor<16x16xf32, #columns>
    tt.return
  }
  // outcome: ran clean
  tt.func @row_of_an_array(%x: tensor<64xi16, #line>) -> tensor<64xi16, #line> {
    %c1 = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %a = ttg.local_alloc : () -> !ttg.memdesc<2x64xi16, #shared, #smem, mutable>
    %one = ttg.memdesc_index %a[%c1] : !ttg.memdesc<2x64xi16, #shared, #smem, mutable> -> !ttg.memdesc<64xi16, #row, #smem, mutable>
    %zero = ttg.memdesc_index %a[%c0] : !ttg.memdesc<2x64xi16, #shared, #smem, mutable> -> !ttg.memdesc<64xi16, #row, #smem, mutable>
    ttg.local_store %x, %one : tensor<64xi16, #line> -> !ttg.memdesc<64xi16, #row, #smem, mutable>
    %none = arith.constant dense<0> : tensor<64xi16, #line>
    ttg.local_store %none, %zero : tensor<64xi16, #line> -> !ttg.memdesc<64xi16, #row, #smem, mutable>
    %y = ttg.local_load %one : !ttg.memdesc<64xi16, #row, #smem, mutable> -> tensor<64xi16, #line>
    tt.return %y : tensor<64xi16, #line>
  }
  // outcome: ran clean
  tt.func @hints_of_the_other_direction(%p: tensor<16x32x!tt.ptr<i32>, #blocked>) {
    %v = tt.load %p cacheModifier = wt : tensor<16x32x!tt.ptr<i32>, #blocked>
    tt.store %p, %v evictionPolicy = evict_last cacheModifier = ca : tensor<16x32x!tt.ptr<i32>, #blocked>
    tt.return
  }
  // outcome: ran clean
  tt.func @booleans(%p: tensor<16x32x!tt.ptr<i32>, #blocked>, %m: tensor<16x32xi1, #blocked>) -> tensor<16x32xi1, #blocked> {
    %v = tt.load %p, %m : tensor<16x32x!tt.ptr<i32>, #blocked>
    tt.return %m : tensor<16x32xi1, #blocked>
  }
  // outcome: ran clean
  tt.func @calls(%a: i32 {tt.divisibility = 16 : i32}, %b: i1, %unused: !llvm.ptr<8>) {
    %s = tt.call @callee(%a) : (i32) -> i32
    tt.return
  }
  // outcome: ran clean
  tt.func private @callee(%a: i32) -> i32 {
    tt.return %a : i32
  }
  // outcome: reported by the simulator
  tt.func @nobody_wrote_it() -> tensor<16x32xf32, #columns> {
    %x = ttg.local_alloc : () -> !ttg.memdesc<16x32xf32, #shared, #smem, mutable>
    %y = ttg.local_load %x : !ttg.memdesc<16x32xf32, #shared, #smem, mutable> -> tensor<16x32xf32, #columns>
    tt.return %y : tensor<16x32xf32, #columns>
  }
  // outcome: not a kernel
  tt.func @block_pointer(%p: !tt.ptr<tensor<16x32xf32>>) {
    %c = arith.constant 1 : i32
    %q = tt.advance %p, [%c, %c] : <tensor<16x32xf32>>
    tt.return
  }
}

// -----

#line = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
#barrier = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#mma = #ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 16, 16]}>
#a = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#b = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  // outcome: ran clean
  tt.func @barrier(%x: !ttg.memdesc<1xi64, #barrier, #smem>, %phase: i32) {
    ttng.arrive_barrier %x, 2 : !ttg.memdesc<1xi64, #barrier, #smem>
    ttng.wait_barrier %x, %phase : !ttg.memdesc<1xi64, #barrier, #smem>
    tt.return
  }
  // outcome: ran clean
  tt.func @copies_that_arrive(%p: tensor<128x!tt.ptr<i32>, #line>) -> tensor<128xi32, #line> {
    %c0 = arith.constant 0 : i32
    %b = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #barrier, #smem, mutable>
    ttng.init_barrier %b, 128 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
    %m = ttg.local_alloc : () -> !ttg.memdesc<128xi32, #barrier, #smem, mutable>
    %t = ttg.async_copy_global_to_local %p, %m : tensor<128x!tt.ptr<i32>, #line> -> !ttg.memdesc<128xi32, #barrier, #smem, mutable>
    ttng.async_copy_mbarrier_arrive %b : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
    ttng.async_copy_mbarrier_arrive %b noIncrement : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
    ttng.wait_barrier %b, %c0 : !ttg.memdesc<1xi64, #barrier, #smem, mutable>
    %x = ttg.local_load %m : !ttg.memdesc<128xi32, #barrier, #smem, mutable> -> tensor<128xi32, #line>
    tt.return %x : tensor<128xi32, #line>
  }
  // outcome: ran clean
  tt.func @dot(%a: !ttg.memdesc<64x64xf16, #a, #smem>, %b: !ttg.memdesc<64x16xf16, #b, #smem>, %c: tensor<64x16xf32, #mma>) {
    %d = ttng.warp_group_dot %a, %b, %c {isAsync = true} : !ttg.memdesc<64x64xf16, #a, #smem> * !ttg.memdesc<64x16xf16, #b, #smem> -> tensor<64x16xf32, #mma>
    tt.return
  }
  // outcome: ran clean
  tt.func @waits_for_few(%a: !ttg.memdesc<64x64xf16, #a, #smem>, %b: !ttg.memdesc<64x16xf16, #b, #smem>, %c: tensor<64x16xf32, #mma>) -> tensor<64x16xf32, #mma> {
    %d = ttng.warp_group_dot %a, %b, %c {isAsync = true} : !ttg.memdesc<64x64xf16, #a, #smem> * !ttg.memdesc<64x16xf16, #b, #smem> -> tensor<64x16xf32, #mma>
    %e = ttng.warp_group_dot_wait %d {pendings = 42 : i32} : tensor<64x16xf32, #mma>
    %f = ttng.warp_group_dot_wait %e {pendings = 0 : i32} : tensor<64x16xf32, #mma>
    tt.return %f : tensor<64x16xf32, #mma>
  }
  // outcome: ran clean
  tt.func @copy(%d: !tt.tensordesc<tensor<64x64xf16, #a>>, %m: !ttg.memdesc<64x64xf16, #a, #smem>, %x: i32) {
    ttng.async_tma_copy_local_to_global %d[%x, %x] %m : !tt.tensordesc<tensor<64x64xf16, #a>>, !ttg.memdesc<64x64xf16, #a, #smem>
    tt.return
  }
}

// -----

module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942"} {
  // outcome: not a kernel
  tt.func @of_another_vendor() {
    tt.return
  }
}

// -----

#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [16], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 16 : i32} {
  // outcome: refused
  tt.func @of_other_warps(%x: tensor<64xf32, #blocked>) {
    tt.return
  }
}
