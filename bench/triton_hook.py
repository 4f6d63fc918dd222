#!/usr/bin/env python3
"""Puts tritonc into the triton package, from this checkout (integrations/triton).

    bench/triton_hook.py program.py [ARGUMENT ...]     run a program so
    bench/triton_hook.py -m module [ARGUMENT ...]

or, in a program, before the first kernel is compiled:

    import triton_hook; triton_hook.install()

    TRITONC           the tritonc to run (bin/tritonc beside this folder)
    TRITONC_HOOK      raise (default), fallback, or off
    TRITONC_HOOK_KEEP a folder that gets the input of each compile that failed
"""

import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "integrations" / "triton"))
import tritonc.__main__ as command
import tritonc.triton as package

Failed, Refused, report = package.Failed, package.Refused, package.report


def install(tritonc=None, mode=None, assemble=True):
    """Makes the triton package of this process compile with tritonc; returns the hook, or
    None with mode "off"."""
    mode = mode or os.environ.get("TRITONC_HOOK") or "raise"
    if mode not in ("raise", "fallback", "off"):
        raise SystemExit(f"TRITONC_HOOK={mode}: want raise, fallback or off")
    if mode == "off":
        return None
    return package.install(tritonc or os.environ.get("TRITONC") or str(HERE.parent / "bin/tritonc"), mode == "fallback",
                           keep=os.environ.get("TRITONC_HOOK_KEEP") or None, assemble=assemble)


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help") or (sys.argv[1] == "-m" and len(sys.argv) < 3):
        print(__doc__)
        sys.exit(0 if len(sys.argv) > 1 and sys.argv[1] != "-m" else 2)
    sys.modules["triton_hook"] = sys.modules[__name__]  # so that an import finds this one
    hook = install()
    try:
        command.run(sys.argv[1:])
    finally:
        if hook:
            print(str(report()).splitlines()[1], file=sys.stderr)


if __name__ == "__main__":
    main()
