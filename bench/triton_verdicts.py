#!/usr/bin/env python3
"""Writes Triton's own verdict on every public kernel of a manifest.

    triton_verdicts.py MANIFEST KERNELS [--target cuda:90] [--only TEXT] [--keep DIR]

MANIFEST is core/frontend/testdata/manifest.tsv, which this rewrites in place:
the fourth column of a kernel's row becomes "accepted" or the class and first
line of the innermost error. KERNELS holds each repository's checkout as
owner/name, at the commit that the manifest names.

It needs Triton, but no GPU: a kernel goes as far as Triton's own ttir stage.
A package that a checkout imports and this machine lacks (torch, vllm, ...) is
replaced by a stand-in that may be imported, passed on and decorated with; a
kernel that really uses it gets the verdict "unresolved: NAME". Every kernel
compiles in a process of its own, since Triton may abort.
"""

import argparse
import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import select
import signal
import sys
import tempfile
import time
import types

import triton
import triton.compiler.code_generator  # before anything else is imported in its name
import triton.language as tl
from triton._C.libtriton import ir
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, make_backend
from triton.runtime.jit import JITFunction

TIMEOUT = 120  # seconds for one kernel, or for one file's imports
LONGEST = 120  # characters of a verdict


class Unresolved(Exception):
    """A kernel uses something of a package that is not here."""


class StandInMeta(type):
    """What a stand-in, which is a class, does when it is used."""

    compiling = False

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return known(f"{cls.__module__}.{name}")

    def __call__(cls, *args, **kwargs):
        if "_stand_in" not in cls.__dict__:
            return super().__call__(*args, **kwargs)
        if StandInMeta.compiling:
            raise Unresolved(cls.__module__)
        if len(args) == 1 and not kwargs and (callable(args[0]) or hasattr(args[0], "fn")):
            return args[0]  # a decorator
        return stand_in(cls.__module__)

    def __bool__(cls):
        return False

    def __iter__(cls):
        return iter(())

    def __contains__(cls, item):
        return False

    def __getitem__(cls, key):
        return stand_in(cls.__module__)

    def __setitem__(cls, key, value):
        pass

    def __len__(cls):
        return 0

    def __enter__(cls):
        return cls

    def __exit__(cls, *exc):
        return False

    def __int__(cls):
        return 0

    __index__ = __int__

    def __float__(cls):
        return 0.0

    def _self(cls, *args):
        return cls

    def _no(cls, other):
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _self
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _self
    __and__ = __rand__ = __or__ = __ror__ = __neg__ = __invert__ = __pow__ = _self
    __lt__ = __le__ = __gt__ = __ge__ = _no


def stand_in(name):
    return StandInMeta(name.rpartition(".")[2] or name, (), {"__module__": name, "_stand_in": True})


def known(name):
    """What FACTS says of a name, or a stand-in."""
    return FACTS[name] if name in FACTS else stand_in(name)


