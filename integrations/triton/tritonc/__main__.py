"""python -m tritonc [--fallback] [--report] program.py [ARGUMENT ...]
python -m tritonc [--fallback] [--report] -m module [ARGUMENT ...]

Runs a program whose Triton compiles with tritonc, and says how many kernels that were.

    --fallback  Triton compiles what tritonc does not
    --report    list the kernels
"""

import os
import pathlib
import runpy
import sys

from .errors import Unsupported


def run(argv):
    """Runs a program or, after -m, a module as __main__."""
    if argv[0] == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(pathlib.Path(argv[0]).resolve().parent)
        sys.argv = argv
        runpy.run_path(sys.argv[0], run_name="__main__")


def main(argv):
    fallback = report = None
    while argv and argv[0] in ("--fallback", "--report"):
        fallback, report = fallback or argv[0] == "--fallback" or None, report or argv[0] == "--report"
        argv = argv[1:]
    if not argv or argv[0] in ("-h", "--help") or argv == ["-m"]:
        print(__doc__.strip())
        return 0 if argv and argv[0] != "-m" else 2
    if argv[0].startswith("-") and argv[0] != "-m":
        print(f"tritonc: there is no flag {argv[0]}; python -m tritonc --help lists them", file=sys.stderr)
        return 2
    from . import triton
    # A program that is not there is told before anything else is done.
    if argv[0] != "-m" and not os.path.exists(argv[0]):
        print(f"tritonc: there is no program {argv[0]}", file=sys.stderr)
        return 2
    try:
        triton.install(fallback=fallback)
    except Unsupported as e:
        print(f"tritonc: {e}", file=sys.stderr)
        return 2
    try:
        run(argv)
    finally:
        text = str(triton.report())
        print(text if report else text.splitlines()[1], file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
