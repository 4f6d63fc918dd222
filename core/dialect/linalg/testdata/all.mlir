module {
  func.func @k(%arg0: memref<?xf32> {tt.divisibility = 16 : i32}, %arg1: i32, %arg2: memref<?xi32>) {
    %c0 = arith.constant 0 : index
    %0 = arith.index_cast %arg1 : i32 to index
    %1 = memref.reinterpret_cast %arg0 to offset: [%0], sizes: [64], strides: [1] : memref<?xf32> to memref<64xf32, strided<[1], offset: ?>>
    %2 = memref.alloc() : memref<64xf32>
    %3 = memref.subview %1[0] [%0] [1] : memref<64xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    %4 = memref.subview %2[0] [%0] [1] : memref<64xf32> to memref<?xf32, strided<[1]>>
    memref.copy %3, %4 : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1]>>
    %5 = bufferization.to_tensor %2 restrict writable : memref<64xf32> to tensor<64xf32>
    %cst = arith.constant 0.000000e+00 : f32
    linalg.fill ins(%cst : f32) outs(%2 : memref<64xf32>)
    %6 = tensor.empty() : tensor<f32>
    %7 = linalg.fill ins(%cst : f32) outs(%6 : tensor<f32>) -> tensor<f32>
    %8 = linalg.reduce ins(%5 : tensor<64xf32>) outs(%7 : tensor<f32>) dimensions = [0] (%in: f32, %init: f32) {
      %27 = arith.addf %in, %init : f32
      linalg.yield %27 : f32
    }
    %9 = tensor.extract %8[] : tensor<f32>
    %10 = tensor.empty() : tensor<64xi32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%10 : tensor<64xi32>) {
    ^bb0(%out: i32):
      %27 = linalg.index 0 : index
      %28 = arith.index_cast %27 : index to i32
      linalg.yield %28 : i32
    } -> tensor<64xi32>
    %12 = tensor.expand_shape %5 [[0, 1]] output_shape [1, 64] : tensor<64xf32> into tensor<1x64xf32>
    %13 = tensor.collapse_shape %12 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %14 = tensor.empty() : tensor<32x64xf32>
    %15 = linalg.broadcast ins(%13 : tensor<64xf32>) outs(%14 : tensor<32x64xf32>) dimensions = [0]
    %16 = tensor.empty() : tensor<64x32xf32>
    %17 = linalg.transpose ins(%15 : tensor<32x64xf32>) outs(%16 : tensor<64x32xf32>) permutation = [1, 0]
    %18 = tensor.empty() : tensor<32x32xf32>
    %19 = linalg.matmul ins(%15, %17 : tensor<32x64xf32>, tensor<64x32xf32>) outs(%18 : tensor<32x32xf32>) -> tensor<32x32xf32>
    %20 = tensor.expand_shape %19 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32>
    %21 = tensor.expand_shape %19 [[0, 1], [2]] output_shape [2, 16, 32] : tensor<32x32xf32> into tensor<2x16x32xf32>
    %22 = tensor.empty() : tensor<2x32x16xf32>
    %23 = linalg.transpose ins(%21 : tensor<2x16x32xf32>) outs(%22 : tensor<2x32x16xf32>) permutation = [0, 2, 1]
    %24 = tensor.empty() : tensor<2x16x16xf32>
    %25 = linalg.batch_matmul ins(%20, %23 : tensor<2x16x32xf32>, tensor<2x32x16xf32>) outs(%24 : tensor<2x16x16xf32>) -> tensor<2x16x16xf32>
    %extracted = tensor.extract_slice %5[0] [%0] [1] : tensor<64xf32> to tensor<?xf32>
    bufferization.materialize_in_destination %extracted in writable %3 : (tensor<?xf32>, memref<?xf32, strided<[1], offset: ?>>) -> ()
    %inserted = tensor.insert_slice %extracted into %5[0] [%0] [1] : tensor<?xf32> into tensor<64xf32>
    %one = tensor.insert %9 into %inserted[%0] : tensor<64xf32>
    %some = tensor.from_elements %9, %cst : tensor<2xf32>
    %loaded = memref.load %arg0[%c0] : memref<?xf32>
    memref.store %loaded, %arg0[%c0] : memref<?xf32>
    %old = memref.atomic_rmw addf %9, %arg0[%c0] : (f32, memref<?xf32>) -> f32
    %26 = memref.generic_atomic_rmw %arg2[%c0] : memref<?xi32> {
    ^bb0(%value: i32):
      %27 = arith.addi %value, %arg1 : i32
      memref.atomic_yield %27 : i32
    }
    func.call @f(%loaded) {event = 3 : i64} : (f32) -> ()
    func.return
  }
  func.func private @f(f32)
}
