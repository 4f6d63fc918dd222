#!/usr/bin/env python3
"""Triton's own tests of its language, with and without tritonc in it.

    bench/triton_tests.py FOLDER [--out DIR] [--files test_core.py,...] [--budget SECONDS]

FOLDER is python/test/unit/language of a checkout of Triton (the version that is
installed), with its conftest.py files; it needs CUDA, torch, triton and pytest.
Each test runs twice, once with Triton alone and once with bench/triton_hook.py,
in processes of their own that are started anew when a test takes them down. All
workers of both sides take the tests in one random order (--seed), so that what
a budget leaves undone is a fair sample: counts are of the tests that both ran.

It prints passes for each file side by side, and each test that passes with
Triton alone and not with tritonc, with its cause; DIR gets all of it as JSON.
Apart count what tritonc refuses (Gluon, instrumentation), and tests that fail because
they look for Hopper's own instructions in the code. Exit status 1 when less than
--least of the others pass.
"""

import argparse
import collections
import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
SIDES = ("triton", "tritonc")
# What a test looks for that only code for Hopper's matrix and copy units has; a
# test that would be content with mma.sync, too, names that beside it.
HOPPER = ("wgmma", "stmatrix", "warp_group_dot", "ttng.", "cp.async.bulk", "mbarrier", "tensormap")
FATAL = 70  # a worker's exit status after a test that lost the CUDA context


# ---- a worker: one pytest over its share of the tests


class Share:
    """A pytest plugin: runs every workers-th test of a random order, beginning
    after those that are done, and writes what becomes of each to a file."""

    def __init__(self, number, workers, seed, log, deadline):
        self.number, self.workers, self.seed, self.deadline = number, workers, seed, deadline
        self.done = {entry["test"] for entry in read(log) if "outcome" in entry}
        self.log = open(log, "a")
        self.phases = {}

    def write(self, **entry):
        self.log.write(json.dumps(entry) + "\n")
        self.log.flush()

    def pytest_collection_modifyitems(self, config, items):
        order = sorted(items, key=lambda i: hashlib.sha256(f"{self.seed} {name_of(i.nodeid)}".encode()).digest())
        items[:] = [i for i in order[self.number::self.workers] if name_of(i.nodeid) not in self.done]
        self.write(collected=len(order))

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(uncollected=pathlib.PurePath(report.nodeid).name, why=cause(report))

    def pytest_runtest_protocol(self, item):
        if time.time() > self.deadline:
            item.session.shouldstop = "out of time"
            return True  # not run
        self.write(test=name_of(item.nodeid), begun=True)
        return None

    def pytest_runtest_logreport(self, report):
        self.phases[report.when] = report
        if report.when != "teardown":
            return
        outcome, why = "passed", ""
        for r in self.phases.values():
            if r.failed or (r.skipped and outcome == "passed"):
                outcome, why = r.outcome, cause(r)
        if outcome == "skipped" and any(hasattr(r, "wasxfail") for r in self.phases.values()):
            outcome = "xfailed"
        seconds = sum(r.duration for r in self.phases.values())
        self.phases = {}
        self.write(test=name_of(report.nodeid), outcome=outcome, why=why, seconds=round(seconds, 3))
        if outcome == "failed" and not context_lives():
            self.log.close()
            os._exit(FATAL)


def name_of(nodeid):
    """A test's name without the folders that lead to its file."""
    path, _, rest = nodeid.partition("::")
    return f"{pathlib.PurePath(path).name}::{rest}"


def top(folder):
    """The highest folder whose conftest.py is for the tests, at most three up."""
    near = [folder, *folder.parents[:3]]
    return next((f for f in reversed(near) if (f / "conftest.py").exists()), folder)


