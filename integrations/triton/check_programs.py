#!/usr/bin/env python3
"""Runs programs that use Triton, through tritonc and with Triton alone, and compares what they find.

    integrations/triton/check_programs.py FOLDER [--only TEXT] [--at-once 6] [--json FILE]

It needs a GPU, torch and Triton. A program is a Python file of FOLDER that leaves results
in variables whose names begin with "result", as those of TritonBench do: tensors and
numbers in dicts, lists and tuples. Random numbers have the same seed on both sides.

    ok          the same results (check.py's tolerances)
    skipped     does not run with Triton alone either, or leaves no result
    WRONG, FAILED, NOT OURS, HUNG   what the exit status, 1, stands for

NOT OURS: a program that runs, and of which tritonc compiled nothing.
"""

import argparse
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import check

BAD = ("WRONG", "FAILED", "NOT OURS", "HUNG")


# ---- a side: a process with torch loaded, of which each program is a fork


def run_program(path, out, session):
    """Runs a program, and leaves its results and what became of it; never returns."""
    import torch
    before = len(session.entries()) if session else 0
    found = {}
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        random.seed(0)
        torch.manual_seed(0)
        space = {"__name__": "__main__", "__file__": str(path)}
        sys.argv, sys.path[0] = [str(path)], str(path.parent)
        exec(compile(path.read_text(), str(path), "exec"), space)
        torch.cuda.synchronize()
        results = check.flatten({k: v for k, v in space.items() if k.startswith("result")})
        results = [r.detach().cpu() if isinstance(r, torch.Tensor) else r for r in results if isinstance(r, (torch.Tensor, int, float, bool))]
        torch.save(results, out + ".pt")
        found["results"] = len(results)
    except BaseException as e:
        found["error"] = check.first_line(e)
    if session:
        mine = [e for e in session.entries()[before:] if e["pid"] == os.getpid()]
        found.update({how: sum(e["how"] == how for e in mine) for how in ("compiled", "failed", "refused")})
    with open(out + ".json", "w") as f:
        json.dump(found, f)
    os._exit(0)


def side(a):
    """Forks a process for each program, several at once."""
    import torch  # noqa: F401  what is loaded here a program need not load
    import triton  # noqa: F401
    session = None
    if a.side == "tritonc":
        import tritonc.triton as package
        session = package.install(a.program).session
    todo, running = programs(a), {}
    while todo or running:
        while todo and len(running) < a.at_once:
            path = todo.pop(0)
            pid = os.fork()
            if not pid:
                run_program(path, os.path.join(a.out, path.stem), session)
            running[pid] = path, time.time()
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            running.pop(pid, None)
            continue
        for pid, (path, since) in running.items():
            if time.time() - since > a.limit:
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


# ---- the parent


def programs(a):
    return [p for p in sorted(a.folder.glob("*.py")) if a.only in p.name]


def verdict(path, folders):
    """What becomes of a program: a dict with "verdict" and "why"."""
    found = {}
    for who, folder in folders.items():
        try:
            found[who] = json.loads(pathlib.Path(folder, path.stem + ".json").read_text())
        except (OSError, ValueError):
            found[who] = {"error": "no end, or it was killed"}
    theirs, ours = found["triton"], found["tritonc"]
    if "error" in theirs or not theirs["results"]:
        return {"verdict": "skipped", "why": theirs.get("error", "it leaves no result")}
    facts = {"kernels": ours.get("compiled", 0)}
    if "error" in ours:
        return {"verdict": "HUNG" if "no end" in ours["error"] else "FAILED", "why": ours["error"], **facts}
    if ours["failed"] or ours["refused"]:
        return {"verdict": "FAILED", "why": f"{ours['failed']} kernels failed and {ours['refused']} were refused, which the program let pass", **facts}
    if not ours["compiled"]:
        return {"verdict": "NOT OURS", "why": "tritonc compiled nothing", **facts}
    import torch
    results = [torch.load(pathlib.Path(folders[who], path.stem + ".pt"), weights_only=False) for who in ("tritonc", "triton")]
    why = check.difference(*results)
    return {"verdict": "WRONG" if why else "ok", "why": why or "", **facts}


def table(rows):
    lines = [f"{r['name']:50} {r['verdict']:9} {r['why']}" for r in rows if r["verdict"] != "ok"]
    counts = {}
    for r in rows:
        counts[r["verdict"]] = counts.get(r["verdict"], 0) + 1
    lines.append(f"{len(rows)} programs, {sum(r.get('kernels', 0) for r in rows)} kernels: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    return "\n".join(lines)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--only", default="", help="programs whose name has this in it")
    p.add_argument("--at-once", type=int, default=6, help="programs of each side at a time (%(default)s)")
    p.add_argument("--limit", type=float, default=90, help="seconds that one program may take (%(default)s)")
    p.add_argument("--program", help="the tritonc to check")
    p.add_argument("--json", help="a file for all that was found")
    p.add_argument("--side", choices=("triton", "tritonc"), help=argparse.SUPPRESS)
    p.add_argument("--out", help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    a.folder = a.folder.resolve()
    if a.side:
        return side(a)
    if not programs(a):
        p.error(f"there is no program in {a.folder}")
    with tempfile.TemporaryDirectory(prefix="tritonc-programs-") as tmp:
        folders, sides = {}, []
        for who in ("tritonc", "triton"):
            folders[who] = os.path.join(tmp, who)
            os.mkdir(folders[who])
            env = {k: v for k, v in os.environ.items() if who == "tritonc" or not k.startswith("TRITONC")}
            env["TRITON_CACHE_DIR"] = os.path.join(tmp, who + "-cache")
            command = [sys.executable, __file__, str(a.folder), "--side", who, "--out", folders[who], "--only", a.only, "--at-once", str(a.at_once),
                       "--limit", str(a.limit), *(["--program", a.program] if a.program else [])]
            sides.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL))
        ended = [s.wait() for s in sides]
        rows = [{"name": path.name, **verdict(path, folders)} for path in programs(a)]
    print(table(rows))
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(ended) or any(r["verdict"] in BAD for r in rows) or not any(r["verdict"] == "ok" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
