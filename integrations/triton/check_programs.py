#!/usr/bin/env python3
"""Runs programs that use Triton, through tritonc and with Triton alone, and compares what they find.

    integrations/triton/check_programs.py FOLDER [--only TEXT] [--names NAMES] [--budget SECONDS] [--at-once 6] [--json FILE] [--resume FILE]

It needs a GPU, torch and Triton. A program is a Python file of FOLDER that leaves results
in variables whose names begin with "result", as those of TritonBench do: tensors and
numbers in dicts, lists and tuples. Random numbers have the same seed on both sides.

    ok          the same results (check.py's tolerances)
    late        not begun within the budget, not done by Triton in the limit, or under way when the script
                was ended (SIGTERM, as timeout sends)
    varies      other results, and Triton's own are others when it runs the program again, or with the
                blocks of each kernel in the opposite order: its blocks write to the same places, or
                beyond tensors. Results that are the same in all of Triton's runs are compared.
    skipped     does not run with Triton alone either, or leaves no result
    WRONG, FAILED, NOT OURS, HUNG   what the exit status, 1, stands for

NOT OURS: a program that runs, and of which tritonc compiled nothing. HUNG: one that does not end in
three times the limit either, with nothing beside it; what it did then is told. Memory that nobody
has written is 0 on both sides, and of an autotuner's configurations all run and the first is taken. With
TRITONC_FROM_SOURCE=1 in the environment tritonc's side is in source mode, and the table says how many
kernels came from their files.
"""

import argparse
import contextlib
import faulthandler
import functools
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))
import check

BAD = ("WRONG", "FAILED", "NOT OURS", "HUNG")

# What Triton runs anew of programs that have other results.
AGAIN = {"again": "when it runs again", "turned": "with the blocks in the opposite order"}


# ---- a side: a process with torch loaded, of which each program is a fork


def clear_memory(torch):
    """Has what torch.empty and its like give be 0, which else differs from process to process."""
    def cleared(make):
        @functools.wraps(make)
        def f(*args, **kwargs):
            made = make(*args, **kwargs)
            with torch.no_grad(), contextlib.suppress(NotImplementedError):  # of types without arithmetic
                made.zero_()
            return made
        return f

    for space, name in ((torch, "empty"), (torch, "empty_like"), (torch, "empty_strided"), (torch.Tensor, "new_empty")):
        setattr(space, name, cleared(getattr(space, name)))


def take_first(torch):
    """Has autotuners compile and run every configuration, and take the first one that runs. The fastest may
    be another one the next time, and what a program leaves may depend on it."""
    import triton.testing
    ranks = itertools.count(1.0)

    def measure(fn, *_, quantiles=None, **__):
        fn()
        torch.cuda.synchronize()
        rank = next(ranks)
        return [rank] * len(quantiles) if quantiles else rank

    triton.testing.do_bench = measure


def turn_blocks():
    """Has kernels that Triton compiles from now on number their blocks from the last one down."""
    from triton.language.semantic import TritonSemantic as semantic
    number = semantic.program_id

    def turned(self, axis):
        last = self.sub(self.num_programs(axis), 1, False)
        return self.sub(last, number(self, axis), False)

    semantic.program_id = turned


def run_program(path, out, session, limit):
    """Runs a program, and leaves its results and what became of it; never returns."""
    import torch
    found, begun = {}, time.time()
    before = len(session.entries()) if session else 0
    try:
        faulthandler.dump_traceback_later(0.95 * limit, file=open(out + ".where", "w"))
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        clear_memory(torch)
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
    found.update(compiles(session, before, os.getpid()), seconds=round(time.time() - begun, 2))
    leave(out + ".json", found)
    os._exit(0)


def leave(path, found):
    """Writes a file of JSON, which is there when all of it is."""
    with open(f"{path}.part", "w") as f:
        f.write(json.dumps(found, indent=1) + "\n")
    os.replace(f"{path}.part", path)


