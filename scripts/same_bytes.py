#!/usr/bin/env python3
"""Checks that a change to the compiler changes no byte of what it emits.

    scripts/same_bytes.py record OUT.tsv [--tritonc PROGRAM] [--checkouts DIR] [--stage llir] [--option NAME=VALUE]
    scripts/same_bytes.py compare OLD.tsv NEW.tsv

record compiles every kernel below to PTX and metadata, for cuda:80 and cuda:90,
and writes a row for each: target, file, kernel, signature, and the SHA-256 of
both artifacts, or "refused" where there is a diagnostic. The metadata's hashes are
left out: they identify the compiler, too. The kernels are

  - those of core/frontend/testdata/jobs.txt, the reference kernels,
  - the variants of examples/*.py,
  - with --checkouts, the public kernels that manifest.tsv beside jobs.txt lists;
    DIR holds each repository at its commit, as owner/name.

With --stage llir it compares that, which takes a fifth of the time: PTX is what
llc makes of it, and the arguments of llc are in the tests of the backend.

compare lists the rows that differ, counts them, and exits with 1 if there are
any: a different hash, a kernel that is refused in one of the two, or a row that
one of them lacks.

A tree to compare with: `git worktree add DIR COMMIT && make -C DIR build`, then
--tritonc DIR/bin/tritonc. Both must find the same llc and ptxas.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from manifest import public_jobs

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTDATA = ROOT / "core/frontend/testdata"
TARGETS = ("cuda:80", "cuda:90")
TIMEOUT = 300  # seconds for one compile


def reference_jobs():
    """Yields (label, arguments) for each row of jobs.txt."""
    for line in (TESTDATA / "jobs.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, file, kernel, arguments, options = line.split("\t")
        entries = []
        for argument in arguments.split(", "):
            entries.append(signature_entry(argument))
        args = ["-n", kernel, "-s", ", ".join(entries)]
        for option in options.split():
            args += ["--option", option]
        yield (file, kernel, name), [*args, str(TESTDATA / file)]


def signature_entry(argument):
    """Turns an argument of jobs.txt into an entry of tritonc's -s."""
    name, equals, value = argument.partition("=")
    if not equals:
        return argument.replace(":", "=", 1)
    if value.isidentifier() and value not in ("True", "False", "None"):
        return f"{name}='{value}'"  # jobs.txt writes strings without quotes
    return argument


def example_jobs():
    for file in sorted((ROOT / "examples").glob("*.py")):
        yield (f"examples/{file.name}", "", "all variants"), [str(file)]


def compile_one(program, target, stage, args):
    """Returns the hash of a stage's text and the metadata that a compile writes, or "refused"."""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "compile", "--allow-unlaunchable", "--target", target, "--no-cache", "--emit", stage + ",json", "-o", out, *args]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"took over {TIMEOUT} s"
        if done.returncode != 0:
            if done.returncode not in (1, 2) or "BUG" in done.stderr or "panic" in done.stderr:
                return "crashed: " + " ".join(done.stderr.split())[:200]
            return "refused"
        digest = hashlib.sha256()
        for file in sorted(pathlib.Path(out).iterdir()):
            content = file.read_bytes()
            if file.suffix == ".json":
                metadata = json.loads(content)
                del metadata["hash"], metadata["backend"]["hash"]  # they identify the compiler, too
                content = json.dumps(metadata).encode()
            digest.update(f"{file.name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()


def record(options):
    jobs = [*reference_jobs(), *example_jobs()]
    if options.checkouts:
        jobs += public_jobs(options.checkouts.resolve())
    work = [(target, label, args) for target in TARGETS for label, args in jobs]
    program = str(options.tritonc.resolve())
    given = [word for option in options.option for word in ("--option", option)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        hashes = list(pool.map(lambda job: compile_one(program, job[0], options.stage, [*job[2], *given]), work))
    with open(options.out, "w", encoding="utf-8") as out:
        for (target, label, _), value in zip(work, hashes):
            print(target, *label, value, sep="\t", file=out)
    compiled = sum(len(value) == 64 for value in hashes)
    print(f"{compiled} compiled, {hashes.count('refused')} refused, {len(hashes)} in all")
    for (target, label, _), value in zip(work, hashes):
        if len(value) != 64 and value != "refused":
            print(target, *label, value)


def rows(path):
    table = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        *key, value = line.split("\t")
        table[tuple(key)] = value
    return table


def compare(options):
    old, new = rows(options.old), rows(options.new)
    different = 0
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key, "absent"), new.get(key, "absent")
        if was != now:
            different += 1
            print(*key, f"{was[:16]} -> {now[:16]}", sep="\t")
    compiled = sum(len(value) == 64 for key, value in new.items() if old.get(key) == value)
    print(f"{compiled} compiles give the same bytes, {different} rows differ, {len(old.keys() | new.keys())} in all")
    sys.exit(1 if different else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("record")
    verb.add_argument("out", type=pathlib.Path)
    verb.add_argument("--tritonc", type=pathlib.Path, default=ROOT / "bin/tritonc")
    verb.add_argument("--checkouts", type=pathlib.Path)
    verb.add_argument("--stage", default="ptx")
    verb.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="an option of the backend, such as ptx=llvm")
    verb.add_argument("--jobs", type=int, default=os.cpu_count())
    verb.set_defaults(run=record)
    verb = verbs.add_parser("compare")
    verb.add_argument("old", type=pathlib.Path)
    verb.add_argument("new", type=pathlib.Path)
    verb.set_defaults(run=compare)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