def is_stand_in(value):
    return isinstance(value, StandInMeta) and "_stand_in" in value.__dict__


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports a module that is not installed, as one full of stand-ins.

    Code that is ready for its absence, by try, gets the ImportError, torch and
    what belongs to it excepted.
    """

    guarded = 0
    always = {"torch", "numpy", "einops", "packaging"}

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top == "triton" or Absent.guarded and top not in self.always:
            return None
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = []
        return spec

    def create_module(self, spec):
        module = types.ModuleType(spec.name)

        def attribute(name):
            if name.startswith("__") and name != "__version__":
                raise AttributeError(name)
            # Packages that pass Triton on under its own names.
            if name == "triton":
                return triton
            if name == "tl":
                return tl
            return known(f"{spec.name}.{name}")

        module.__getattr__ = attribute
        return module

    def exec_module(self, module):
        pass


def version(text):
    """Enough of packaging.version to compare releases."""
    return tuple(int(n) for n in re.findall(r"\d+", text.partition("+")[0])[:3])


class limits:
    """torch.finfo or torch.iinfo of a stand-in for a type of torch."""

    def __init__(self, dtype):
        dtype = dtype.value if isinstance(dtype, tl.constexpr) else dtype
        self.__dict__.update(zip(("min", "max", "eps"), LIMITS[dtype.__name__]))


LIMITS = {f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)}
LIMITS["uint8"] = (0, 255)
LIMITS["float16"] = (-65504.0, 65504.0, 2.0**-10)
LIMITS["bfloat16"] = (-3.3895313892515355e38, 3.3895313892515355e38, 2.0**-7)
LIMITS["float32"] = (-3.4028234663852886e38, 3.4028234663852886e38, 2.0**-23)
LIMITS["float8_e4m3fn"] = (-448.0, 448.0, 2.0**-3)
LIMITS["float8_e5m2"] = (-57344.0, 57344.0, 2.0**-2)
LIMITS["float64"] = (-sys.float_info.max, sys.float_info.max, 2.0**-52)

# What code asks of packages while it is imported.
FACTS = {
    "torch.__version__": "2.10.0",
    "torch.cuda.is_available": lambda: True,
    "torch.cuda.get_device_capability": lambda *a: (9, 0),
    "torch.cuda.device_count": lambda: 1,
    "torch.version": types.SimpleNamespace(cuda="12.8", hip=None, xpu=None, __version__="2.10.0"),
    "torch.utils._triton.has_triton": lambda: True,
    "torch.finfo": limits,
    "torch.iinfo": limits,
    "packaging.version.parse": version,
    "packaging.version.Version": version,
}


def only_jit(st):
    """A function without its decorators but triton.jit; None for anything else."""
    if not isinstance(st, ast.FunctionDef):
        return None
    jit = [d for d in st.decorator_list if re.search(r"\bjit\b", ast.unparse(d))]
    if not jit or len(jit) == len(st.decorator_list):
        return None
    return ast.FunctionDef(**{**dict(ast.iter_fields(st)), "decorator_list": jit}, lineno=st.lineno,
                           col_offset=st.col_offset, end_lineno=st.end_lineno, end_col_offset=st.end_col_offset)


class Checkout(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the modules of a checkout, statement by statement: one that
    fails for want of a package or a GPU leaves its names unbound, the others
    run."""

    def __init__(self, roots):
        self.roots = roots
        self.failures = {}

    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if parts[0] in ("triton", "torch", "numpy"):
            return None
        for root in self.roots:
            base = os.path.join(root, *parts)
            for file in (os.path.join(base, "__init__.py"), base + ".py"):
                if os.path.isfile(file):
                    package = file.endswith("__init__.py")
                    spec = importlib.machinery.ModuleSpec(name, self, origin=file, is_package=package)
                    if package:
                        spec.submodule_search_locations = [base]
                    spec.has_location = True
                    return spec
            if os.path.isdir(base):
                spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
                spec.submodule_search_locations = [base]
                return spec
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file = module.__spec__.origin
        with open(file, encoding="utf-8", errors="replace") as f:
            tree = ast.parse(f.read(), file)
        flags = 0
        for st in tree.body:
            if isinstance(st, ast.ImportFrom) and st.module == "__future__":
                for a in st.names:
                    flags |= getattr(__import__("__future__"), a.name).compiler_flag
        self.run(module, file, tree.body, flags)

    def run(self, module, file, body, flags):
        """Runs statements one by one, those of the branch of a conditional too."""
        guarded = Absent.guarded
        for st in body:
            Absent.guarded = isinstance(st, ast.Try)
            if isinstance(st, ast.If):
                try:
                    test = eval(compile(ast.Expression(st.test), file, "eval", flags, dont_inherit=True), module.__dict__)
                except Exception as e:
                    self.failures[f"{module.__name__}:{st.lineno}"] = e
                    continue
                self.run(module, file, st.body if test else st.orelse, flags)
                continue
            for attempt in (st, only_jit(st)):
                if attempt is None:
                    break
                try:
                    exec(compile(ast.Module([attempt], []), file, "exec", flags, dont_inherit=True), module.__dict__)
                    break
                except (Exception, SystemExit) as e:
                    self.failures[f"{module.__name__}:{st.lineno}"] = e
        Absent.guarded = guarded


def module_of(repo, path):
    """The dotted name of a file, and where its imports are looked for: beside
    the outermost package that holds it, then as the repository lays it out."""
    roots = [repo, os.path.join(repo, "src")]
    full = os.path.join(repo, path)
    top = os.path.dirname(full)
    while os.path.isfile(os.path.join(top, "__init__.py")):
        top = os.path.dirname(top)
    if top not in roots:
        roots.append(top)
    base = os.path.join(repo, "src") if path.startswith("src/") else repo
    if not os.path.isfile(os.path.join(repo, os.path.dirname(path), "__init__.py")):
        roots.append(os.path.dirname(full))
    name = os.path.relpath(full, base)[: -len(".py")].replace(os.sep, ".")
    return name.removesuffix(".__init__"), roots


MADE = {}  # (file, name) to the JITFunction made last