def compiles(session, before, pid):
    """What became of the kernels of a process, by a log that had some entries before."""
    if not session:
        return {}
    mine = [e for e in session.entries()[before:] if e["pid"] == pid]
    found = {how: sum(e["how"] == how for e in mine) for how in ("compiled", "failed", "refused")}
    return found | check.sources([e for e in mine if e["how"] == "compiled"])


def where(path):
    """The innermost functions of what faulthandler wrote, a thread's last: of the main one."""
    try:
        thread = path.read_text().rpartition("Thread 0x")[2]
    except OSError:
        return ""
    frames = re.findall(r'File ".*?([^/"]+)", line (\d+) in (\S+)', thread)
    frames = [f"{f} ({name}:{line})" for name, line, f in frames if name != pathlib.Path(__file__).name]
    return f"; it was in {', called by '.join(frames[:4])}" if frames else ""


def side(a):
    """Forks a process for each program, several at once."""
    import torch  # what is loaded here a program need not load
    import triton  # noqa: F401
    session = None
    if a.side == "tritonc":
        import tritonc.triton as package
        session = package.install(a.program).session
    take_first(torch)
    if a.turned:
        turn_blocks()
    todo, running = programs(a), {}
    while todo or running:
        while todo and len(running) < a.at_once:
            path = todo.pop(0)
            if a.deadline and time.time() > a.deadline:
                leave(os.path.join(a.out, path.stem + ".json"), {"late": True})
                continue
            pid = os.fork()
            if not pid:
                run_program(path, os.path.join(a.out, path.stem), session, a.limit)
            running[pid] = path, time.time()
        if not running:  # what was left is late
            break
        pid, _ = os.waitpid(-1, os.WNOHANG)
        if pid:
            running.pop(pid, None)
            continue
        for pid, (path, since) in running.items():
            if time.time() - since > a.limit:
                os.kill(pid, signal.SIGKILL)
                why = f"no end in {a.limit:g} s{where(pathlib.Path(a.out, path.stem + '.where'))}"
                leave(os.path.join(a.out, path.stem + ".json"), {"error": why, "killed": True, **compiles(session, 0, pid)})
        time.sleep(0.01)


# ---- the parent


def programs(a):
    known = {row["name"] for row in resumed(a)}
    found = {p.stem: p for p in sorted(a.folder.glob("*.py")) if a.only in p.name and p.name not in known}
    return list(found.values()) if a.names is None else [found[n] for n in a.names.split(",") if n in found]


def resumed(a):
    """The rows of an earlier run that need not be found again."""
    if not a.resume:
        return []
    return [row for row in json.loads(pathlib.Path(a.resume).read_text()) if row["verdict"] not in (*BAD, "late")]


def left(folder, path):
    """What became of a program on one side."""
    try:
        return json.loads(pathlib.Path(folder, path.stem + ".json").read_text())
    except (OSError, ValueError):
        return {"error": "its process died"}


def load(folder, path):
    import torch
    return torch.load(pathlib.Path(folder, path.stem + ".pt"), weights_only=False)


def verdict(path, folders):
    """What becomes of a program: a dict with "verdict" and "why"."""
    theirs, ours = (left(folders[who], path) for who in ("triton", "tritonc"))
    if "late" in theirs or "late" in ours:
        return {"verdict": "late", "why": "not begun within the budget"}
    if theirs.get("killed"):
        return {"verdict": "late", "why": f"with Triton alone: {theirs['error']}"}
    if "error" in theirs or not theirs["results"]:
        return {"verdict": "skipped", "why": theirs.get("error", "it leaves no result")}
    facts = {"kernels": ours.get("compiled", 0), "seconds": {"triton": theirs.get("seconds"), "tritonc": ours.get("seconds")},
             **{k: ours[k] for k in ("from_source", "not_source") if k in ours}}
    if "error" in ours:
        if ours.get("killed"):
            return {"verdict": "HUNG", "why": f"{ours['error']}, with {facts['kernels']} kernels compiled", **facts}
        return {"verdict": "FAILED", "why": ours["error"], **facts}
    if ours["failed"] or ours["refused"]:
        return {"verdict": "FAILED", "why": f"{ours['failed']} kernels failed and {ours['refused']} were refused, which the program let pass", **facts}
    if not ours["compiled"]:
        return {"verdict": "NOT OURS", "why": "tritonc compiled nothing", **facts}
    why = check.difference(load(folders["tritonc"], path), load(folders["triton"], path))
    return {"verdict": "WRONG" if why else "ok", "why": why or "", **facts}


