#!/usr/bin/env python3
"""Compiles files of ttgir with Triton.

    triton_ttgir.py [--target cuda:80] [-o FOLDER] FILE.ttgir ...

shows whether Triton takes what tritonc made:

    tritonc compile --target cuda:80 --emit ttgir -o out kernel.py
    triton_ttgir.py -o out out/*.ttgir

writes out/KERNEL.ptx for every file that Triton compiles to the end, and the
error of every other. It needs Triton and a ptxas (TRITON_PTXAS_PATH), no GPU.
"""

import argparse
import os
import sys
import tempfile
import traceback


def compile_file(path, target, folder):
    import triton
    from triton.backends.compiler import GPUTarget

    backend, _, arch = target.partition(":")
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        kernel = triton.compile(path, target=GPUTarget(backend, int(arch), 32))
        name = os.path.splitext(os.path.basename(path))[0] + ".ptx"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(kernel.asm["ptx"])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("files", nargs="+")
    p.add_argument("--target", default="cuda:80")
    p.add_argument("-o", "--output", default=".", metavar="FOLDER")
    args = p.parse_args()
    os.makedirs(args.output, exist_ok=True)
    bad = 0
    for path in args.files:
        sys.stdout.flush()
        pid = os.fork()  # Triton may abort
        if pid == 0:
            code = 1
            try:
                compile_file(path, args.target, args.output)
                code = 0
            except Exception:
                traceback.print_exc(limit=-1)
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        bad += status != 0
        print("refused" if status else "taken", path)
    print(f"{len(args.files) - bad} of {len(args.files)} taken")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
