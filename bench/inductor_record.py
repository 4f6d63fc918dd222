#!/usr/bin/env python3
"""Records the kernels that torch.compile makes of many small functions.

    inductor_record.py -o DIR [--only TEXT] [--processes 12] [--limit SECONDS]

It needs a GPU, torch and Triton. DIR gets one folder a kernel, each with

    kernel.py     the file that Inductor wrote, as it wrote it
    N.json        a configuration that Inductor compiled: constants and options
    N.ttir        Triton's ttir of it

and DIR/summary.txt, what came of each function. bench/inductor_check.py compiles
such a folder with tritonc, where neither torch nor a GPU is needed.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time


CANDIDATES = 6  # of a template's, how many are kept of one function


def functions():
    """Yields (name, config, function, arguments) for everything to be compiled."""
    import torch
    import torch.nn.functional as F

    dev = "cuda"
    rows = []

    def row(name, make, config=None, dynamic=None, backward=False):
        rows.append((name, config or {}, make, dynamic, backward))

    def r(*shape, dtype=torch.float32, grad=False):
        return torch.randn(*shape, device=dev).to(dtype).requires_grad_(grad)

    def ints(high, *shape, dtype=torch.int64, low=0):
        return torch.randint(low, high, shape, device=dev, dtype=dtype)

    bf, half = torch.bfloat16, torch.float16
    # pointwise
    row("add_relu", lambda: (lambda x, y: (x + y).relu(), r(1000, 777), r(1000, 777)))
    row("gelu_bf16", lambda: (lambda x: F.gelu(x, approximate="tanh"), r(4096, 1024, dtype=bf)))
    row("gelu_erf", lambda: (lambda x: F.gelu(x), r(333, 1024, dtype=half)))
    row("swiglu", lambda: (lambda x, y: F.silu(x) * y, r(2048, 1408, dtype=bf), r(2048, 1408, dtype=bf)))
    row("special", lambda: (lambda x: torch.erfinv(x.clamp(-0.9, 0.9)) + torch.lgamma(x) + torch.digamma(x) + torch.special.i0(x), r(9999)))
    row("trig", lambda: (lambda x, y: torch.sin(x) + torch.tan(y) + torch.atan2(x, y) + torch.asinh(x) + torch.expm1(y) + torch.log1p(y.abs()) + torch.hypot(x, y), r(5000), r(5000)))
    row("powers", lambda: (lambda x, y: torch.pow(x.abs(), y) + x ** 3 + torch.fmod(x, y) + torch.remainder(x, y) + torch.copysign(x, y) + torch.nextafter(x, y), r(5000), r(5000)))
    row("rounding", lambda: (lambda x: x.round() + x.floor() + x.ceil() + x.trunc() + torch.signbit(x) + torch.frac(x) + x.sign() + x.rsqrt(), r(5000)))
    row("frexp", lambda: (lambda x: torch.frexp(x), r(5000)))
    row("integers", lambda: (lambda x, y: ((x // y) + (x % y) + (x & y) + (x ^ y) + (x << 2) + (x >> 1), torch.div(x, y, rounding_mode="trunc")), ints(1000, 3000, dtype=torch.int32, low=-1000), ints(9, 3000, dtype=torch.int32, low=1)))
    row("uint8", lambda: (lambda x, y: (x + y, x * 3, x // 5, x > y, (x.float() / 255).to(bf)), ints(255, 3000, dtype=torch.uint8), ints(255, 3000, dtype=torch.uint8)))
    row("bools", lambda: (lambda x, y: ((x > 0) & (y > 0)) | ~(x < y) ^ (x == y), r(4000), r(4000)))
    row("fp8", lambda: (lambda x: ((x * 2).to(torch.float8_e4m3fn), (x + 1).to(torch.float8_e5m2), x.to(torch.float8_e4m3fn).to(torch.float32)), r(4096, dtype=bf)))
    row("double", lambda: (lambda x: x.exp() + x.sin() + x.sqrt(), r(3000, dtype=torch.float64)))
    row("masked_fill", lambda: (lambda x: torch.tril(x).masked_fill(x > 1, float("-inf")), r(129, 257)))
    row("where_nan", lambda: (lambda x: torch.where(x.isnan() | x.isinf(), 0, torch.nan_to_num(x)), r(4000)))
    row("minmax", lambda: (lambda x, y: torch.maximum(x, y) - torch.minimum(x, 0 * y) + x.clamp(min=-0.5), r(4000), r(4000)))
    row("dropout", lambda: (lambda x: F.dropout(x, 0.3), r(512, 999)))
    row("random", lambda: (lambda x: torch.rand_like(x) + torch.randn_like(x) + torch.randint_like(x, -5, 1000), r(3001)), {"fallback_random": False})
    row("arange", lambda: (lambda x: torch.arange(x.shape[0], device=dev) * 3 + x.long(), r(5000)))
    row("transpose_add", lambda: (lambda x, y: x.t() + y, r(1024, 768), r(768, 1024)))
    row("permute3", lambda: (lambda x: x.permute(2, 0, 1).contiguous() * 2, r(64, 128, 96)))
    row("cat", lambda: (lambda x, y: torch.cat([x * 2, y.relu(), x - 1], 1), r(128, 100), r(128, 60)))
    row("stack_chunk", lambda: (lambda x: torch.stack([c.exp() for c in x.chunk(4, -1)]), r(64, 512)))
    row("pad_reflect", lambda: (lambda x: F.pad(x, (3, 2, 1, 4), mode="reflect"), r(4, 3, 33, 31)))
    row("upsample", lambda: (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), r(2, 8, 17, 19)))
    row("bicubic", lambda: (lambda x: F.interpolate(x, size=(37, 41), mode="bicubic"), r(2, 8, 17, 19)))
    row("roll_flip", lambda: (lambda x: x.roll(3, 0).flip(1), r(100, 77)))
    row("embedding", lambda: (lambda i, w: F.embedding(i, w) * 2, ints(1000, 8, 77), r(1000, 96)))
    row("gather", lambda: (lambda x, i: x.gather(1, i) + x[i[:, 0]][:, :33], r(200, 64), ints(64, 200, 33)))
    row("index_put", lambda: (lambda x, i, v: x.index_put((i,), v, accumulate=True), r(100, 32), ints(100, 500), r(500, 32)))
    row("scatter_add", lambda: (lambda x, i, v: x.scatter_add(0, i, v), r(100, 32), ints(100, 500, 32), r(500, 32)))
    row("scatter_bf16", lambda: (lambda x, i, v: x.scatter_reduce(0, i, v, "amax"), r(100, 32), ints(100, 500, 32), r(500, 32)))
    row("index_select_neg", lambda: (lambda x, i: x[i] + x[:, i[:32] % 3].sum(), r(100, 32), ints(50, 64, low=-50)))
    row("bucketize", lambda: (lambda x, b: (torch.bucketize(x, b), torch.bucketize(x, b, right=True)), r(4000), torch.linspace(-2, 2, 77, device=dev)))
    row("searchsorted", lambda: (lambda s, x: torch.searchsorted(s, x), r(8, 100).sort()[0], r(8, 33)))
    row("one_hot", lambda: (lambda i: F.one_hot(i, 50).float() * 0.9 + 0.1 / 50, ints(50, 333)))
    row("rope", lambda: (lambda q, c, s: q * c + torch.cat([-q[..., 64:], q[..., :64]], -1) * s, r(2, 8, 77, 128, dtype=bf), r(77, 128, dtype=bf), r(77, 128, dtype=bf)))
    row("complexish", lambda: (lambda x: torch.view_as_real(torch.view_as_complex(x) * 2), r(100, 2)))
    row("maxpool", lambda: (lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), r(4, 8, 33, 33)))
    row("avgpool", lambda: (lambda x: F.avg_pool2d(x, 3, 2, 1), r(4, 8, 33, 33)))
    row("adaptive", lambda: (lambda x: F.adaptive_avg_pool2d(x, (5, 7)), r(4, 8, 33, 33)))
    row("scalar", lambda: (lambda x: x.sum() / x.numel() + 3, r(7)))
    # reductions
    row("sum_inner", lambda: (lambda x: x.sum(-1), r(777, 3001)))
    row("sum_outer", lambda: (lambda x: x.sum(0), r(3001, 333)))
    row("sum_all", lambda: (lambda x: x.sum(), r(4096, 4097)))
    row("sum_middle", lambda: (lambda x: x.sum(1), r(33, 129, 65)))
    row("mean_bf16", lambda: (lambda x: x.mean(-1), r(100, 5000, dtype=bf)))
    row("var_mean", lambda: (lambda x: torch.var_mean(x, -1), r(100, 50_00)))
    row("std_small", lambda: (lambda x: x.std(-1), r(1000, 77)))
    row("norms", lambda: (lambda x: (x.norm(dim=-1), x.abs().amax(-1), x.amin(-1), x.prod(-1)), r(100, 333)))
    row("argmax", lambda: (lambda x: (x.argmax(-1), x.argmin(0)), r(100, 3333)))
    row("max_indices", lambda: (lambda x: x.max(-1), r(1000, 100)))
    row("any_all", lambda: (lambda x: ((x > 2).any(-1), (x > -3).all(-1), (x > 0).sum(-1)), r(100, 3333)))
    row("logsumexp", lambda: (lambda x: x.logsumexp(-1), r(100, 3333)))
    row("softmax", lambda: (lambda x: x.softmax(-1), r(1000, 777, dtype=half)))
    row("softmax_long", lambda: (lambda x: x.softmax(-1), r(64, 50257, dtype=bf)))
    row("log_softmax_outer", lambda: (lambda x: x.log_softmax(0), r(333, 444)))
    row("layernorm", lambda: (lambda x, w, b: F.layer_norm(x, (768,), w, b), r(1000, 768, dtype=bf), r(768, dtype=bf), r(768, dtype=bf)))
    row("layernorm_long", lambda: (lambda x, w, b: F.layer_norm(x + 1, (20000,), w, b), r(100, 20000), r(20000), r(20000)))
    row("rmsnorm", lambda: (lambda x, y, w: F.rms_norm(x + y, (4096,), w), r(512, 4096, dtype=bf), r(512, 4096, dtype=bf), r(4096, dtype=bf)))
    row("groupnorm", lambda: (lambda x, w, b: F.group_norm(x, 8, w, b).relu(), r(4, 32, 17, 19), r(32), r(32)))
    row("batchnorm", lambda: (lambda x, m, v: F.batch_norm(x, m, v, training=True), r(8, 32, 29, 31), torch.zeros(32, device=dev), torch.ones(32, device=dev)))
    row("cross_entropy", lambda: (lambda x, t: F.cross_entropy(x, t), r(333, 5001, dtype=bf), ints(5001, 333)))
    row("mse_kl", lambda: (lambda x, y: F.mse_loss(x, y) + F.kl_div(x, y, reduction="batchmean"), r(333, 501), r(333, 501)))
    row("cumsum", lambda: (lambda x: x.cumsum(-1) * 2, r(100, 777)))
    row("cumsum_long", lambda: (lambda x: x.cumsum(0), r(1_000_000)))
    row("cumsum_int", lambda: (lambda x: x.cumsum(0), ints(10, 500_000)))
    row("cumprod", lambda: (lambda x: x.cumprod(-1), r(100, 777)))
    row("cummax", lambda: (lambda x: (x.cummax(-1), x.logcumsumexp(-1)), r(100, 500)))
    row("sort", lambda: (lambda x: x.sort(dim=-1, stable=True), r(333, 100)))
    row("sort_desc", lambda: (lambda x: x.sort(-1, descending=True), r(33, 64)))
    row("cooperative", lambda: (lambda x: x.softmax(-1), r(4, 100_000)), {"triton.cooperative_reductions": True})
    row("cooperative_sum", lambda: (lambda x: (x.sum(), x.amax()), r(3_000_001)), {"triton.force_cooperative_reductions": True})
    row("multi_kernel", lambda: (lambda x: x.softmax(-1), r(333, 2000)), {"triton.multi_kernel": 1})
    row("block_ptr", lambda: (lambda x, y: (x + y).sum(-1), r(512, 1024), r(512, 1024)), {"triton.use_block_ptr": True})
    row("descriptor", lambda: (lambda x, y: x * y + 1, r(512, 1024), r(512, 1024)), {"triton.use_tensor_descriptor": True, "assume_aligned_inputs": True})
    row("no_persistent", lambda: (lambda x, w, b: F.layer_norm(x, (768,), w, b), r(1000, 768), r(768), r(768)), {"triton.persistent_reductions": False})
    row("tiled_reduction", lambda: (lambda x, y: (x.t() + y).sum(), r(768, 512), r(512, 768)), {"triton.prefer_nd_tiling": True, "triton.tile_reductions": True})
    row("combo", lambda: (lambda x, y: (x.relu(), y.exp(), x.t().contiguous() + 1, y.sum(-1)), r(333, 444), r(1000, 77)), {"combo_kernels": True, "benchmark_combo_kernel": False})
    row("emulate", lambda: (lambda x: (x + 1).to(bf) * 2, r(4000, dtype=bf)), {"emulate_precision_casts": True})
    # optimizers
    row("sgd", lambda: (lambda ps, gs: torch._foreach_add(ps, gs, alpha=-0.1), [r(33, 44), r(1000), r(7)], [r(33, 44), r(1000), r(7)]))

    def adam():
        params = [r(333, 44), r(1000), r(77, 7, 7)]
        for p in params:
            p.grad = torch.randn_like(p)
        opt = torch.optim.AdamW(params, lr=torch.tensor(0.01, device=dev), foreach=True, capturable=True)
        return (lambda: opt.step(),)

    row("adamw", adam)
    # gradients
    row("layernorm_bw", lambda: (lambda x, w, b: F.layer_norm(x, (1000,), w, b), r(333, 1000, grad=True), r(1000, grad=True), r(1000, grad=True)), backward=True)
    row("rmsnorm_bw", lambda: (lambda x, w: F.rms_norm(x, (2048,), w), r(4096, 2048, dtype=bf, grad=True), r(2048, dtype=bf, grad=True)), backward=True)
    row("softmax_bw", lambda: (lambda x: (x.softmax(-1) ** 2), r(100, 777, grad=True)), backward=True)
    row("gelu_bw", lambda: (lambda x: F.gelu(x), r(100, 777, grad=True)), backward=True)
    row("xent_bw", lambda: (lambda x, w, t: F.cross_entropy(x @ w, t), r(333, 64, grad=True), r(64, 1001, grad=True), ints(1001, 333)), backward=True)
    row("embedding_bw", lambda: (lambda i, w: F.embedding(i, w).relu(), ints(1000, 8, 77), r(1000, 96, grad=True)), backward=True)
    row("batchnorm_bw", lambda: (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True).relu(), r(8, 32, 29, 31, grad=True), r(32, grad=True), r(32, grad=True)), backward=True)
    row("maxpool_bw", lambda: (lambda x: F.max_pool2d(x, 3, 2, 1), r(4, 8, 33, 33, grad=True)), backward=True)

    def block():
        d = 256
        ln, q, o = torch.nn.LayerNorm(d), torch.nn.Linear(d, 3 * d), torch.nn.Linear(d, d)
        up, down, ln2 = torch.nn.Linear(d, 4 * d), torch.nn.Linear(4 * d, d), torch.nn.LayerNorm(d)
        mods = torch.nn.ModuleList([ln, q, o, up, down, ln2]).to(dev)

        def f(x):
            b, t, _ = x.shape
            a = mods[1](mods[0](x)).view(b, t, 3, 4, 64).permute(2, 0, 3, 1, 4)
            w = (a[0] @ a[1].transpose(-1, -2) / 8).masked_fill(torch.ones(t, t, device=dev).triu(1).bool(), float("-inf"))
            x = x + F.dropout(mods[2]((w.softmax(-1) @ a[2]).transpose(1, 2).reshape(b, t, d)), 0.1)
            return x + mods[4](F.gelu(mods[3](mods[5](x))))

        return f, r(4, 100, d, grad=True)

    row("transformer", block, backward=True)
    # dynamic shapes
    row("dyn_add", lambda: (lambda x, y: (x + y).relu() * x.shape[0], r(1000, 777), r(1000, 777)), dynamic=True)
    row("dyn_softmax", lambda: (lambda x: x.softmax(-1), r(1000, 777)), dynamic=True)
    row("dyn_norm", lambda: (lambda x: F.layer_norm(x, x.shape[-1:]), r(1000, 777)), dynamic=True)
    row("dyn_cat", lambda: (lambda x, y: torch.cat([x, y], 1).sum(0), r(128, 100), r(128, 60)), dynamic=True)
    row("dyn_cumsum", lambda: (lambda x: x.cumsum(-1), r(128, 100)), dynamic=True)
    row("dyn_index", lambda: (lambda x, i: x[i] * 2, r(128, 100), ints(128, 77)), dynamic=True)
    # templates
    auto = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON", "max_autotune_gemm_search_space": "DEFAULT", "autotune_in_subproc": False}
    row("mm_relu", lambda: (lambda x, y: (x @ y).relu(), r(512, 256, dtype=half), r(256, 384, dtype=half)), auto)
    row("addmm_odd", lambda: (lambda x, y, b: F.gelu(torch.addmm(b, x, y)), r(333, 257), r(257, 129), r(129)), auto)
    row("mm_bf16_t", lambda: (lambda x, y: F.linear(x, y) + 1, r(512, 1024, dtype=bf), r(768, 1024, dtype=bf)), auto)
    row("bmm", lambda: (lambda x, y: torch.bmm(x, y) * 0.5, r(8, 128, 64, dtype=bf), r(8, 64, 128, dtype=bf)), auto)
    row("int_mm", lambda: (lambda x, y: torch._int_mm(x, y).float() * 0.1, ints(100, 256, 256, dtype=torch.int8), ints(100, 256, 256, dtype=torch.int8)), auto)
    row("fp8_mm", lambda: (lambda x, y, s, t: torch._scaled_mm(x, y, s, t, out_dtype=bf), r(256, 256).to(torch.float8_e4m3fn), r(256, 256).to(torch.float8_e4m3fn).t(), torch.ones((), device=dev), torch.ones((), device=dev)), auto)
    row("mm_plus_mm", lambda: (lambda a, b, c, d: a @ b + c @ d, r(256, 128, dtype=half), r(128, 256, dtype=half), r(256, 128, dtype=half), r(128, 256, dtype=half)), auto)
    row("conv2d", lambda: (lambda x, w: F.conv2d(x, w, stride=2, padding=1).relu(), r(4, 32, 28, 28, dtype=half), r(64, 32, 3, 3, dtype=half)), dict(auto, max_autotune_conv_backends="TRITON"))
    row("persistent_tma", lambda: (lambda x, y: x @ y, r(512, 512, dtype=bf), r(512, 512, dtype=bf)), dict(auto, **{"triton.enable_persistent_tma_matmul": True}))

    def flex(score, causal, grad=False, tq=256):
        def make():
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention

            q, k, v = (r(2, 4, t, 64, dtype=half, grad=grad) for t in (tq, 256, 256))
            mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, tq, 256) if causal else None
            return (lambda q, k, v: flex_attention(q, k, v, score_mod=score, block_mask=mask)), q, k, v

        return make

    row("flex", flex(None, False))
    row("flex_causal_bias", flex(lambda s, b, h, i, j: s + (i - j) * 0.01 * h, True, grad=True), backward=True)
    row("flex_decode", flex(lambda s, b, h, i, j: s * 0.5, False, tq=1))
    return rows


def record(out, share, of, only):
    """Compiles and runs this process's share of the functions."""
    import torch
    import torch._inductor.config as config
    from torch._inductor.runtime import triton_heuristics

    config.use_static_cuda_launcher = False  # which keeps no ttir
    seen, kinds = {}, {}
    whole = triton_heuristics.CachingAutotuner._precompile_config

    def precompile(self, cfg):
        result = whole(self, cfg)
        try:
            keep(self, cfg, result)
        except Exception as e:  # what cannot be recorded is said, and compiled all the same
            print(f"not recorded: {self.fn.__name__}: {type(e).__name__}: {e}", flush=True)
        return result

    def keep(self, cfg, result):
        with open(self.fn.fn.__code__.co_filename) as f:
            source = f.read()
        key = hashlib.sha256(re.sub(r"'backend_hash': '\w+'|_\d+\b", "", source).encode()).hexdigest()[:12]
        kind = f"{row_name[0]}-{self.fn.__name__[:60]}"
        folder = os.path.join(out, f"{kind}-{key}")
        if folder not in seen:
            kinds[kind] = kinds.get(kind, 0) + 1
            if kinds[kind] > CANDIDATES:
                return
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "kernel.py"), "w") as f:
            f.write(source)
        n = seen[folder] = seen.get(folder, -1) + 1
        asm = result.kernel.asm
        with open(os.path.join(folder, f"{n}.json"), "w") as f:
            json.dump({"kernel": self.fn.__name__, "constants": dict(cfg.kwargs), "num_warps": cfg.num_warps, "num_stages": cfg.num_stages}, f)
        with open(os.path.join(folder, f"{n}.ttir"), "w") as f:
            f.write(asm["ttir"])

    triton_heuristics.CachingAutotuner._precompile_config = precompile
    row_name = [""]
    for i, (name, settings, make, dynamic, backward) in enumerate(functions()):
        if i % of != share or only not in name:
            continue
        row_name[0] = name
        start = time.time()
        try:
            torch._dynamo.reset()
            f, *args = make()
            with config.patch(settings):
                got = torch.compile(f, dynamic=dynamic, fullgraph=False)(*args)
                if backward:
                    if not isinstance(got, torch.Tensor):
                        got = got[0]
                    got.sum().backward()
            torch.cuda.synchronize()
            said = "ok"
        except Exception as e:
            said = f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"[:200]
        print(f"{name}: {said} ({time.time() - start:.1f} s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--out", required=True)
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--processes", type=int, default=12)
    parser.add_argument("--limit", type=float, default=600, help="seconds after which the processes are stopped")
    parser.add_argument("--share", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    if args.share is not None:
        record(args.out, args.share, args.processes, args.only)
        return
    end = time.time() + args.limit

    def share(i):
        cache = tempfile.mkdtemp()
        env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache, TRITON_CACHE_DIR=cache + "/triton", TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_FX_GRAPH_CACHE="0")
        command = [sys.executable, __file__, "-o", args.out, "--only", args.only, "--processes", str(args.processes), "--share", str(i)]
        with tempfile.TemporaryFile("w+") as log:
            try:
                code = subprocess.run(command, env=env, stdout=log, stderr=subprocess.STDOUT, timeout=max(end - time.time(), 1)).returncode
            except subprocess.TimeoutExpired:
                code = "stopped"
            log.seek(0)
            text = log.read()
        shutil.rmtree(cache, ignore_errors=True)
        said = [line for line in text.splitlines() if re.match(r"[\w ]+: ", line)]
        if code != 0:
            said += [f"process {i}: {code}"] + text.splitlines()[-5:]
        return said

    with concurrent.futures.ThreadPoolExecutor(args.processes) as pool:
        said = [line for lines in pool.map(share, range(args.processes)) for line in lines]
    with open(os.path.join(args.out, "summary.txt"), "w") as f:
        f.write("\n".join(said) + "\n")
    kernels = [d for d in os.listdir(args.out) if os.path.isdir(os.path.join(args.out, d))]
    print("\n".join(said))
    print(f"{len(kernels)} kernels")


if __name__ == "__main__":
    main()
