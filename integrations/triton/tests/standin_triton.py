"""A stand-in for the triton package, as far as tritonc has to do with it.

write(folder, "3.6") makes a package triton there whose compile() goes through Triton's
steps with texts in the place of modules: the key of its cache, the list of stages, the
hook on them, overrides, metadata, and what a launcher of that version reads and passes.
What differs between versions is as in their branches release/3.4.x to 3.8.x.
"""

import pathlib

INIT = '''
__version__ = {version!r}
from . import knobs
if {asynchronous}:
    from .runtime.autotuner import AsyncCompileMode
'''

# A kernel is a text with a place for the configuration. What is launched is counted.
AUTOTUNER = '''
from concurrent.futures import as_completed
active_mode = None

class AsyncCompileMode:
    def __init__(self, executor):
        self.executor, self.futures = executor, {{}}

    def __enter__(self):
        global active_mode
        if active_mode is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode = self

    def __exit__(self, *_):
        global active_mode
        active_mode = None
        for future in as_completed(self.futures):
            self.futures[future](future.result())

class JITFunction:
    def __init__(self, text, compile):
        self.text, self.compile, self.pre_run_hooks, self.kernels, self.launches = text, compile, [], {{}}, 0

    def run(self, *args, grid, warmup, **kwargs):
        given = {{**dict(zip("xy", args)), **kwargs}}
        text = self.text.format(**given)
        if text not in self.kernels:
            if active_mode is not None:
                active_mode.futures[active_mode.executor.submit(self.compile, text)] = lambda made: self.kernels.__setitem__(text, made)
                return None
            self.kernels[text] = self.compile(text)
        if not warmup:
            assert grid is not None
            self.launches += 1
        return self.kernels[text]

    def warmup(self, *args, grid, **kwargs):
        return self.run(*args, grid=grid, warmup=True, **kwargs)

class Config:
    def __init__(self, pre_hook=None, **kwargs):
        self.kwargs, self.pre_hook = kwargs, pre_hook

    def all_kwargs(self):
        return self.kwargs

class Autotuner:
    def __init__(self, fn, configs, pre_hook=None):
        self.fn, self.configs, self.cache, self.cache_results, self.user_defined_pre_hook = fn, configs, {{}}, False, pre_hook is not None

    def run(self, *args, **kwargs):
        self.nargs = dict(zip("xy", args))
        if args not in self.cache:
            self.cache[args] = []
            for config in self.prune_configs(kwargs):
                try:
                    if config.pre_hook:
                        config.pre_hook(kwargs)
                    self.fn.run(*args, **kwargs, **config.all_kwargs())
                    self.cache[args].append(config)
                except Exception as e:
                    if "PTXASError" not in type(e).__name__:
                        raise
        return self.fn.run(*args, **kwargs, **self.cache[args][0].all_kwargs())

    def prune_configs(self, kwargs):
        return self.configs
'''

KNOBS = '''
import os, types

class Tool:
    def __init__(self, path):
        self.path = path

class Nvidia:
    def __getattr__(self, name):
        path = os.environ.get({tools!r}.get(name, "-"))
        if name not in {tools!r}:
            raise AttributeError(name)
        if not path:
            raise RuntimeError("Cannot find " + name)
        return Tool(path)

nvidia = Nvidia()
runtime = types.SimpleNamespace()
if {hook}:
    runtime.add_stages_inspection_hook = None
'''

ERRORS = '''
class PTXASError(Exception):
    pass
'''

