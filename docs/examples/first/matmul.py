import triton
import triton.language as tl


# The store is in the loop, and names its value as tl.store does not.
@triton.jit
def matmul_kernel1(A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    offs_m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start_k in range(0, K, BLOCK_K):
        offs_k = start_k + tl.arange(0, BLOCK_K)
        mask_a = (offs_m < M)[:, None] & (offs_k < K)[None, :]
        mask_b = (offs_k < K)[:, None] & (offs_n < N)[None, :]
        a = tl.load(A + offs_m[:, None] * K + offs_k[None, :], mask=mask_a, other=0.0)
        b = tl.load(B + offs_k[:, None] * N + offs_n[None, :], mask=mask_b, other=0.0)
        acc += tl.dot(a, b)
        c_ptrs = C + offs_m[:, None] * N + offs_n[None, :]
        tl.store(c_ptrs, mask=(offs_m < M)[:, None] & (offs_n < N)[None, :], x=acc)


def get_cuda_autotune_config():
    return [triton.Config({"BLOCK_K": 32}, num_stages=4)]


# Masks by a parameter that tl.load does not have, and a list by a name that is not there.
@triton.autotune(configs=get_autotune_config(), key=["K"])
@triton.jit
def dot_kernel(a_ptr, b_ptr, c_ptr, K, BLOCK_K: tl.constexpr):
    offs = tl.arange(0, 16)
    offs_k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((16, 16), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptr + offs[:, None] * K + offs_k[None, :], mask=offs_k[None, :], offset=K - k * BLOCK_K, other=0.0)
        b = tl.load(b_ptr + offs_k[:, None] * 16 + offs[None, :], mask=offs_k[:, None] < K - k * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + offs[:, None] * 16 + offs[None, :], leaky_relu(acc))