def unsteady(path, folders):
    """The verdict of a program with other results, if it is that Triton's own runs differ where they do;
    folders are those of all its runs, the first one first."""
    ours, theirs = load(folders["tritonc"], path), load(folders["triton"], path)
    runs = {how: load(folders[how], path) for how in AGAIN if "results" in left(folders[how], path)}
    if any(len(r) != len(theirs) for r in [ours, *runs.values()]):
        return {}
    varying = {}
    for how, results in runs.items():
        for i, (a, b) in enumerate(zip(results, theirs)):
            if check.difference([a], [b]):
                varying.setdefault(i, how)
    differ = [i for i, (a, b) in enumerate(zip(ours, theirs)) if check.difference([a], [b])]
    if not set(differ) <= set(varying):
        return {}
    return {"verdict": "varies", "why": "; ".join(f"result {i}, and Triton's own {AGAIN[varying[i]]}" for i in differ)}


class Ended(Exception):
    """The script is to end, and to tell what it has."""


def done(path, folders):
    """Whether a program has ended on both sides."""
    return all(os.path.exists(os.path.join(folders[who], path.stem + ".json")) for who in ("triton", "tritonc"))


def settle_hung(path, row, folders):
    """The verdict of a program that did not end in time, once it has run alone."""
    if not os.path.exists(os.path.join(folders["alone"], path.stem + ".json")):
        return {"why": f"{row['why']}; it was not run again alone"}
    found = verdict(path, {**folders, "tritonc": folders["alone"]})
    for end in (".json", ".pt"):  # what it is compared with from now on
        with contextlib.suppress(OSError):
            shutil.copyfile(os.path.join(folders["alone"], path.stem + end), os.path.join(folders["tritonc"], path.stem + end))
    return found


def settle_wrong(path, row, folders):
    """The verdict of a program with other results, once Triton has run it again."""
    found = unsteady(path, folders)
    missing = [how for how in AGAIN if not os.path.exists(os.path.join(folders[how], path.stem + ".json"))]
    if not found and missing:
        return {"why": f"{row['why']}; Triton's own were not looked at {' or '.join(AGAIN[how] for how in missing)}"}
    return found