def cause(report):
    """Why a test failed or was skipped, in one line."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])[:300]
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    if not crash:  # a traceback as text: pytest marks what was raised by an E
        text = " ".join(line[1:] for line in text.splitlines() if line.startswith("E ")) or text
    return " ".join(text.split())[:400]


def context_lives():
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
        return True
    except Exception:
        return False


def work(a):
    import pytest
    share = Share(a.number, a.workers, a.seed, a.log, a.deadline)
    options = []
    if a.side == "tritonc":
        sys.path.insert(0, str(HERE))
        if a.simulate:
            import triton_sim
            triton_sim.install(a.simulate)
            options = ["--device", "cpu"]
            # Python programs that tests start find the simulated GPU in their sitecustomize.
            os.environ["PYTHONPATH"] = os.pathsep.join([a.site, *filter(None, [os.environ.get("PYTHONPATH")])])
        else:
            import triton_hook
            triton_hook.install()  # and so have the Python programs that tests start
    files = [str(pathlib.Path(a.folder, f)) for f in a.files.split(",")]
    root = top(a.folder)
    status = pytest.main([*files, "-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", "-W", "ignore",
                          "--continue-on-collection-errors", f"--rootdir={root}", f"--confcutdir={root}", *options],
                         plugins=[share])
    # Tests that failed are not failures of the worker; a collection that did is told.
    if status not in (0, 1, 2, 5):
        share.write(error=f"pytest ends with status {int(status)}")
    share.write(ended=True)


# ---- the parent


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


class Worker(threading.Thread):
    """Keeps one share of one side running to its end, over crashes and hangs."""

    def __init__(self, a, side, number, tmp, env, site):
        super().__init__()
        self.a, self.side, self.number, self.env, self.site = a, side, number, env, site
        self.log = f"{tmp}/{side}.{number}"
        self.said = f"{self.log}.out"

    def run(self):
        idle = 0
        while idle < 2 and time.time() < self.a.deadline:
            before = len(read(self.log))
            self.once()
            if any("ended" in e for e in read(self.log)):
                return
            # A worker that dies without having run a test will do so again.
            idle = 0 if any("begun" in e for e in read(self.log)[before:]) else idle + 1

    def once(self):
        a = self.a
        argv = [sys.executable, str(HERE / "triton_tests.py"), str(a.folder), "--worker", self.side, "--number",
                str(self.number), "--workers", str(a.workers), "--seed", str(a.seed), "--log", self.log, "--files",
                a.files, "--deadline", str(a.deadline), "--site", self.site,
                *(["--simulate", a.simulate] if a.simulate else [])]
        with open(self.said, "w") as out:
            p = subprocess.Popen(argv, env=self.env, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                 start_new_session=True)
            size, since, hung = 0, time.time(), False
            while p.poll() is None:
                time.sleep(0.2)
                now = os.path.getsize(self.log) if os.path.exists(self.log) else 0
                if now != size:
                    size, since = now, time.time()
                hung = time.time() - since > a.timeout
                if hung or time.time() > a.deadline + 20:
                    os.killpg(p.pid, signal.SIGKILL)
                    p.wait()
        self.blame(p.returncode, hung)

    def blame(self, status, hung):
        """What a process was at when it ended belongs to that test."""
        entries = read(self.log)
        at = next((e["test"] for e in reversed(entries) if "test" in e), None)
        if at is None or any(e.get("test") == at and "outcome" in e for e in entries):
            return
        if hung:
            why = f"no end in {self.a.timeout:g} s"
        elif time.time() > self.a.deadline:
            return
        else:
            why = f"the process ended with status {status}: {tail(self.said)}"
        with open(self.log, "a") as f:
            f.write(json.dumps({"test": at, "outcome": "failed", "why": why[:400], "seconds": 0}) + "\n")


def tail(path):
    lines = pathlib.Path(path).read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def environment(tmp, pytest):
    """A worker's environment. Both sides share Triton's cache: its keys know tritonc."""
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TRITON_CACHE_DIR": f"{tmp}/cache"}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [pytest, os.environ.get("PYTHONPATH")]))
    return env


def hooked_site(tmp, simulate):
    """A folder whose sitecustomize.py puts the simulated GPU into every Python that finds it."""
    site = pathlib.Path(tmp, "site")
    site.mkdir()
    (site / "sitecustomize.py").write_text(f"import sys\nsys.path.append({str(HERE)!r})\nimport triton_sim\ntriton_sim.install({simulate!r})\n")
    return str(site)


def results(tmp, workers, sides):
    """{side: {test: entry}} and what else the workers said."""
    out, notes, uncollected = {}, [], {}
    for side in SIDES:
        out[side], uncollected[side] = {}, {}
    for side in sides:
        for number in range(workers):
            path = f"{tmp}/{side}.{number}"
            entries = read(path)
            out[side] |= {e["test"]: e for e in entries if "outcome" in e}
            uncollected[side] |= {e["uncollected"]: e["why"] for e in entries if "uncollected" in e}
            notes += [f"{side}, worker {number}: {e['error']}: {tail(path + '.out')}" for e in entries if "error" in e]
            if not any("collected" in e for e in entries):
                said = tail(path + ".out") if os.path.exists(path + ".out") else "it was not started"
                notes.append(f"{side}, worker {number} collected nothing: {said}")
    notes += [f"tritonc cannot collect {f}: {why}" for f, why in uncollected["tritonc"].items()
              if sides == SIDES and f not in uncollected["triton"]]
    return out, notes, [f"{f} cannot be collected: {why}" for f, why in uncollected[sides[0]].items()]


def told(notes, uncollected):
    return "\n".join([*notes, *uncollected, ""]) if notes or uncollected else ""


def summary(out, least):
    """(text, whether enough pass)"""
    theirs, ours = out["triton"], out["tritonc"]
    both = [t for t in theirs if t in ours]
    files = collections.defaultdict(collections.Counter)
    lost, gained = [], []
    for t in sorted(both):
        n = files[t.partition("::")[0]]
        n["run"] += 1
        a, b = theirs[t]["outcome"], ours[t]["outcome"]
        n["triton"] += a == "passed"
        n["tritonc"] += b == "passed"
        if a == "passed" and b != "passed":
            if "Refused" in ours[t]["why"]:
                n["refused"] += 1
            elif any(word in ours[t]["why"] for word in HOPPER) and "'mma.sync" not in ours[t]["why"]:
                n["hopper"] += 1
            else:
                n["lost"] += 1
                lost.append(t)
        if a == "failed" and b == "passed":
            gained.append(t)
    total = sum(files.values(), collections.Counter())
    lines = [f"{'':28} {'run':>7} {'Triton':>7} {'tritonc':>7} {'refused':>7} {'Hopper':>6} {'lost':>6} {'kept':>7}"]
    for name, n in [*sorted(files.items()), ("all", total)]:
        counted = n["triton"] - n["refused"] - n["hopper"]
        kept = f"{100 * (counted - n['lost']) / counted:6.2f}%" if counted else "-"
        lines.append(f"{name:28} {n['run']:7} {n['triton']:7} {n['tritonc']:7} {n['refused']:7} {n['hopper']:6} "
                     f"{n['lost']:6} {kept:>7}")
    counted = total["triton"] - total["refused"] - total["hopper"]
    good = counted > 0 and (counted - total["lost"]) / counted >= least
    only = {s: len(out[s]) - len(both) for s in SIDES}
    lines.append(f"run: by both sides; {only['triton']} more by Triton alone, {only['tritonc']} by tritonc alone. "
                 "kept: of what passes with Triton and is neither refused nor Hopper's")
    causes = collections.defaultdict(list)
    for t in lost:
        causes[ours[t]["outcome"] + ": " + ours[t]["why"][:160]].append(t)
    if causes:
        lines.append("\nPass with Triton and not with tritonc, by cause")
    for why, tests in sorted(causes.items(), key=lambda c: -len(c[1])):
        lines.append(f"{len(tests):5}  {why}")
        lines += [f"         {t}" for t in tests[:3]]
    if gained:
        lines.append(f"\n{len(gained)} fail with Triton and pass with tritonc, such as {gained[0]}")
    return "\n".join(lines) + "\n", good


def summary_alone(ours):
    """The same of tritonc alone: which failures are its own is for the reader."""
    files, causes = collections.defaultdict(collections.Counter), collections.defaultdict(list)
    for t, e in sorted(ours.items()):
        files[t.partition("::")[0]][e["outcome"]] += 1
        if e["outcome"] == "failed":
            causes[e["why"][:160]].append(t)
    lines = [f"{'':28} {'passed':>7} {'failed':>7} {'skipped':>7}"]
    for name, n in [*sorted(files.items()), ("all", sum(files.values(), collections.Counter()))]:
        lines.append(f"{name:28} {n['passed']:7} {n['failed']:7} {n['skipped'] + n['xfailed']:7}")
    if causes:
        lines.append("\nFail, by cause")
    for why, tests in sorted(causes.items(), key=lambda c: -len(c[1])):
        lines += [f"{len(tests):5}  {why}", f"         {tests[0]}"]
    return "\n".join(lines) + "\n", bool(ours) and not causes


def parent(a):
    names = [f for f in a.files.split(",") if f] or sorted(p.name for p in a.folder.glob("test_*.py"))
    missing = [f for f in names if not (a.folder / f).exists()]
    if missing or not names:
        sys.exit(f"{a.folder} has no {', '.join(missing) or 'test_*.py'}")
    a.files = ",".join(names)
    a.deadline = time.time() + a.budget
    a.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as tmp:
        env, site = environment(tmp, a.pytest), hooked_site(tmp, a.simulate) if a.simulate else ""
        sides = SIDES[1:] if a.simulate else SIDES
        workers = [Worker(a, side, n, tmp, env, site) for side in sides for n in range(a.workers)]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
        out, notes, uncollected = results(tmp, a.workers, sides)
    (a.out / "triton_tests.json").write_text(json.dumps(out, indent=0))
    text, good = summary_alone(out["tritonc"]) if a.simulate else summary(out, a.least)
    text, good = text + told(notes, uncollected), good and not notes
    (a.out / "triton_tests.txt").write_text(text)
    print(text)
    return 0 if good else 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=lambda s: pathlib.Path(s).resolve(), metavar="FOLDER")
    p.add_argument("--out", type=lambda s: pathlib.Path(s).resolve(), default=pathlib.Path.cwd(), metavar="DIR")
    p.add_argument("--files", default="", help="only these files, by comma")
    p.add_argument("--budget", type=float, default=480, help="seconds after which no test is begun (480)")
    p.add_argument("--timeout", type=float, default=90, help="seconds without any news after which a test hangs (90)")
    p.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="processes a side")
    p.add_argument("--seed", default="0", help="of the tests' order")
    p.add_argument("--least", type=float, default=0.98, help="of the passes, how many have to be kept (0.98)")
    p.add_argument("--simulate", metavar="TARGET", help="tritonc's side alone, on the simulated GPU of cuda:80, say; "
                   "for a machine without a GPU, with torch for the CPU")
    p.add_argument("--pytest", help="a folder that holds pytest, where it is not installed")
    p.add_argument("--worker", dest="side", choices=SIDES, help=argparse.SUPPRESS)
    p.add_argument("--number", type=int, help=argparse.SUPPRESS)
    p.add_argument("--log", help=argparse.SUPPRESS)
    p.add_argument("--site", help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    a = p.parse_args()
    sys.exit(work(a) if a.side else parent(a))


if __name__ == "__main__":
    main()