def record_jit():
    init = JITFunction.__init__

    def wrapped(self, fn, *args, **kwargs):
        init(self, fn, *args, **kwargs)
        MADE[fn.__code__.co_filename, fn.__name__] = self

    JITFunction.__init__ = wrapped


def entries(text):
    """Splits a signature at its top-level commas."""
    out, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}>":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(text[start:i].strip())
            start = i + 1
    out.append(text[start:].strip())
    return [e for e in out if e]


SCALARS = set("i1 i8 i16 i32 i64 u1 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5 fp8e4b8 fp8e5b16 fp8e4b15".split())


def is_type(text):
    text = text.lstrip("*").removeprefix("k") if text.startswith("*") else text
    return text in SCALARS or text.startswith("tensordesc<")


def source_of(fn, text, scope):
    """ASTSource of a kernel for a signature such as "x=*fp32:16, n=i32, B=64"."""
    given, position = {}, 0
    for entry in entries(text):
        name, eq, value = entry.partition("=")
        if not eq or not name.strip().isidentifier():
            name, value = fn.arg_names[position], entry
        given[name.strip()] = value.strip()
        position += 1
    signature, constants, attrs = {}, {}, {}
    for i, p in enumerate(fn.params):
        value = given.pop(p.name, None)
        if value is None:
            if not p.has_default:
                raise TypeError(f"no value for parameter {p.name}")
            const = p.default
            if p.is_constexpr or const is None or type(const) is int and const == 1:
                signature[p.name], constants[i,] = "constexpr", const
            else:
                signature[p.name] = {bool: "u1", int: "i32", float: "fp32"}.get(type(const), "constexpr")
                if signature[p.name] == "constexpr":
                    constants[i,] = const
            continue
        kind, _, hint = value.partition(":")
        if is_type(kind) and hint != "1":
            signature[p.name] = kind
            if hint:
                attrs[i,] = [["tt.divisibility", int(hint)]]
        else:
            signature[p.name] = "constexpr"
            constants[i,] = 1 if is_type(kind) else eval(value, {"triton": triton, "tl": tl, **scope})
    if given:
        raise TypeError(f"no parameter {next(iter(given))}")
    return ASTSource(fn, signature, constants, attrs)


class Device:
    """A driver for Triton to ask which device there is: the target's."""

    def __init__(self, target):
        self.target = target
        self.utils = self

    def get_current_target(self):
        return self.target

    def get_current_device(self):
        return 0

    def get_device_properties(self, device):
        return {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": self.target.warp_size,
                "sm_clock_rate": 1980000, "mem_clock_rate": 2619000, "mem_bus_width": 5120}


def compile_ttir(fn, source, target, options=None):
    backend = make_backend(target)
    options = backend.parse_options(options or {})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    source.hash()  # which looks at every global that the kernel refers to
    module = source.make_ir(target, options, backend.get_codegen_implementation(options), backend.get_module_map(),
                            context)
    stages = {}
    backend.add_stages(stages, options, source.language)
    return stages["ttir"](module, {})


def verdict_of(error, errors):
    """A line about an error; errors is what the C++ side printed."""
    while error.__cause__ is not None:
        error = error.__cause__
    kind, text = type(error).__name__, getattr(error, "error_message", None) or str(error)
    # Triton wraps other errors as their repr.
    if wrapped := re.fullmatch(r"(\w+)\((['\"])(.*)\2,?\)", text, re.DOTALL):
        kind, text = wrapped[1], wrapped[3].replace("\\n", "\n")
    if kind == "Unresolved":
        return f"unresolved: {text}"
    if kind == "NameError" and (name := re.search(r"global variable (\w+)", text)):
        for fn in MADE.values():
            if is_stand_in(value := fn.__globals__.get(name[1])):
                return f"unresolved: {value.__module__}"
    if isinstance(error, RuntimeError):  # the C++ side has printed why
        for line in errors.splitlines():
            _, found, message = line.partition("error: ")
            if found:
                text = message
                break
    line = text.partition("\n")[0].strip().replace("\t", " ")
    return f"{kind}: {line}"[:LONGEST].rstrip()


