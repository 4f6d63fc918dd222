"""What check.py compiles: the functions of bench/inductor_record.py, and these.

A row is (name, settings of Inductor, make, dynamic, backward). make(compile) returns a
function and its arguments. compile is torch.compile, or leaves a function as it is; a
row that has it compile parts returns a function that holds them. What such a
function changes besides its arguments is in its attribute state.
"""

import pathlib
import sys

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


def rows():
    """All rows; torch and a GPU are needed."""
    sys.path.append(str(CHECKOUT / "bench"))
    import inductor_record

    return [(name, settings, whole(make), dynamic, backward)
            for name, settings, make, dynamic, backward in inductor_record.functions()] + steps() + models()


def whole(make):
    """A row whose function is compiled as a whole."""
    def made(compile):
        f, *args = make()
        g = compile(f)
        held = [c.cell_contents for c in f.__closure__ or ()]

        def run(*args):
            return g(*args)

        run.state = held
        return (run, *args)

    return made


def models():
    """Forward and backward of parts of models."""
    import torch
    import torch.nn.functional as F

    dev, bf, half, out = "cuda", torch.bfloat16, torch.float16, []

    def r(*shape, dtype=torch.float32, grad=False):
        return torch.randn(*shape, device=dev).to(dtype).requires_grad_(grad)

    def ints(high, *shape):
        return torch.randint(0, high, shape, device=dev)

    def row(name, make, settings=None, dynamic=None, backward=True):
        out.append((name, settings or {}, whole(make), dynamic, backward))

    def causal(t):
        return torch.ones(t, t, device=dev, dtype=torch.bool).triu(1)

    def attention(q, k, v):
        s = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        return s.masked_fill(causal(q.shape[-2]), float("-inf")).softmax(-1) @ v

    def rotate(x, cos, sin):
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def llama_block(dtype):
        def make():
            d, heads, groups, t = 256, 8, 2, 96
            wq, wk, wv, wo = (r(n, d, dtype=dtype) for n in (d, d // 4, d // 4, d))
            w1, w2, w3 = r(704, d, dtype=dtype), r(d, 704, dtype=dtype), r(704, d, dtype=dtype)
            weights = [w.mul_(0.05).requires_grad_() for w in (wq, wk, wv, wo, w1, w2, w3)]
            g1, g2 = r(d, dtype=dtype, grad=True), r(d, dtype=dtype, grad=True)
            angle = torch.outer(torch.arange(t, device=dev).float(), 10000.0 ** (-torch.arange(0, 32, 2, device=dev) / 32))
            cos, sin = (torch.cat([f(angle)] * 2, -1).to(dtype) for f in (torch.cos, torch.sin))

            def f(x, g1, g2, wq, wk, wv, wo, w1, w2, w3):
                b = x.shape[0]
                h = F.rms_norm(x, (d,), g1)
                q = rotate(F.linear(h, wq).view(b, t, heads, 32).transpose(1, 2), cos, sin)
                k = rotate(F.linear(h, wk).view(b, t, groups, 32).transpose(1, 2), cos, sin).repeat_interleave(heads // groups, 1)
                v = F.linear(h, wv).view(b, t, groups, 32).transpose(1, 2).repeat_interleave(heads // groups, 1)
                x = x + F.linear(attention(q, k, v).transpose(1, 2).reshape(b, t, d), wo)
                h = F.rms_norm(x, (d,), g2)
                return x + F.linear(F.silu(F.linear(h, w1)) * F.linear(h, w3), w2)

            return (f, r(3, t, d, dtype=dtype, grad=True), g1, g2, *weights)

        return make

    row("llama_block", llama_block(torch.float32))
    row("llama_block_bf16", llama_block(bf))

    def gpt_block(dropout):
        def make():
            d, heads, t = 192, 6, 77
            ws = [r(*s).mul_(0.05).requires_grad_() for s in ((3 * d, d), (d, d), (4 * d, d), (d, 4 * d))]
            ln = [r(d, grad=True) for _ in range(4)]

            def f(x, wqkv, wo, up, down, a, b, c, e):
                n = x.shape[0]
                q, k, v = F.linear(F.layer_norm(x, (d,), a, b), wqkv).view(n, t, 3, heads, 32).permute(2, 0, 3, 1, 4)
                y = F.linear(attention(q, k, v).transpose(1, 2).reshape(n, t, d), wo)
                x = x + (F.dropout(y, 0.2) if dropout else y)
                return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (d,), c, e), up), approximate="tanh"), down)

            return (f, r(2, t, d, grad=True), *ws, *ln)

        return make

    row("gpt_block", gpt_block(False))
    row("gpt_block_dropout", gpt_block(True))
    row("alibi_attention", lambda: (lambda q, k, v: ((q @ k.transpose(-1, -2)) * 0.125 - (torch.arange(90, device=dev)[:, None] - torch.arange(90, device=dev)).abs() * 0.1).softmax(-1) @ v,
                                    r(2, 4, 90, 64, grad=True), r(2, 4, 90, 64, grad=True), r(2, 4, 90, 64, grad=True)))
    row("rope_bw", lambda: (lambda x, c, s: rotate(x, c, s), r(2, 4, 77, 64, dtype=bf, grad=True), r(77, 64, dtype=bf), r(77, 64, dtype=bf)))
    row("swiglu_bw", lambda: (lambda x, y: F.silu(x) * y, r(777, 1408, dtype=bf, grad=True), r(777, 1408, dtype=bf, grad=True)))
    row("groupnorm_bw", lambda: (lambda x, w, b: F.silu(F.group_norm(x, 8, w, b)), r(4, 32, 17, 19, grad=True), r(32, grad=True), r(32, grad=True)))
    row("resnet_block", lambda: (lambda x, a, b, w1, b1: (x + F.conv2d(F.batch_norm(F.conv2d(x, a, padding=1), None, None, w1, b1, training=True).relu(), b, padding=1)).relu(),
                                 r(4, 16, 20, 23, grad=True), r(16, 16, 3, 3, grad=True), r(16, 16, 3, 3, grad=True), r(16, grad=True), r(16, grad=True)))
    row("lstm_cell", lambda: (lambda x, h, c, w, u: torch.tanh(lstm(x, h, c, w, u)) * 2, r(33, 40, grad=True), r(33, 64, grad=True), r(33, 64, grad=True), r(256, 40, grad=True), r(256, 64, grad=True)))

    def lstm(x, h, c, w, u):
        i, f, g, o = (F.linear(x, w) + F.linear(h, u)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh()

    row("gru_cell", lambda: (lambda x, h, w, u: gru(x, h, w, u), r(33, 40, grad=True), r(33, 64, grad=True), r(192, 40, grad=True), r(192, 64, grad=True)))

    def gru(x, h, w, u):
        a, b = F.linear(x, w).chunk(3, -1), F.linear(h, u).chunk(3, -1)
        z, s = (a[0] + b[0]).sigmoid(), (a[1] + b[1]).sigmoid()
        return (1 - z) * (a[2] + s * b[2]).tanh() + z * h

    row("moe_gate", lambda: (lambda x, w: gate(x, w), r(300, 64, grad=True), r(8, 64, grad=True)))

    def gate(x, w):
        p = F.linear(x, w).softmax(-1)
        top, index = p.topk(2, -1)
        load = F.one_hot(index, 8).float().mean((0, 1))
        return (top / top.sum(-1, keepdim=True)).sum() + (load * p.mean(0)).sum() * 8

    row("focal_loss", lambda: (lambda x, t: ((1 - torch.exp(-F.binary_cross_entropy_with_logits(x, t, reduction="none"))) ** 2 * F.binary_cross_entropy_with_logits(x, t, reduction="none")).mean(),
                               r(333, 81, grad=True), torch.rand(333, 81, device=dev).round()))
    row("smoothed_xent", lambda: (lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1, ignore_index=3), r(333, 501, grad=True), ints(501, 333)))
    row("clip_loss", lambda: (lambda a, b: clip(a, b), r(96, 64, grad=True), r(96, 64, grad=True)))

    def clip(a, b):
        s = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).t() * 10
        t = torch.arange(s.shape[0], device=dev)
        return (F.cross_entropy(s, t) + F.cross_entropy(s.t(), t)) / 2

    row("vae_loss", lambda: (lambda x, y, m, s: F.mse_loss(x, y, reduction="sum") / 99 - 0.5 * (1 + s - m ** 2 - s.exp()).sum(), r(64, 300, grad=True), r(64, 300), r(64, 20, grad=True), r(64, 20, grad=True)))
    row("ssm_scan", lambda: (lambda x, a: (x * a.sigmoid()).cumsum(1) / (a.sigmoid().cumsum(1) + 1), r(8, 333, 16, grad=True), r(8, 333, 16, grad=True)))
    row("kernel_of_distances", lambda: (lambda x, y: torch.exp(-((x[:, None] - y[None]) ** 2).sum(-1)).sum(1), r(77, 33, grad=True), r(99, 33, grad=True)))
    row("instance_norm", lambda: (lambda x: F.leaky_relu(F.instance_norm(x), 0.1), r(3, 7, 33, 35, grad=True)))
    row("pixel_shuffle", lambda: (lambda x: F.pixel_shuffle(x, 2).sigmoid() * 3, r(2, 12, 17, 19, grad=True)))
    row("int8_weight", lambda: (lambda x, w, s: F.linear(x, w.to(half) * s[:, None]), r(64, 256, dtype=half), (r(128, 256) * 40).to(torch.int8), r(128, dtype=half)), backward=False)
    row("kv_cache", lambda: (lambda cache, k, at: cache.index_copy(1, at, k).sum(-1), r(2, 128, 64), r(2, 4, 64), torch.tensor([3, 5, 70, 127], device=dev)), backward=False)
    row("top_p", lambda: (lambda x: nucleus(x), r(16, 1000)), backward=False)

    def nucleus(x):
        p, index = x.softmax(-1).sort(-1, descending=True)
        kept = p * (p.cumsum(-1) - p < 0.9)
        return (kept / kept.sum(-1, keepdim=True)).amax(-1)

    row("dyn_block", gpt_block(False), dynamic=True)
    auto = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON,ATEN", "autotune_in_subproc": False}
    row("autotuned_mlp", lambda: (lambda x, a, b: F.linear(F.gelu(F.linear(x, a)), b), r(512, 256, dtype=bf, grad=True), r(1024, 256, dtype=bf, grad=True), r(256, 1024, dtype=bf, grad=True)), auto)
    row("autotuned_block", llama_block(half), auto)
    return out


