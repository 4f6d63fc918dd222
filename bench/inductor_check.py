#!/usr/bin/env python3
"""Compiles the kernels that inductor_record.py recorded, with tritonc.

    inductor_check.py DIR [--tritonc bin/tritonc] [--target cuda:90] [--emit cubin]
                      [--torch SITE] [--only TEXT] [--jobs 2]

Each kernel is compiled as it is, for the signature and the blocks that its
decorator gives, and then for every configuration that was recorded. With --torch,
a folder that holds torch, its own triton_helpers takes the place of tritonc's,
and the ttir of each configuration is compared with Triton's.
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile


def tritonc(args, *rest):
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([args.tritonc, *rest], env=env, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def check(args, folder):
    """Yields (what, error or None) for each compile of one recorded kernel."""
    source = os.path.join(folder, "kernel.py")
    flags = ["--target", args.target, "--no-cache"]
    if args.torch:
        flags += ["--python-path", args.torch]
    with tempfile.TemporaryDirectory() as out:
        code, _, said = tritonc(args, *flags, "--emit", args.emit, "-o", out, source)
        yield "as it is", said if code else None
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".json"):
                continue
            with open(os.path.join(folder, name)) as f:
                config = json.load(f)
            constants = ", ".join(f"{k}={v!r}" for k, v in config["constants"].items()) or " "
            here = os.path.join(out, name)
            more = ["-n", config["kernel"], "-w", str(config["num_warps"]), "-k", str(config["num_stages"]), "-s", constants]
            code, _, said = tritonc(args, *flags, *more, "--emit", "ttir", "-o", here, source)
            if code == 0 and args.torch:
                ours = os.path.join(here, os.listdir(here)[0])
                code, said, more = tritonc(args, "diff", ours, os.path.join(folder, name.replace(".json", ".ttir")))
                said += more
            yield name, said if code else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--tritonc", default="bin/tritonc")
    parser.add_argument("--target", default="cuda:90")
    parser.add_argument("--emit", default="cubin")
    parser.add_argument("--torch")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    folders = sorted(d for d in os.listdir(args.folder) if args.only in d and os.path.isdir(os.path.join(args.folder, d)))
    compiled, wrong = 0, 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, results in zip(folders, pool.map(lambda d: list(check(args, os.path.join(args.folder, d))), folders)):
            for what, error in results:
                compiled += 1
                if error is not None:
                    wrong += 1
                    print(f"== {name}: {what}\n{error.rstrip()[:2000]}\n", flush=True)
    print(f"{len(folders)} kernels, {compiled} compiles, {wrong} wrong")
    sys.exit(1 if wrong or not folders else 0)


if __name__ == "__main__":
    main()
