"""Stand-ins for torch, triton and libcuda: what --dry-run runs on.

They let every line of a run be walked through where there is no GPU: shapes and
argument counts are real, every number is made up. A tensor knows its shape,
type and address and nothing else; whatever is asked of it beyond that is
another tensor of the same shape.
"""

import math
import pathlib
import sys
import types

BYTES = {"int8": 1, "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "uint8": 1,
         "int32": 4, "int64": 8, "bool": 1}


class Tensor:
    def __init__(self, *shape, dtype="float32", **_):
        self.shape = tuple(shape[0]) if shape and isinstance(shape[0], (tuple, list)) else shape
        self.dtype = dtype

    def numel(self):
        return math.prod(self.shape)

    def element_size(self):
        return BYTES[self.dtype]

    def data_ptr(self):
        return 0x7F0000000000

    def item(self):
        return 0

    def to(self, dtype):
        return Tensor(*self.shape, dtype=dtype)

    def __getitem__(self, _):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *a, **k: self

    def _same(self, *_):
        return self

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter([Tensor(*self.shape[1:], dtype=self.dtype)] * self.shape[0])

    def view(self, *shape):
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return Tensor(*sizes, dtype=self.dtype) if sizes and all(isinstance(n, int) for n in sizes) else self

    __setitem__ = _same
    __add__ = __sub__ = __mul__ = __truediv__ = __pow__ = __matmul__ = __ne__ = __radd__ = __rmul__ = __rsub__ = __lshift__ = __rshift__ = __and__ = \
        __ge__ = _same
    __hash__ = None


class Memory(Tensor):
    """A tensor of bytes that has them; no kernel changes it."""

    def __init__(self, raw):
        super().__init__(len(raw), dtype="uint8")
        self.raw = bytes(raw)

    def cuda(self):
        return self

    cpu = cuda

    def tolist(self):
        return list(self.raw)


class Event:
    def __init__(self, **_):
        pass

    def record(self):
        pass

    synchronize = record

    def elapsed_time(self, _):
        return 1.0


class Graph:
    def replay(self):
        pass

    capture_begin = capture_end = replay


class Scope:
    def __init__(self, _):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Generator:
    def __init__(self, **_):
        pass

    def manual_seed(self, _):
        pass


def fake_torch():
    torch = types.ModuleType("torch")
    torch.__version__ = "(stand-in)"
    for name in BYTES:
        setattr(torch, name, name)
    for name in ("randn", "empty", "zeros", "ones"):
        setattr(torch, name, Tensor)
    torch.full = lambda shape, value, **k: Tensor(*shape)
    torch.frombuffer = lambda raw, dtype: Memory(raw)
    torch.randint = lambda low, high, shape, **k: Tensor(*shape, dtype="int64")
    for name in ("add", "softmax", "amin", "amax", "prod", "cumsum", "matmul", "logsumexp", "_scaled_mm", "log", "log2",
                 "pow", "tanh", "erf", "sin", "cos", "exp", "floor", "ceil", "trunc", "div", "round", "fmod", "atan2",
                 "atan", "log1p", "exp2", "tril", "bmm", "_int_mm", "where"):
        setattr(torch, name, lambda first, *a, **k: first)
    torch.tensor = lambda values, dtype="float32", **k: Tensor(len(values), dtype=dtype)
    torch.randperm = lambda n, **k: Tensor(n, dtype="int64")
    torch.sort = lambda x, *a: (x, x)
    torch.stack = torch.cat = lambda xs, *a: xs[0]
    torch.equal = lambda x, y: True
    torch.Generator = Generator
    torch.set_grad_enabled = lambda _: None
    first = lambda x, *a, **k: x
    torch.nn = types.SimpleNamespace(functional=types.SimpleNamespace(layer_norm=first,
                                                                      scaled_dot_product_attention=first))
    torch.ops = types.SimpleNamespace(aten=types.SimpleNamespace(native_layer_norm_backward=first))
    torch.backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
    nothing = lambda *a, **k: None
    torch.cuda = types.SimpleNamespace(
        Event=Event, CUDAGraph=Graph, Stream=object, stream=Scope, synchronize=nothing, empty_cache=nothing,
        current_stream=lambda: types.SimpleNamespace(cuda_stream=0), get_device_capability=lambda: (9, 0),
        get_device_name=lambda: "no GPU (dry run)")
    return torch


def fake_triton():
    """A triton whose compiler makes an empty kernel."""
    triton = types.ModuleType("triton")
    triton.__version__, triton.__file__ = "(stand-in)", __file__

    def jit(fn=None, **_):
        if fn is None:
            return jit
        return types.SimpleNamespace(arg_names=fn.__code__.co_varnames[:fn.__code__.co_argcount], name=fn.__name__)

    triton.jit = jit
    triton.autotune = triton.heuristics = lambda *_, **__: lambda fn: fn
    triton.Config = lambda *_, **__: None

    def source(fn, signature, constants, attributes):
        missing = set(fn.arg_names) - set(signature)
        if missing:
            raise ValueError(f"{fn.name}: no type for {sorted(missing)}")
        return fn.name

    def compile(source, target, options):
        name = pathlib.Path(source).parent.name if source.endswith(".ttgir") else source
        options = {"num_warps": 4} | (options or {})
        ptx = f".version 8.0\n.target sm_{target[1]}\n.address_size 64\n.visible .entry {name}()\n{{ ret; }}\n"
        meta = types.SimpleNamespace(name=name, num_warps=options["num_warps"], num_ctas=1, shared=0,
                                     global_scratch_size=256, global_scratch_align=128,
                                     tensordesc_meta=[])
        return types.SimpleNamespace(asm={"ptx": ptx, "ttgir": "module {}", "cubin": b"\x7fELF"}, metadata=meta)

    triton.compile = compile
    language = types.ModuleType("triton.language")
    language.constexpr = int
    for name in ("float16", "float32", "float64", "int32"):
        setattr(language, name, name)
    triton.language = language
    extra = types.ModuleType("triton.language.extra")
    extra.libdevice = None
    compiler = types.ModuleType("triton.compiler")
    compiler.ASTSource = source
    backends, backend = types.ModuleType("triton.backends"), types.ModuleType("triton.backends.compiler")
    backend.GPUTarget = lambda *a: a
    return {"triton": triton, "triton.language": language, "triton.language.extra": extra, "triton.compiler": compiler,
            "triton.backends": backends, "triton.backends.compiler": backend}


class Call:
    """A driver call that does nothing, well; it takes what its prototype says."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *args):
        if len(args) != len(self.argtypes):
            raise TypeError(f"{self.name} takes {len(self.argtypes)} arguments, given {len(args)}")
        for ty, value in zip(self.argtypes, args):
            ty.from_param(value)
        return 0


class Lib:
    def __getattr__(self, name):
        call = Call(name)
        setattr(self, name, call)
        return call


def install():
    import measure
    sys.modules["torch"] = fake_torch()
    sys.modules.update(fake_triton())
    real = measure.Driver.__init__
    measure.Driver.__init__ = lambda self, lib=None: real(self, lib or Lib())
