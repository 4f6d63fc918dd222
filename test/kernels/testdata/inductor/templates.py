# Kernels in the style of torch.compile's Inductor, each with the decorator that
# says for which arguments it was made. They are our own, and inductor_test.go runs
# every one of them.
import triton
import triton.language as tl

from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.triton_helpers import libdevice, math as tl_math
from torch._inductor.runtime.hints import AutotuneHint, ReductionHint, TileHint, DeviceProperties

triton_helpers.set_driver_to_gpu()


@triton.jit
def _add(a, b):
    return a + b


@triton_heuristics.cooperative_reduction(
    size_hints={'x': 4, 'r0_': 4096},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={
        'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'sem_ptr': '*u32', 'ws_ptr': '*fp32', 'xnumel': 'i32', 'r0_numel': 'i32', 'XBLOCK': 'constexpr', 'R0_BLOCK': 'constexpr', 'RSPLIT': 'constexpr'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}], 'launch_cooperative_grid': True,
    },
    inductor_meta={'kernel_name': 'triton_unk_cooperative', 'mutated_arg_names': []},
)
@triton.jit
def triton_unk_cooperative(in_ptr0, out_ptr0, sem_ptr, ws_ptr, xnumel, r0_numel, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr, RSPLIT: tl.constexpr):
    RSPLIT_NEXT_POWER_OF_2: tl.constexpr = triton_helpers.constexpr_next_power_of_2(RSPLIT)
    RSPLIT_IS_POWER_OF_2: tl.constexpr = RSPLIT == RSPLIT_NEXT_POWER_OF_2
    rsplit_id = tl.program_id(0)
    num_rblocks = (r0_numel + R0_BLOCK - 1) // R0_BLOCK
    rsplit_chunk = (num_rblocks + RSPLIT - 1) // RSPLIT * R0_BLOCK
    rsplit_start = rsplit_chunk * rsplit_id
    rsplit_end = tl.minimum(rsplit_chunk * (rsplit_id + 1), r0_numel)
    xoffset = tl.program_id(1) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_base = tl.arange(0, R0_BLOCK)[None, :]
    rsplit_arange = tl.arange(0, RSPLIT_NEXT_POWER_OF_2)[None, :]
    if RSPLIT_IS_POWER_OF_2:
        rsplit_mask: tl.constexpr = None
    else:
        rsplit_mask = rsplit_arange < RSPLIT
    x0 = xindex
    _tmp2 = tl.full([XBLOCK, R0_BLOCK], 0, tl.float32)
    for r0_offset in tl.range(rsplit_start, rsplit_end, R0_BLOCK):
        r0_index = r0_offset + r0_base
        r0_mask = r0_index < r0_numel
        tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel*x0), r0_mask & xmask, other=0.0)
        _tmp2 = tl.where(r0_mask & xmask, _tmp2 + tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK]), _tmp2)
    tmp2 = tl.sum(_tmp2, 1)[:, None]
    tl.store(ws_ptr + (xindex * RSPLIT + rsplit_id), tmp2, xmask)
    triton_helpers.x_grid_barrier(sem_ptr + tl.program_id(1))
    if RSPLIT_IS_POWER_OF_2:
        tmp2_peers = tl.load(ws_ptr + (xindex * RSPLIT + rsplit_arange), xmask, eviction_policy='evict_first', other=triton_helpers.if_mask(xmask, 0))
    else:
        tmp2_peers = tl.load(ws_ptr + (xindex * RSPLIT + rsplit_arange), rsplit_mask & xmask, eviction_policy='evict_first', other=triton_helpers.if_mask(rsplit_mask, 0))
    tmp2 = tl.sum(tmp2_peers, 1)[:, None]
    if rsplit_id == (0 % RSPLIT):
        tl.store(out_ptr0 + (x0), tmp2, xmask)