def in_child(work, timeout):
    """Runs work in a forked process: its text, and what went wrong or ""."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(r)
        code = 1
        try:
            with os.fdopen(w, "wb") as f:
                f.write(work().encode())
            code = 0
        finally:
            os._exit(code)
    os.close(w)
    out, end = b"", timeout and time.monotonic() + timeout
    while True:
        ready, _, _ = select.select([r], [], [], timeout and max(0, end - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(r)
            return None, "no end"
        chunk = os.read(r, 1 << 16)
        if not chunk:
            break
        out += chunk
    os.close(r)
    _, status = os.waitpid(pid, 0)
    if status:
        return out.decode(), f"killed by signal {status & 127}" if status & 127 else "failed"
    return out.decode(), ""


def one_kernel(fn, signature, scope, target, keep):
    """The verdict on one kernel, in a process of its own; keep, if not "", is
    the file for its ttir."""

    def work():
        with tempfile.TemporaryFile() as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            StandInMeta.compiling = True
            try:
                source = source_of(fn, signature, scope)
                module = compile_ttir(fn, source, target)
                if keep:
                    os.makedirs(os.path.dirname(keep), exist_ok=True)
                    with open(keep, "w", encoding="utf-8") as f:
                        f.write(str(module))
                return "accepted"
            except BaseException as e:
                sys.stderr.flush()
                log.seek(0)
                return verdict_of(e, log.read().decode(errors="replace"))

    text, problem = in_child(work, TIMEOUT)
    return f"crash: {problem}" if problem else text


def import_file(finder, repo, path):
    """The module of a file."""
    name, roots = module_of(repo, path)
    finder.roots += [r for r in roots if r not in finder.roots]

    def late(*_):
        raise TimeoutError(f"importing {path} takes more than {TIMEOUT} s")

    signal.signal(signal.SIGALRM, late)
    signal.alarm(TIMEOUT)
    try:
        return importlib.import_module(name)
    finally:
        signal.alarm(0)


def kernel_of(module, file, name):
    """The JITFunction of a name, under whatever decorates it, or None."""
    fn = getattr(module, name, None)
    while fn is not None and not isinstance(fn, JITFunction):
        fn = None if is_stand_in(fn) else getattr(fn, "fn", None)
    return fn or MADE.get((file, name))


def one_repository(repo, files, target, keep):
    """The verdicts on the kernels of {path: [(kernel, signature)]}, a line each, in order."""

    def work():
        finder = Checkout([])
        sys.meta_path.insert(0, finder)
        sys.meta_path.append(Absent())
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        record_jit()
        lines = []
        for path, rows in files.items():
            try:
                module = import_file(finder, repo, path)
            except (Exception, SystemExit) as e:
                lines += [f"unresolved: the file ({type(e).__name__})"] * len(rows)
                continue
            for kernel, signature in rows:
                fn = kernel_of(module, os.path.join(repo, path), kernel)
                if fn is None:
                    lines.append("unresolved: the kernel itself")
                    continue
                out = os.path.join(keep, path, kernel + ".ttir") if keep else ""
                lines.append(one_kernel(fn, signature, module.__dict__, target, out))
        return "\n".join(lines)

    text, problem = in_child(work, None)
    if problem:
        sys.exit(f"{repo}: {problem}")
    return text.split("\n")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("manifest")
    p.add_argument("kernels")
    p.add_argument("--target", default="cuda:90")
    p.add_argument("--keep", default="", metavar="DIR", help="write the ttir of accepted kernels under this folder")
    p.add_argument("--only", default="", help="the rows whose path holds this text; the others keep their verdict")
    args = p.parse_args()
    backend, _, arch = args.target.partition(":")
    target = GPUTarget(backend, int(arch) if arch.isdigit() else arch, 64 if arch.startswith("gfx9") else 32)
    triton.runtime.driver.set_active(Device(target))
    with open(args.manifest, encoding="utf-8") as f:
        lines = f.read().splitlines()
    groups, repo = {}, ""
    for i, line in enumerate(lines):
        f = line.split("\t")
        if line.startswith("@"):
            repo = os.path.join(os.path.abspath(args.kernels), f[0][1:])
        elif args.only in f"{repo}/{f[0]}":
            groups.setdefault(repo, []).append(i)
    counts = {}
    for repo, rows in groups.items():
        files = {}
        for i in rows:
            f = lines[i].split("\t")
            files.setdefault(f[0], []).append((f[1], f[2], i))
        order = [i for kernels in files.values() for _, _, i in kernels]
        keep = os.path.join(args.keep, os.path.relpath(repo, args.kernels)) if args.keep else ""
        kernels = {path: [k[:2] for k in ks] for path, ks in files.items()}
        for i, verdict in zip(order, one_repository(repo, kernels, target, keep), strict=True):
            lines[i] = "\t".join(lines[i].split("\t")[:3] + [verdict])
            kind = verdict.partition(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
    with open(args.manifest, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    for kind, n in sorted(counts.items(), key=lambda kv: -kv[1]):
        print(n, kind)


if __name__ == "__main__":
    main()
