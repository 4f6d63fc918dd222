#!/usr/bin/env python3
"""Writes what Triton makes of small kernels.

    triton_small.py DIR [--target cuda:90]

DIR is test/triton/testdata/small. Each FAMILY.txt in it holds kernels,
each after a line "#---"; FAMILY.triton gets, after a line with the kernel's
digest, the ttir that Triton's own stage leaves, or "error: " and the class and
first line of the innermost error. With --grid OUT it expands grid.tsv instead,
operations by types and literals, and writes all modules to the file OUT, from
which the tests of test/triton take digests.

It needs Triton, but no GPU. Every kernel compiles in a process of its own, since
Triton may abort.
"""

import argparse
import glob
import hashlib
import importlib.util
import os
import re
import sys
import tempfile

import triton.language as tl
from triton.runtime.jit import JITCallable

from triton_verdicts import GPUTarget, compile_ttir, in_child, source_of, verdict_of

SIGNATURE = "x=*fp32:16, y=*i32:16, h=*fp16:16, q=*i64:16, n=i32, m=i64, f=fp32, u=u32, B=64"
HEAD = "import triton\nimport triton.language as tl\n"
PRELUDE = "@triton.jit\ndef k(x, y, h, q, n, m, f, u, B: tl.constexpr):\n    o = tl.arange(0, 64)\n"


def cases(text):
    """(digest, signature, debug, source) of each kernel of a family."""
    for block in re.split(r"^#---.*\n", text, flags=re.M)[1:]:
        block = block.strip("\n") + "\n"
        # Remarks of ours are not part of the kernel.
        block = re.sub(r"\A# (differs|refused here|accepted here): .*\n", "", block)
        digest = hashlib.sha256(block.encode()).hexdigest()[:12]
        signature, debug = SIGNATURE, False
        if m := re.match(r"# -s (.*)\n", block):
            signature, block = m[1], block[m.end() :]
            debug = signature.endswith(" debug=True")
            signature = signature.removesuffix(" debug=True")
        if "def k(" not in block:
            block = PRELUDE + "".join("    " + line + "\n" for line in block.splitlines())
        yield digest, signature, debug, HEAD + block


def verdict(source, signature, debug, target, folder):
    """Triton's ttir of a kernel, or what it says against it."""

    def work():
        with tempfile.TemporaryFile() as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            try:
                path = os.path.join(folder, "k.py")  # where Python must not find an older one's bytecode
                with open(path, "w", encoding="utf-8") as f:
                    f.write(source)
                spec = importlib.util.spec_from_file_location("k", path)
                module = importlib.util.module_from_spec(spec)
                sys.modules["k"] = module
                spec.loader.exec_module(module)
                fn = module.k
                text = str(compile_ttir(fn, source_of(fn, signature, module.__dict__), target, {"debug": debug}))
                return strip(text)
            except BaseException as e:
                sys.stderr.flush()
                log.seek(0)
                return "error: " + verdict_of(e, log.read().decode(errors="replace")).replace(folder, "") + "\n"

    text, problem = in_child(work, 60)
    return f"error: crash: {problem}\n" if problem else text


def grid(text):
    """(name, signature, body) of each kernel that grid.tsv stands for: a line has
    a signature and a body, separated by a tab; {A} and {B} stand for each type,
    {D} for each type's name in triton.language, {L} for each literal."""
    lists, rows = {}, []
    for line in text.splitlines():
        if m := re.match(r"(types|names|literals)\t(.*)", line):
            lists[m[1]] = m[2].split("\t")
        elif line and not line.startswith("#"):
            rows.append(line.split("\t"))
    for i, (signature, body) in enumerate(rows):
        kernels = [(signature, body)]
        for mark, values in (("{A}", "types"), ("{B}", "types"), ("{D}", "names"), ("{L}", "literals")):
            if mark in signature + body:
                kernels = [(s.replace(mark, v), b.replace(mark, v)) for s, b in kernels for v in lists[values]]
        for j, (s, b) in enumerate(kernels):
            yield f"{i}.{j}", s, b


def grid_kernel(signature, body):
    """The source of one kernel of the grid: its parameters are the signature's."""
    names = [entry.partition("=")[0] for entry in signature.split(", ")]
    lines = "".join("    " + line + "\n" for line in body.split("; "))
    return f"{HEAD}@triton.jit\ndef k({', '.join(names)}):\n{lines}"


def strip(text):
    """ttir without its locations."""
    text = re.sub(r'^#loc.*\n', "", text, flags=re.M)
    text = re.sub(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", "", text)
    return text


def warm():
    """Lets Triton hash its own library once, not once a kernel."""
    for module in (tl.standard, tl.random):
        for value in vars(module).values():
            if isinstance(value, JITCallable):
                value.cache_key


def main():
    sys.dont_write_bytecode = True
    warm()
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--target", default="cuda:90")
    p.add_argument("--grid", default="", metavar="OUT", help="expand grid.tsv, and write all modules to this file")
    p.add_argument("--only", default="", help="with --grid: the lines of grid.tsv with this text")
    args = p.parse_args()
    backend, _, arch = args.target.partition(":")
    target = GPUTarget(backend, int(arch), 32)
    with tempfile.TemporaryDirectory() as scratch:
        if args.grid:
            with open(os.path.join(args.folder, "grid.tsv"), encoding="utf-8") as f:
                kernels = list(grid(f.read()))
            with open(args.grid, "w", encoding="utf-8") as f:
                for name, signature, body in kernels:
                    if args.only in body:
                        text = verdict(grid_kernel(signature, body), signature, False, target, scratch)
                        f.write(f"-- {name} --\n{text}")
            return
        for name in sorted(glob.glob(os.path.join(args.folder, "*.txt"))):
            with open(name, encoding="utf-8") as f:
                text = f.read()
            out = []
            for digest, signature, debug, source in cases(text):
                out.append(f"-- {digest} --\n" + verdict(source, signature, debug, target, scratch))
            with open(name.removesuffix(".txt") + ".triton", "w", encoding="utf-8") as f:
                f.write("".join(out))
            print(len(out), os.path.basename(name))


if __name__ == "__main__":
    main()