@triton_heuristics.split_scan(
    size_hints={'x': 2, 'r0_': 4096},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={
        'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'ws_ptr': '*u8', 'xnumel': 'i32', 'r0_numel': 'i32', 'R0_BLOCK': 'constexpr'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_spl_cumsum', 'mutated_arg_names': []},
)
@triton.jit
def triton_spl_cumsum(in_ptr0, out_ptr0, ws_ptr, xnumel, r0_numel, R0_BLOCK: tl.constexpr):
    XBLOCK: tl.constexpr = 1
    xoffset = tl.program_id(1) * XBLOCK
    r0_offset = tl.program_id(0) * R0_BLOCK
    r0_index = r0_offset + tl.arange(0, R0_BLOCK)[:]
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel*xoffset), r0_mask, eviction_policy='evict_last', other=0.0)
    tmp1 = tl.num_programs(0)

    tmp2 = ws_ptr.to(tl.pointer_type(tl.uint64)) + xoffset * 1 * tmp1
    tmp4 = tl.broadcast_to(tmp0, [R0_BLOCK])
    tmp5 = tl.reduce(tmp4, 0, _add)
    tmp6 = triton_helpers.exclusive_scan_decoupled_lookback(
        tmp2,
        tmp5,
        tl.program_id(0),
        _add,
        DTYPE_VALUE_AS_UINT=tl.uint32,
        DTYPE_PACK=tl.uint64,
    )
    tmp7 = tl.associative_scan(tmp4, 0, _add)
    tmp9 = tl.where(r0_offset == 0, tmp7, tmp6 + tmp7)
    tl.store(out_ptr0 + (r0_index + r0_numel*xoffset), tmp9, r0_mask)


@triton_heuristics.split_scan(
    size_hints={'x': 2, 'r0_': 4096},
    reduction_hint=ReductionHint.INNER,
    filename=__file__,
    triton_meta={
        'signature': {'in_ptr0': '*i64', 'out_ptr0': '*i64', 'ws_ptr': '*u8', 'xnumel': 'i32', 'r0_numel': 'i32', 'R0_BLOCK': 'constexpr'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_spl_cumsum64', 'mutated_arg_names': []},
)
@triton.jit
def triton_spl_cumsum64(in_ptr0, out_ptr0, ws_ptr, xnumel, r0_numel, R0_BLOCK: tl.constexpr):
    XBLOCK: tl.constexpr = 1
    xoffset = tl.program_id(1) * XBLOCK
    r0_offset = tl.program_id(0) * R0_BLOCK
    r0_index = r0_offset + tl.arange(0, R0_BLOCK)[:]
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel*xoffset), r0_mask, eviction_policy='evict_last', other=0.0)
    tmp1 = tl.num_programs(0)

    tmp2 = ws_ptr.to(tl.pointer_type(tl.uint64)) + xoffset * 3 * tmp1
    tmp4 = tl.broadcast_to(tmp0.to(tl.int64), [R0_BLOCK])
    tmp5 = tl.reduce(tmp4, 0, _add)
    tmp6 = triton_helpers.exclusive_scan_decoupled_lookback_64(
        tmp2,
        tmp5,
        tl.program_id(0),
        _add,
    )
    tmp7 = tl.associative_scan(tmp4, 0, _add)
    tmp9 = tl.where(r0_offset == 0, tmp7, tmp6 + tmp7)
    tl.store(out_ptr0 + (r0_index + r0_numel*xoffset), tmp9, r0_mask)


