#!/usr/bin/env python3
"""Counts which public kernels compile for one target and which for another.

    scripts/public_kernels.py compile OUT.tsv --checkouts DIR --target cuda:90 --emit ptx
    scripts/public_kernels.py compile OUT.tsv --checkouts DIR --target hip:gfx942 --emit hsaco
    scripts/public_kernels.py compare CUDA.tsv HIP.tsv

The kernels are those of core/frontend/testdata/manifest.tsv; DIR holds each
repository at its commit, as owner/name. compile writes a row for each: path,
kernel, signature, and "ok" or the first line of the message. It goes on with an
OUT.tsv that is not complete, and with --again compiles anew what failed there;
--only TEXT narrows it to rows that hold the text.

compare counts the kernels that compile for both, and lists those that compile for
the first and not for the second: those that use what only the first target's vendor
has (inline PTX, functions of CUDA's libdevice by name, clusters), and the rest,
each by the message. It exits with 1 if less than 98 % of the others compile.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from manifest import public_jobs

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 600  # seconds for one compile
LIMIT = 0.98

# What only CUDA has, by the message with which another target refuses it.
CUDA_ONLY = {
    "PTX assembly": r"tt\.elementwise_inline_asm: ",
    "functions of CUDA by name": r"tl\.extra\.cuda|triton\.language\.extra\.cuda|__nv_",
    "clusters": r"num_ctas",
}


def compile_one(options, args):
    """Returns "ok", or the first line of what a compile says, without places."""
    with tempfile.TemporaryDirectory() as out:
        command = [str(options.tritonc.resolve()), "compile", "--color", "never", "--allow-unlaunchable", "--no-cache",
                   "--target", options.target, "--emit", options.emit, "-o", out, *args]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"took over {TIMEOUT} s"
    if done.returncode == 0:
        return "ok"
    for line in done.stderr.splitlines():
        if "BUG" in line or "panic" in line:
            return line.strip()
    errors = [line for line in done.stderr.splitlines() if "error: " in line]
    return errors[0].partition("error: ")[2].strip() if errors else f"exit {done.returncode}: {' '.join(done.stderr.split())[:200]}"


def read(path):
    rows = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        *key, outcome = line.split("\t")
        rows[tuple(key)] = outcome
    return rows


def compile_all(options):
    known = read(options.out) if options.out.exists() else {}
    if options.again:
        known = {key: outcome for key, outcome in known.items() if outcome == "ok" or options.only not in "\t".join(key)}
    work = [(key, args) for key, args in public_jobs(options.checkouts.resolve())]
    with open(options.out, "w", encoding="utf-8") as out, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for key, outcome in known.items():
            print(*key, outcome, sep="\t", file=out, flush=True)
        todo = [(key, args) for key, args in work if key not in known and options.only in "\t".join(key)]
        running = {pool.submit(compile_one, options, args): key for key, args in todo}
        for done in concurrent.futures.as_completed(running):
            print(*running[done], done.result(), sep="\t", file=out, flush=True)
    outcomes = read(options.out)
    print(f"{sum(o == 'ok' for o in outcomes.values())} of {len(work)} compile for {options.target} to {options.emit}")


def compare(options):
    first, second = read(options.first), read(options.second)
    compiled = [key for key, outcome in first.items() if outcome == "ok"]
    both = [key for key in compiled if second.get(key) == "ok"]
    own, rest = collections.defaultdict(list), collections.defaultdict(list)
    for key in compiled:
        outcome = second.get(key, "not tried")
        if outcome == "ok":
            continue
        for what, pattern in CUDA_ONLY.items():
            if re.search(pattern, outcome):
                own[what].append(key)
                break
        else:
            rest[re.sub(r"\d+", "N", outcome)].append(key)
    others = len(compiled) - sum(map(len, own.values()))
    print(f"{len(first):5} kernels\n{len(compiled):5} compile for the first target")
    def show(keys):
        if options.verbose:
            for key in keys:
                print("        ", *key[:2])

    for what, keys in sorted(own.items()):
        print(f"{len(keys):5} of these use {what}")
        show(keys)
    print(f"{len(both):5} of the other {others} compile for the second: {100 * len(both) / max(others, 1):.1f} %")
    for outcome, keys in sorted(rest.items(), key=lambda row: -len(row[1])):
        print(f"{len(keys):5} {outcome}")
        show(keys)
    sys.exit(0 if len(both) >= LIMIT * others else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("compile")
    verb.add_argument("out", type=pathlib.Path)
    verb.add_argument("--checkouts", type=pathlib.Path, required=True)
    verb.add_argument("--target", required=True)
    verb.add_argument("--emit", required=True)
    verb.add_argument("--again", action="store_true")
    verb.add_argument("--only", default="")
    verb.add_argument("--tritonc", type=pathlib.Path, default=ROOT / "bin/tritonc")
    verb.add_argument("--jobs", type=int, default=os.cpu_count())
    verb.set_defaults(run=compile_all)
    verb = verbs.add_parser("compare")
    verb.add_argument("first", type=pathlib.Path)
    verb.add_argument("second", type=pathlib.Path)
    verb.add_argument("-v", "--verbose", action="store_true")
    verb.set_defaults(run=compare)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
