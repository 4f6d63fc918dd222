import triton
import triton.language as tl


# Blocks of any size, and programs that do not ask whether they have rows.
@triton.heuristics({"BLOCK_SIZE_N": lambda args: (args["N"] + args["NUM_BLOCK_N"] - 1) // args["NUM_BLOCK_N"]})
@triton.jit
def max_rows_kernel(inp, out, M, N, NUM_BLOCK_N: tl.constexpr, BLOCK_SIZE_N: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    num_jobs_m = tl.num_programs(0)
    row_per_job = (M + num_jobs_m - 1) // num_jobs_m
    row_begin = pid_m * row_per_job
    row_end = row_begin + row_per_job
    if pid_m == num_jobs_m - 1:
        row_end = M
    for row in range(row_begin, row_end):
        cols = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
        x = tl.load(inp + row * N + cols, mask=cols < N, other=-float("inf"))
        tl.atomic_max(out + row, tl.max(x))
