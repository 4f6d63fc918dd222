"""Source mode: the file of a kernel, which tritonc's own front end reads.

Triton gives its ttir and no more to a stage; what it made that of is noted when it begins
(watch). of() says what tritonc needs to compile the same from the file: the path, the
kernel's name and its signature; or why a file does not say what Triton was given. That
both front ends agree on the kernel is found by tritonc diff.
"""

import dataclasses
import os
import sys
import sysconfig
import threading

# How values of tl.constexpr are written in a signature.
LITERALS = (bool, int, float, str, type(None))


class NotSource(Exception):
    """The file does not say what Triton was given; the text says why."""


@dataclasses.dataclass(frozen=True)
class Source:
    path: str
    name: str
    signature: str

    def flags(self):
        return ("-n", self.name, "-s", self.signature, "--python-path", os.pathsep.join(installed()))


def installed():
    """The folders in which this Python finds packages, its own library apart: what the file
    imports is what the program has imported."""
    own = {os.path.realpath(p) for p in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))}
    own |= {os.path.join(p, "lib-dynload") for p in own}
    return [os.path.abspath(p) for p in sys.path if os.path.isdir(p or ".") and os.path.realpath(p or ".") not in own]


# Where tritonc would look besides; a compile through the server does not see the variables, and
# one by a process must find the same.
NOWHERE = {"PYTHONPATH": "", "VIRTUAL_ENV": ""}


class Watch:
    """Notes what the ttir of this thread's compile is made of."""

    def __init__(self):
        self.local = threading.local()

    def forget(self):
        self.local.made_of = None

    def made_of(self):
        return getattr(self.local, "made_of", None)

    def watch(self, ast_source, undo):
        """Wraps make_ir of Triton's class for kernels that are Python functions."""
        theirs = ast_source.make_ir

        def make_ir(source, *args, **kwargs):
            self.local.made_of = source
            return theirs(source, *args, **kwargs)

        ast_source.make_ir = make_ir
        undo.append(lambda: setattr(ast_source, "make_ir", theirs))


def of(made_of):
    """The Source of what Triton compiles; raises NotSource."""
    try:
        return read(made_of)
    except AttributeError as e:
        raise NotSource(f"this Triton holds kernels in another way: {e}") from None


def read(made_of):
    """What of() gives, by attributes that Triton's classes have in the versions that are known."""
    if made_of is None:
        raise NotSource("it is no Python function")
    fn = made_of.fn
    python = fn.fn
    path = python.__code__.co_filename
    if "." in python.__qualname__:
        raise NotSource("it is not at the top of its file")
    if python.__closure__:
        raise NotSource("it has values of the function around it")
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except (OSError, ValueError) as e:
        raise NotSource(f"its file cannot be read: {getattr(e, 'strerror', None) or e}") from None
    raw = "".join(fn.raw_src)
    if raw not in text or getattr(fn, "src", raw) not in raw:
        raise NotSource("its file says something else than what was loaded")
    return Source(os.path.abspath(path), python.__name__, signature(made_of))


def signature(made_of):
    """What -s says of an ASTSource: all by name, since a constant (a size that is 1, say) may
    stand before a type."""
    names = list(made_of.fn.arg_names)
    constants = {}
    for at, value in made_of.constants.items():
        if len(at) != 1:
            raise NotSource("a tuple among its arguments has a constant")
        constants[names[at[0]]] = value
    out = []
    for i, name in enumerate(names):
        if name in constants:
            out.append(f"{name}={literal(constants[name])}")
            continue
        kind = made_of.signature[name]
        if not isinstance(kind, str) or "<" in kind or "[" in kind:
            raise NotSource(f"the type of {name} is {kind}")
        out.append(f"{name}={kind}{suffix(name, made_of.attrs.get((i,), ()))}")
    return ", ".join(out)


def suffix(name, attributes):
    """What attributes of Triton's say of an argument."""
    out = ""
    for key, value in attributes:
        if (key, value) != ("tt.divisibility", 16):
            raise NotSource(f"{name} has the attribute {key} = {value}")
        out = ":16"
    return out


def literal(value):
    """A constant as a signature has it."""
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if type(value) in LITERALS:
        return repr(value)
    if type(value) is tuple:
        return "(" + "".join(literal(v) + ", " for v in value) + ")"
    if type(value).__name__ == "dtype" and type(value).__module__ == "triton.language.core":
        return f"tl.{DTYPES.get(value.name, value.name)}"
    raise NotSource(f"a constant is {type(value).__name__}")


# Triton's short names of types, and those that tl has them by.
DTYPES = {"fp8e4nv": "float8e4nv", "fp8e5": "float8e5", "fp8e4b15": "float8e4b15", "fp8e4b8": "float8e4b8", "fp8e5b16": "float8e5b16",
          "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