COMPILER = '''
import dataclasses, functools, re, types
from triton import knobs

@dataclasses.dataclass(frozen=True)
class {options}:
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    maxnreg: int = None
{cluster}    ptx_version: int = None
    ptx_options: str = {ptx_options}
    ir_override: str = None
    enable_fp_fusion: bool = True
{reflect}    launch_cooperative_grid: bool = False
    launch_pdl: bool = False
    extern_libs: tuple = (("libdevice", "/lib/libdevice.10.bc"),)
    debug: bool = False
    sanitize_overflow: bool = True
    arch: str = {arch!r}
{instrumentation}

class {backend}:
    def __init__(self, arch):
        self.arch = arch

    @functools.lru_cache()
    def hash(self):
        return f"12.8-{{self.arch}}"

    def _parse_arch(self, arch):
        return int(re.fullmatch(r"sm(\\d+)", arch)[1])

    def theirs(self, stage, source):
        return source if stage == "ttir" else f"Triton's {{stage}} of {{source}}"

    def add_stages(self, stages, options, language):
        capability = {capability}
        for s in {stages!r}:
            if s != "ttir" or language.name == "TRITON":
                stages[s] = lambda src, metadata, s=s: self.theirs(s, src)
        if getattr(knobs.runtime, "add_stages_inspection_hook", None) is not None:
            knobs.runtime.add_stages_inspection_hook(self, stages, options, language, capability)

cache = {{}}

class Module:
    """An MLIR module, as far as a stage sees it: something whose str is text."""
    def __init__(self, text):
        self.text = text
    def __str__(self):
        return self.text

def compile(text, options=None, language="TRITON", capability=90, first="ttir", override=None, source=None):
    options = options or {options}(**({{}} if {capability} is None else {{"arch": f"sm{{capability}}"}}))
    backend = {backend}(options.arch)
    key = f"{{text}}-{{backend.hash()}}-{{options}}-{{language}}-{{first}}-{{override}}"
    if {keys} and knobs.runtime.add_stages_inspection_hook is not None:
        more, _ = knobs.runtime.add_stages_inspection_hook()
        key += more
    if key in cache:
        return cache[key]
    stages = {{}}
    backend.add_stages(stages, options, types.SimpleNamespace(name=language))
    if source is not None:
        assert source.make_ir(None, options, {{}}, {{}}, None) is source
    metadata, module, asm = dict(options.__dict__), Module(text), {{}}
    for name, run in list(stages.items())[list(stages).index(first):]:
        module = (override or {{}}).get(name) or run(module, metadata)
        asm[name] = module
    cache[key] = asm, metadata
    return cache[key]

def launch(asm, metadata, arguments):
    """What the launcher passes, checked against what the kernel takes."""
    needed = ["num_warps", "num_ctas", "shared", "global_scratch_size", "global_scratch_align"] + {needed!r}
    missing = [n for n in needed if n not in metadata]
    if missing:
        raise KeyError(missing)
    entry = re.search(r"\\.entry [\\w$]+\\((.*?)\\n?\\)", asm["ptx"], re.DOTALL)[1]
    takes, passes = entry.count(".param"), arguments + {scratches}
    if takes != passes:
        raise RuntimeError(f"the kernel takes {{takes}} parameters, and is passed {{passes}}")
    if metadata["num_ctas"] > 1 and {scratches} < 3 and "cluster_dims" in metadata:
        assert metadata["cluster_dims"] == (metadata["num_ctas"], 1, 1), metadata["cluster_dims"]
    return True
'''


# What Triton has of a kernel that is a Python function, and of its arguments.
SOURCE = '''
import inspect, re, textwrap

class JITFunction:
    def __init__(self, fn):
        self.fn, self.arg_names = fn, list(inspect.signature(fn).parameters)
        self.raw_src, self.starting_line_number = inspect.getsourcelines(fn)
        src = textwrap.dedent("".join(self.raw_src))
        self.src = src[re.search(r"^def\\s+\\w+\\s*\\(", src, re.MULTILINE).start():]

class ASTSource:
    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.signature, self.attrs, self.ext = fn, signature, attrs or {}, "ttir"
        self.constants = {(fn.arg_names.index(k),): v for k, v in (constexprs or {}).items()}

    def make_ir(self, target, options, codegen_fns, module_map, context):
        return self
'''