@triton_heuristics.template(
    num_stages=3, num_warps=4,
    filename=__file__,
    triton_meta={
        'signature': {'arg_A': '*fp16', 'arg_B': '*fp16', 'out_ptr0': '*fp16', 'M': 'i32', 'N': 'i32', 'K': 'i32'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_tem_mm_relu', 'mutated_arg_names': []},
)
@triton.jit
def triton_tem_mm_relu(arg_A, arg_B, out_ptr0, M, N, K):
    BAND: tl.constexpr = 4
    ALLOW_TF32: tl.constexpr = False
    ACC_TYPE: tl.constexpr = tl.float32
    BLOCK_M: tl.constexpr = 32
    BLOCK_N: tl.constexpr = 32
    BLOCK_K: tl.constexpr = 16
    A = arg_A
    B = arg_B
    pid = tl.program_id(0)
    tiles_m = (M + BLOCK_M - 1) // BLOCK_M
    tiles_n = (N + BLOCK_N - 1) // BLOCK_N
    width = BAND * tiles_n
    band = pid // width
    height = min(tiles_m - band * BAND, BAND)
    tile_m = band * BAND + (pid % height)
    tile_n = (pid % width) // (height)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_a_m = rows % M
    offs_b_n = columns % N
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC_TYPE)
    for k_idx in range(0, tl.cdiv(K, BLOCK_K)):
        a_mask = offs_k[None, :] < (K - k_idx * BLOCK_K)
        b_mask = offs_k[:, None] < (K - k_idx * BLOCK_K)
        a_k_idx_vals = offs_k[None, :] + (k_idx * BLOCK_K)
        b_k_idx_vals = offs_k[:, None] + (k_idx * BLOCK_K)
        a = tl.load(A + (a_k_idx_vals + K*offs_a_m[:, None]), mask=a_mask, other=0.0)
        b = tl.load(B + (offs_b_n[None, :] + N*b_k_idx_vals), mask=b_mask, other=0.0)
        acc += tl.dot(a, b, allow_tf32=ALLOW_TF32, out_dtype=ACC_TYPE)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    idx_m = rows[:, None]
    idx_n = columns[None, :]
    mask = (idx_m < M) & (idx_n < N)

    tmp0 = triton_helpers.maximum(tl.full([1], 0, tl.int32), acc)
    tl.store(out_ptr0 + (idx_n + N*idx_m), tmp0, mask)


@triton_heuristics.template(
    num_stages=2, num_warps=4,
    filename=__file__,
    triton_meta={
        'signature': {'arg_A': '*bf16', 'arg_B': '*bf16', 'in_ptr2': '*fp32', 'out_ptr0': '*fp32', 'M': 'i32', 'N': 'i32', 'K': 'i32'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_tem_bmm_bias', 'mutated_arg_names': []},
)
@triton.jit
def triton_tem_bmm_bias(arg_A, arg_B, in_ptr2, out_ptr0, M, N, K):
    BAND: tl.constexpr = 4
    ALLOW_TF32: tl.constexpr = False
    ACC_TYPE: tl.constexpr = tl.float32
    BLOCK_M: tl.constexpr = 32
    BLOCK_N: tl.constexpr = 32
    BLOCK_K: tl.constexpr = 16
    A = arg_A
    idx_q = tl.program_id(1)
    B = arg_B
    pid = tl.program_id(0)
    tiles_m = (M + BLOCK_M - 1) // BLOCK_M
    tiles_n = (N + BLOCK_N - 1) // BLOCK_N
    width = BAND * tiles_n
    band = pid // width
    height = min(tiles_m - band * BAND, BAND)
    tile_m = band * BAND + (pid % height)
    tile_n = (pid % width) // (height)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_a_m = rows % M
    offs_b_n = columns % N
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC_TYPE)
    for k_idx in range(0, tl.cdiv(K, BLOCK_K)):
        a_mask = offs_k[None, :] < (K - k_idx * BLOCK_K)
        b_mask = offs_k[:, None] < (K - k_idx * BLOCK_K)
        a_k_idx_vals = offs_k[None, :] + (k_idx * BLOCK_K)
        b_k_idx_vals = offs_k[:, None] + (k_idx * BLOCK_K)
        a = tl.load(A + (a_k_idx_vals + K*offs_a_m[:, None] + idx_q*M*K), mask=a_mask, other=0.0)
        b = tl.load(B + (offs_b_n[None, :] + N*b_k_idx_vals + idx_q*K*N), mask=b_mask, other=0.0)
        acc += tl.dot(a, b, allow_tf32=ALLOW_TF32, out_dtype=ACC_TYPE)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    idx_m = rows[:, None]
    idx_n = columns[None, :]
    mask = (idx_m < M) & (idx_n < N)

    tmp0 = tl.load(in_ptr2 + (tl.broadcast_to(idx_n, [BLOCK_M, BLOCK_N])), mask, eviction_policy='evict_last')
    tl.store(out_ptr0 + (idx_n + N*idx_m + M*N*idx_q), acc + tmp0, mask)


@triton_heuristics.template(
    num_stages=3, num_warps=4,
    filename=__file__,
    triton_meta={
        'signature': {'arg_Q': '*fp16', 'arg_K': '*fp16', 'arg_V': '*fp16', 'arg_LSE': '*fp32', 'out_ptr0': '*fp16', 'Q_LEN': 'i32', 'KV_LEN': 'i32'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_tem_flex', 'mutated_arg_names': []},
)
@triton.jit
def triton_tem_flex(arg_Q, arg_K, arg_V, arg_LSE, out_ptr0, Q_LEN, KV_LEN):
    SM_SCALE: tl.constexpr = 0.25
    BLOCK_M: tl.constexpr = 32
    BLOCK_N: tl.constexpr = 32
    HEAD_DIM: tl.constexpr = 16
    MATMUL_PRECISION = arg_Q.dtype.element_ty
    RCP_LN2: tl.constexpr = 1.44269504
    start_m = tl.program_id(0)
    off_z = tl.program_id(1)
    query = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    dim = tl.arange(0, HEAD_DIM)
    top = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    q = tl.load(arg_Q + (off_z * Q_LEN + query[:, None]) * HEAD_DIM + dim[None, :], mask=query[:, None] < Q_LEN, other=0.0)
    for start_n in range(0, KV_LEN, BLOCK_N):
        key = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(arg_K + (off_z * KV_LEN + key[None, :]) * HEAD_DIM + dim[:, None], mask=key[None, :] < KV_LEN, other=0.0)
        qk = tl.dot(q, k, input_precision='ieee')
        qk *= SM_SCALE
        post_mod_scores = qk + (query[:, None] - key[None, :]).to(tl.float32) * 0.01
        post_mod_scores = tl.where((key[None, :] < KV_LEN) & (query[:, None] >= key[None, :]), post_mod_scores, float("-inf"))
        post_mod_scores *= RCP_LN2
        top_now = tl.maximum(top, tl.max(post_mod_scores, 1))
        masked_out_rows = (top_now == float("-inf"))
        top_or_zero = tl.where(masked_out_rows, 0, top_now)
        alpha = tl.math.exp2(top - top_or_zero)
        p = tl.math.exp2(post_mod_scores - top_or_zero[:, None])
        total = total * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(arg_V + (off_z * KV_LEN + key[:, None]) * HEAD_DIM + dim[None, :], mask=key[:, None] < KV_LEN, other=0.0)
        acc = tl.dot(p.to(MATMUL_PRECISION), v, acc, input_precision='ieee')
        top = top_now
    total = tl.where(total == 0.0, 1, total)
    acc = acc / total[:, None]
    mask = query[:, None] < Q_LEN
    tl.store(out_ptr0 + (off_z * Q_LEN + query[:, None]) * HEAD_DIM + dim[None, :], acc, mask)
    tl.store(arg_LSE + off_z * Q_LEN + query, top + tl.math.log2(total), mask=query < Q_LEN)


@triton_heuristics.foreach(
    filename=__file__,
    triton_meta={
        'signature': {'in_ptr0': '*fp32', 'in_ptr1': '*fp32', 'in_ptr2': '*fp32', 'in_ptr3': '*fp32', 'out_ptr0': '*fp32', 'out_ptr1': '*fp32'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]], (2,): [['tt.divisibility', 16]], (3,): [['tt.divisibility', 16]], (4,): [['tt.divisibility', 16]], (5,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_for_sgd', 'mutated_arg_names': []},
)
@triton.jit
def triton_for_sgd(in_ptr0, in_ptr1, in_ptr2, in_ptr3, out_ptr0, out_ptr1):
    pid = tl.program_id(0)
    XBLOCK: tl.constexpr = 1024
    num_xblocks_0 = tl.cdiv(1452, XBLOCK)
    num_xblocks_1 = num_xblocks_0 + tl.cdiv(77, XBLOCK)
    if pid < num_xblocks_0:
        pid_offset = pid
        xnumel = 1452
        xindex = pid_offset * XBLOCK + tl.arange(0, XBLOCK)[:]
        xmask = xindex < xnumel
        tmp0 = tl.load(in_ptr0 + (xindex), xmask)
        tmp1 = tl.load(in_ptr1 + (xindex), xmask)
        tl.store(out_ptr0 + (xindex), tmp0 + tmp1 * -0.1, xmask)
    elif pid < num_xblocks_1:
        pid_offset = pid - num_xblocks_0
        xnumel = 77
        xindex = pid_offset * XBLOCK + tl.arange(0, XBLOCK)[:]
        xmask = xindex < xnumel
        tmp2 = tl.load(in_ptr2 + (xindex), xmask)
        tmp3 = tl.load(in_ptr3 + (xindex), xmask)
        tl.store(out_ptr1 + (xindex), tmp2 + tmp3 * -0.1, xmask)
    else:
        pass


@triton_heuristics.user_autotune(
    configs=[{'BLOCK': 128, 'num_warps': 2, 'num_stages': 3}, {'BLOCK': 256, 'num_warps': 4, 'num_stages': 2}],
    filename=__file__,
    triton_meta={
        'signature': {'x': '*fp32', 'y': '*fp32', 'a': 'fp32', 'n': 'i32', 'BLOCK': 'constexpr'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'axpy', 'mutated_arg_names': []},
)
@triton.jit
def axpy(x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, a * tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton_heuristics.fixed_config(
    config={'XBLOCK': 64, 'num_warps': 1, 'num_stages': 1},
    filename=__file__,
    triton_meta={
        'signature': {'in_ptr0': '*fp32', 'out_ptr0': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048, warp_size=32),
        'constants': {}, 'configs': [{(0,): [['tt.divisibility', 16]], (1,): [['tt.divisibility', 16]]}],
    },
    inductor_meta={'kernel_name': 'triton_poi_fixed', 'mutated_arg_names': []},
)
@triton.jit
def triton_poi_fixed(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    tl.store(out_ptr0 + (xindex), libdevice.sqrt(tl.load(in_ptr0 + (xindex), xmask)), xmask)