def table(rows):
    lines = [f"{r['name']:50} {r['verdict']:9} {r['why']}" for r in rows if r["verdict"] != "ok"]
    counts = {}
    for r in rows:
        counts[r["verdict"]] = counts.get(r["verdict"], 0) + 1
    lines.append(f"{len(rows)} programs, {sum(r.get('kernels', 0) for r in rows)} kernels: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    lines += check.sources_line(rows)
    return "\n".join(lines)


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=pathlib.Path)
    p.add_argument("--only", default="", help="programs whose name has this in it")
    p.add_argument("--names", help="these programs alone, in this order, by commas, without .py")
    p.add_argument("--budget", type=float, help="seconds after which no program is begun")
    p.add_argument("--at-once", type=int, default=6, help="programs of each side at a time (%(default)s)")
    p.add_argument("--limit", type=float, default=90, help="seconds that one program may take (%(default)s)")
    p.add_argument("--program", help="the tritonc to check")
    p.add_argument("--json", help="a file for all that was found")
    p.add_argument("--resume", metavar="FILE", help="what --json left before: programs with a verdict that is not bad are not run again")
    p.add_argument("--side", choices=("triton", "tritonc"), help=argparse.SUPPRESS)
    p.add_argument("--out", help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    p.add_argument("--turned", action="store_true", help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    a.folder = a.folder.resolve()
    if a.side:
        return side(a)
    paths, earlier = programs(a), resumed(a)
    if not paths and not earlier:
        p.error(f"there is no program in {a.folder}" + (f" of the names {a.names}" if a.names else ""))
    deadline = time.time() + a.budget if a.budget else None
    with tempfile.TemporaryDirectory(prefix="tritonc-programs-") as tmp:
        folders = {who: os.path.join(tmp, who) for who in ("tritonc", "triton", "alone", *AGAIN)}

        def start(who, *flags, paths=paths, deadline=None):
            """Starts the side that fills a folder, in a group with its forks."""
            ours = who in ("tritonc", "alone")
            os.mkdir(folders[who])
            env = {k: v for k, v in os.environ.items() if ours or not k.startswith("TRITONC")}
            env["TRITON_CACHE_DIR"] = os.path.join(tmp, who + "-cache")
            command = [sys.executable, __file__, str(a.folder), "--side", "tritonc" if ours else "triton", "--out", folders[who], "--names", ",".join(p.stem for p in paths),
                       "--at-once", str(a.at_once), "--limit", str(a.limit), *(["--program", a.program] if a.program else []),
                       *(["--deadline", str(deadline)] if deadline else []), *flags]
            started.append(subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, start_new_session=True))
            return started[-1]

        def wait(*sides):
            """Waits for sides, and keeps how they ended; raises Ended when the script is to end. What is done
            meanwhile is compared."""
            while any(s.poll() is None for s in sides):
                if asked:
                    raise Ended
                for path in [path for path in paths if path not in rows and done(path, folders)]:
                    compare(path)
                time.sleep(0.02)
            statuses.extend(s.returncode for s in sides)

        def compare(path):
            rows[path] = {"name": path.name, **verdict(path, folders)}
            if a.json:
                leave(a.json, earlier + list(rows.values()))

        def those(bad):
            return [path for path, row in rows.items() if row["verdict"] == bad]

        def settle(bad, how):
            """Looks again at the programs of a verdict."""
            for path in those(bad):
                rows[path].update(how(path, rows[path], folders))

        started, statuses, rows, asked = [], [], {}, []
        # Noted, and heeded by wait(): raised where it comes, it could lose a side that is being started.
        # timeout sends two, to the script and to its group.
        signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
        try:
            if paths:
                wait(start("tritonc", deadline=deadline), start("triton", deadline=deadline))
            for how, status in zip(("through tritonc", "with Triton alone"), statuses):
                if status:  # it could not begin: a verdict on each program would say that of the program
                    p.exit(1, f"{p.prog}: no program was run {how}: the process that starts them ended with status {status}, for the reason above\n")
            for path in [path for path in paths if path not in rows]:
                compare(path)
            if those("HUNG"):
                wait(start("alone", "--at-once", "1", "--limit", str(3 * a.limit), paths=those("HUNG")))
                settle("HUNG", settle_hung)
            if those("WRONG"):
                wait(start("again", paths=those("WRONG")), start("turned", "--turned", paths=those("WRONG")))
                settle("WRONG", settle_wrong)
        except BaseException as e:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends; a handler would be taken back before Python has ended
            for s in started:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(s.pid, signal.SIGTERM)
                s.wait()
            if not isinstance(e, Ended):
                raise
            for path in [path for path in paths if path not in rows]:
                if done(path, folders):
                    compare(path)
                else:
                    rows[path] = {"name": path.name, "verdict": "late", "why": "under way, or not begun, when the script was ended"}
            settle("HUNG", settle_hung)
            settle("WRONG", settle_wrong)
            statuses.append(1)
        rows = [rows[path] for path in paths]
    return told(earlier + rows, a.json, any(statuses))


def told(rows, path, status):
    """Tells the rows; the exit status, given that of what was run."""
    print(table(rows), flush=True)
    if path:
        leave(path, rows)
    return 1 if status or any(r["verdict"] in BAD for r in rows) or not any(r["verdict"] == "ok" for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