def steps():
    """Training steps: three in a row, losses and parameters compared."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    dev, out = "cuda", []

    def row(name, model, loss, data, optimizer, cast=None, clip=None):
        def make(compile):
            net = model().to(dev)
            opt = optimizer(net.parameters())

            def forward(*args):
                if cast is None:
                    return loss(net, *args)
                with torch.autocast("cuda", cast):
                    return loss(net, *args)

            def update():
                if clip is not None:
                    nn.utils.clip_grad_norm_(net.parameters(), clip)
                opt.step()

            forward, update = compile(forward), compile(update)

            def step(*args):
                said = []
                for _ in range(3):
                    opt.zero_grad(set_to_none=True)
                    value = forward(*args)
                    value.backward()
                    update()
                    said.append(value.detach())
                return torch.stack(said)

            step.state = [net]
            return (step, *data())

        out.append((name, {}, make, None, False))

    def sgd(ps):
        return torch.optim.SGD(ps, lr=0.01, momentum=0.9, weight_decay=1e-4)

    def adamw(ps):  # a large eps: gradients that are all rounding stay small
        return torch.optim.AdamW(ps, lr=1e-3, eps=1e-3)

    def mlp():
        return nn.Sequential(nn.Linear(77, 130), nn.LayerNorm(130), nn.GELU(), nn.Linear(130, 65), nn.SiLU(), nn.Linear(65, 10))

    def classify(net, x, t):
        return F.cross_entropy(net(x), t)

    def points():
        return torch.randn(200, 77, device=dev), torch.randint(0, 10, (200,), device=dev)

    row("step_mlp_sgd", mlp, classify, points, sgd)
    row("step_mlp_adamw", mlp, classify, points, adamw)
    row("step_mlp_clipped", mlp, classify, points, sgd, clip=0.5)
    row("step_mlp_bf16", mlp, classify, points, sgd, cast=torch.bfloat16)

    def convolutions():
        return nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 1, 1), nn.GroupNorm(4, 32), nn.SiLU(),
                             nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10))

    row("step_convolutions", convolutions, classify, lambda: (torch.randn(9, 3, 33, 37, device=dev), torch.randint(0, 10, (9,), device=dev)), sgd)

    class Block(nn.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.heads, self.a, self.b = heads, nn.LayerNorm(d), nn.LayerNorm(d)
            self.qkv, self.out, self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x):
            n, t, d = x.shape
            q, k, v = self.qkv(self.a(x)).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
            s = (q @ k.transpose(-1, -2)) * (d // self.heads) ** -0.5
            s = s.masked_fill(torch.ones(t, t, device=x.device, dtype=torch.bool).triu(1), float("-inf"))
            x = x + self.out((s.softmax(-1) @ v).transpose(1, 2).reshape(n, t, d))
            return x + self.down(F.gelu(self.up(self.b(x))))

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(501, 128), nn.Embedding(64, 128)
            self.blocks, self.norm = nn.Sequential(Block(128, 4), Block(128, 4)), nn.LayerNorm(128)

        def forward(self, i):
            x = self.words(i) + self.places(torch.arange(i.shape[1], device=i.device))
            return F.linear(self.norm(self.blocks(x)), self.words.weight)

    def predict(net, i):
        return F.cross_entropy(net(i[:, :-1]).flatten(0, 1), i[:, 1:].flatten())

    def words():
        return (torch.randint(0, 501, (4, 62), device=dev),)

    row("step_transformer", Language, predict, words, sgd)
    row("step_transformer_adamw", Language, predict, words, adamw)
    row("step_transformer_bf16", Language, predict, words, sgd, cast=torch.bfloat16)
    row("step_transformer_fp16", Language, predict, words, sgd, cast=torch.float16, clip=1.0)

    class Mixer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.tokens, self.channels = nn.LayerNorm(48), nn.Linear(30, 30), nn.Linear(48, 48)

        def forward(self, x):
            x = x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2).tanh()
            return x + self.channels(x).relu() ** 2

    row("step_mixer", Mixer, lambda net, x: (net(x) - x.roll(1, 1)).abs().mean(), lambda: (torch.randn(16, 30, 48, device=dev),), adamw)
    row("step_autoencoder", lambda: nn.Sequential(nn.Linear(64, 20), nn.ELU(), nn.Linear(20, 64)), lambda net, x: F.smooth_l1_loss(net(x), x), lambda: (torch.randn(150, 64, device=dev),),
        lambda ps: torch.optim.RMSprop(ps, lr=1e-3, eps=1e-2))
    return out