def write(folder, version="3.6.0"):
    """Makes FOLDER/triton."""
    minor = int(version.split(".")[1])
    tools = {"ptxas": "FAKE_PTXAS"} | ({"ptxas_blackwell": "FAKE_PTXAS_BLACKWELL"} if minor >= 6 else {})
    shared = {
        "cluster": "    cluster_dims: tuple = (1, 1, 1)\n" if minor < 6 else "",
        "reflect": "    enable_reflect_ftz: bool = True\n" if minor >= 6 else "",
        "instrumentation": '    instrumentation_mode: str = ""\n' if minor >= 5 else "",
        "ptx_options": '__import__("os").environ.get("PTXAS_OPTIONS")' if minor >= 6 else "None",
        "needed": (["profile_scratch_size", "profile_scratch_align"] if minor >= 5 else []) + (["cluster_dims"] if minor < 6 else []),
        "scratches": 1 if minor < 5 else 2, "keys": minor >= 7,
    }
    nvidia = {"options": "CUDAOptions", "backend": "CUDABackend", "capability": "self._parse_arch(options.arch)" , "arch": "sm90",
              "stages": ("ttir", "ttgir", "llir", "ptx", "cubin"), **shared}
    amd = {"options": "HIPOptions", "backend": "HIPBackend", "capability": "None", "arch": "gfx942",
           "stages": ("ttir", "ttgir", "llir", "amdgcn", "hsaco"), **shared}
    compiler = COMPILER.replace("if {capability} is None", "if {is_hip}")
    files = {
        "__init__.py": INIT.format(version=version, asynchronous=minor >= 6), "runtime/autotuner.py": AUTOTUNER.format(),
        "knobs.py": KNOBS.format(tools=tools, hook=minor >= 6),
        "compiler/__init__.py": "", "compiler/compiler.py": SOURCE,
        "runtime/__init__.py": "", "runtime/errors.py": ERRORS,
        "backends/__init__.py": "", "backends/nvidia/__init__.py": "", "backends/amd/__init__.py": "",
        "backends/nvidia/compiler.py": compiler.format(is_hip=False, **nvidia),
        "backends/amd/compiler.py": compiler.format(is_hip=True, **amd),
    }
    for name, text in files.items():
        path = pathlib.Path(folder, "triton", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


TTIR = """module {
  tt.func public @double(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {noinline = false} {
    %o = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %p, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %q : tensor<64x!tt.ptr<f32>>
    %w = arith.addf %v, %v : tensor<64xf32>
    tt.store %q, %w : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""

# A tritonc: what it was asked goes to a file, and what it makes says what of.
PROGRAM = """#!{python}
import json, os, pathlib, sys, time
if sys.argv[1:] == ["--json", "version"]:
    print(json.dumps(dict(version="{version}", build="b"))); sys.exit()
if sys.argv[1] == "serve":
    sys.exit("tritonc: error: this one does not serve")
if sys.argv[1:] == ["backends"]:
    print("nvidia 0.1.0\\t/x\\n  cuda:80  warp size 32\\n  cuda:90  warp size 32"); sys.exit()
flags, source = sys.argv[1:-1], pathlib.Path(sys.argv[-1])
with open(os.environ["FAKE_LOG"], "a") as log:
    beside = source.with_suffix(".json")
    print(json.dumps([flags, source.name, source.read_text(), os.environ.get("TRITONC_PTXAS"),
                      json.loads(beside.read_text()) if beside.exists() else None]), file=log)
text = source.read_text()
if "slow" in text:
    time.sleep(0.05)
if "too large" in text:
    sys.exit("/tmp/k.ptx:38:2: error: ptxas: Register allocation failed\\n  help: none")
if "bad" in text:
    sys.exit("kernel.ttir:1:1: error: no\\n  help: none")
out = pathlib.Path(flags[flags.index("-o") + 1])
for ending in flags[flags.index("--emit") + 1].split(","):
    made = f"our {{ending}} of {{text}}"
    if ending == "ptx":
        made += "\\n.entry k(\\n\\t.param .u64 k_param_0,\\n\\t.param .u64 k_param_1,\\n\\t.param .u64 k_param_2\\n)\\n{{ k_param_0 }}"
    if ending == "json":
        name = text.partition("@")[2].partition("(")[0] or "k"
        made = json.dumps({{"name": name, "num_warps": 8, "num_ctas": 2 if "--option num_ctas=2" in " ".join(flags) else 1,
                           "shared": 512, "tensordesc_meta": [], "hash": "ours",
                           "tmem_size": 0, "global_scratch_size": 0, "global_scratch_align": 1,
                           "profile_scratch_size": 0, "profile_scratch_align": 1}})
    (out / f"k.{{ending}}").write_text(made)
"""


def write_program(path, version="v1.0.0"):
    """Makes an executable stand-in for tritonc."""
    import sys
    path = pathlib.Path(path)
    path.write_text(PROGRAM.format(python=sys.executable, version=version))
    path.chmod(0o755)
    return path
