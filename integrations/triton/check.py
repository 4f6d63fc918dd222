#!/usr/bin/env python3
"""Compiles and runs functions with torch.compile, through tritonc, beside eager mode.

    integrations/triton/check.py [--budget SECONDS] [--only TEXT] [--json FILE] [--resume FILE]

It needs a GPU, torch and Triton. Each function starts with empty caches. A result that is
not eager's is compared with that of Triton's own compiler: Inductor rounds less often
than eager mode, draws other random numbers, and breaks ties in another order. Ended by SIGTERM, as
timeout sends, it tells what was done.

    ok          as eager mode
    as Triton   not as eager mode, which may not run the function at all, but as with Triton alone
    as near     as neither, but no farther from eager mode than Triton's result is: of numbers that
                nearly cancel, such as gradients, rounding is a large part
    skipped     does not run with Triton alone either
    WRONG, FAILED, NOT OURS, CRASHED, HUNG   what the exit status, 1, stands for

NOT OURS: Inductor made kernels of Triton's, and tritonc compiled none. With TRITONC_FROM_SOURCE=1 in the
environment tritonc is in source mode, and the table says how many configurations came from their files.
"""

import argparse
import collections
import contextlib
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BAD = ("WRONG", "FAILED", "NOT OURS", "CRASHED", "HUNG")

# How far a result may be off, of its own size and of the root of the mean square.
TOLERANCE = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-2, "bfloat16": 4e-2, "float8_e4m3fn": 0.13, "float8_e5m2": 0.26}


# ---- a worker, which runs functions


def flatten(value):
    """The tensors and numbers in nested tuples, lists and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in flatten(v)]
    return [] if value is None else [value]


def held(state):
    """The tensors of modules and optimizers, as they are now, with gradients."""
    import torch
    tensors = []
    for x in flatten(list(state)):
        if isinstance(x, torch.nn.Module):
            tensors += [*x.parameters(), *x.buffers()]
        elif isinstance(x, torch.optim.Optimizer):
            tensors += [p for group in x.param_groups for p in group["params"]]
    return tensors


def difference(got, want):
    """How two lists of results differ; None where they agree."""
    import torch
    if len(got) != len(want):
        return f"{len(got)} results, want {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        if not isinstance(b, torch.Tensor):
            near = type(a) is type(b) is float and math.isfinite(b) and abs(a - b) <= 2 * TOLERANCE["float32"] * abs(b)  # as a tensor of one
            if a != b and not (a != a and b != b) and not near:
                return f"result {i}: {a}, want {b}"
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {i}: {a.dtype}{list(a.shape)}, want {b.dtype}{list(b.shape)}"
        if b.is_complex():
            a, b = torch.view_as_real(a), torch.view_as_real(b)
        if not b.is_floating_point():
            wrong = a != b
            if wrong.any():
                return f"result {i}: {int(wrong.sum())} of {wrong.numel()} differ"
            continue
        tolerance = TOLERANCE[str(b.dtype).rpartition(".")[2]]
        x, y = a.double(), b.double()
        finite = y.isfinite()
        if not torch.equal(x.isnan(), y.isnan()) or not torch.equal(x[~finite & ~y.isnan()], y[~finite & ~y.isnan()]):
            return f"result {i}: other elements are infinite or not numbers"
        x, y = x[finite], y[finite]
        if not y.numel():
            continue
        if not x.isfinite().all():
            return f"result {i}: {int((~x.isfinite()).sum())} elements are infinite"
        size = (y * y).mean().sqrt()
        error = (x - y).abs()
        wrong = error > tolerance * (y.abs() + size)
        if wrong.any():
            return (f"result {i} ({b.dtype}{list(b.shape)}): {int(wrong.sum())} of {y.numel()} differ, by {float(error.max()):.3g} at most; "
                    f"their size is {float(size):.3g}")
    return None


def as_near(got, other, want):
    """Whether every result is as good as another's: what is not that of eager mode is no more
    than twice as far from it, at most and on average."""
    import torch

    def distance(a, b):
        error = (a.double() - b.double()).abs()
        return float(error.max()), float((error * error).mean().sqrt())

    for a, o, b in zip(got, other, want):
        if difference([a], [b]) is None:
            continue
        if not isinstance(b, torch.Tensor) or not b.is_floating_point() or not all(x.shape == b.shape for x in (a, o)):
            return False
        if not all(x.isfinite().all() for x in (a, o, b)):
            return False
        if any(x > 2 * y for x, y in zip(distance(a, b), distance(o, b))):
            return False
    return True


def run(row, compiled):
    """All that a row gives: results, gradients, and what it changed."""
    import torch
    import torch._dynamo
    name, settings, make, dynamic, backward = row
    torch._dynamo.reset()
    torch.manual_seed(1)
    f, *args = make((lambda g: torch.compile(g, dynamic=dynamic)) if compiled else (lambda g: g))
    torch.manual_seed(2)
    got = f(*args)
    if backward:
        first = next(x for x in flatten(got) if isinstance(x, torch.Tensor) and x.requires_grad)
        torch.manual_seed(3)
        (first.float() * torch.randn_like(first.float())).sum().backward()
    torch.cuda.synchronize()
    state = held(getattr(f, "state", ()))
    leaves = [x for x in flatten(args) if isinstance(x, torch.Tensor)] + state
    out = flatten(got) + leaves + [x.grad for x in leaves if x.is_leaf and x.grad is not None]
    return [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in out]


@contextlib.contextmanager
def cold(settings):
    """Empty caches, and Inductor's settings."""
    import torch._inductor.utils as utils
    from torch._inductor import config
    fresh = getattr(utils, "fresh_cache", None) or utils.fresh_inductor_cache
    with fresh(), config.patch(settings):
        yield


def first_line(e):
    lines = [line for line in str(e).strip().splitlines() if line.strip()]
    # Of an error in a worker of Inductor's, what it was is at the end.
    ours = [line for line in lines if "error:" in line or "tritonc" in line]
    return f"{type(e).__name__}: {(ours or lines or ['?'])[0].strip()}"[:300]


def verdict(row, session, theirs):
    """What becomes of one row: a dict with at least "verdict" and "why". theirs() gives what
    Triton's own compiler makes of it."""
    from torch._inductor import metrics
    want, eager = None, ""
    try:
        want = run(row, compiled=False)
    except Exception as e:
        eager = f"in eager mode: {first_line(e)}"
    before = len(session.entries())
    metrics.reset()
    begun = time.time()
    problem, got = None, None
    try:
        with cold(row[1]):
            got = run(row, compiled=True)
    except Exception as e:
        problem = first_line(e)
    seconds = time.time() - begun
    entries = session.entries()[before:]
    ours, failed = ([e for e in entries if e["how"] == how] for how in ("compiled", "failed"))
    facts = {"seconds": seconds, "kernels": len({e["name"] for e in ours}), "configurations": len(ours),
             "compiling": sum(e["seconds"] for e in ours), "in_workers": sum(e["pid"] != os.getpid() for e in ours),
             "served": sum(e.get("served", False) for e in ours), **sources(ours)}
    wrong = problem or eager or difference(got, want)
    if wrong is None and failed:  # which an autotuner left out
        return {"verdict": "FAILED", "why": f"{len(failed)} configurations, such as {failed[0]['name']}: {failed[0]['why']}", **facts}
    if wrong is None:
        if not ours and metrics.generated_kernel_count:
            return {"verdict": "NOT OURS", "why": f"{metrics.generated_kernel_count} kernels, and tritonc compiled none", **facts}
        return {"verdict": "ok", "why": "", **facts}
    try:
        other = theirs()
    except Exception as e:
        alone = f"with Triton alone: {first_line(e)}"
        if problem or eager:
            return {"verdict": "skipped", "why": alone, **facts}
        return {"verdict": "WRONG", "why": f"{wrong}; {alone}", **facts}
    if problem:
        return {"verdict": "FAILED", "why": problem, **facts}
    apart = difference(got, other)
    if apart is None and ours:
        return {"verdict": "as Triton", "why": wrong, **facts}
    if ours and not eager and len(got) == len(other) == len(want) and as_near(got, other, want):
        return {"verdict": "as near", "why": f"{wrong}; beside Triton: {apart}", **facts}
    return {"verdict": "WRONG" if ours else "NOT OURS", "why": f"{wrong}; beside Triton: {apart or 'the same'}", **facts}


def sources(entries):
    """How many of what was compiled came from Python files, and why the others did not; {} outside source mode."""
    said = [e for e in entries if "source" in e]
    if not said:
        return {}
    return {"from_source": sum(e["source"] for e in said), "not_source": dict(collections.Counter(e["why"] for e in said if not e["source"]))}


def sources_line(rows):
    """The same of rows that have it, as a list of at most one line."""
    said = [r for r in rows if "from_source" in r]
    if not said:
        return []
    why = sum((collections.Counter(r["not_source"]) for r in said), collections.Counter())
    return [f"{sum(r['from_source'] for r in said)} configurations from their Python files"
            + "".join(f"; {n} from Triton's ttir: {w}" for w, n in why.most_common())]


def without(environment, site):
    """An environment in which nothing asks for tritonc."""
    env = {k: v for k, v in environment.items() if not k.startswith("TRITONC") and k != "TORCH_COMPILE_CACHE_KEY_TAG"}
    env["PYTHONPATH"] = os.pathsep.join(p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p and p != site)
    return env


def by_triton(number, limit):
    """What Triton alone makes of a row, in a process that tritonc was never in."""
    import torch
    from tritonc import children
    with tempfile.TemporaryDirectory(prefix="tritonc-check-") as tmp:
        path = os.path.join(tmp, "results.pt")
        env = {**without(os.environ, children.SITE), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        r = subprocess.run([sys.executable, str(HERE / "check.py"), "--theirs", str(number), "--log", path], env=env,
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit)
        if r.returncode:
            raise RuntimeError(r.stderr.strip().splitlines()[-1] if r.stderr.strip() else f"it ended with status {r.returncode}")
        return torch.load(path, weights_only=False)


def run_theirs(a):
    """What by_triton starts."""
    import check_rows
    import torch
    row = check_rows.rows()[a.theirs]
    with cold(row[1]):
        results = run(row, compiled=True)
    if any(name.startswith("tritonc") for name in sys.modules):
        sys.exit("tritonc is in this process")
    torch.save(results, a.log)
    return 0


def install(program, wheel):
    """Puts tritonc into this process and the workers of Inductor, which are started; the session."""
    import tritonc.triton as package
    if wheel and pathlib.Path(package.__file__).is_relative_to(HERE):
        sys.exit("the package tritonc is not installed; check.py without --wheel takes that of the checkout")
    session = package.install(program).session
    with contextlib.suppress(ImportError, AttributeError):  # workers that are ready compile
        from torch._inductor.async_compile import AsyncCompile
        AsyncCompile.wait_pool_ready()
    return session


def claims(folder, numbers):
    """Yields those of the numbers that no other process has taken, each taken by this one. The last
    come first: they take longest."""
    for i in sorted(numbers, reverse=True):
        with contextlib.suppress(FileExistsError):
            os.close(os.open(os.path.join(folder, f"claim.{i}"), os.O_CREAT | os.O_EXCL))
            yield i


def work(a):
    """Runs rows that no process has begun, and logs each, before and after."""
    if a.wheel:
        sys.path[:] = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]
    sys.path.append(str(HERE))
    import check_rows
    import torch  # noqa: F401
    session, rows = install(a.program, a.wheel), check_rows.rows()
    known = {e["name"] for e in resumed(a.resume)}
    todo = [i for i, row in enumerate(rows) if a.only in row[0] and row[0] not in known]
    with open(a.log, "a", buffering=1) as log:
        print(json.dumps({"row": -1, "todo": [rows[i][0] for i in todo]}), file=log)
        for i in claims(os.path.dirname(a.log), todo):
            row = rows[i]
            if time.time() > a.deadline:
                break
            print(json.dumps({"row": i, "name": row[0], "begun": time.time()}), file=log)

            def theirs(i=i, row=row):
                print(json.dumps({"row": i, "name": row[0], "compared": True}), file=log)
                return by_triton(i, 0.9 * a.limit)

            found = verdict(row, session, theirs)
            print(json.dumps({"row": i, "name": row[0], **found}), file=log)
            if "CUDA error" in found["why"] or "device-side" in found["why"]:
                return 3  # the context is lost; another process goes on
        print(json.dumps({"row": -1, "ended": True}), file=log)
    return 0


# ---- the parent


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def resumed(path):
    """What an earlier run found that need not be found again."""
    if not path:
        return []
    with open(path) as f:
        return [e for e in json.load(f) if "verdict" in e and e["verdict"] not in BAD]


def child(a, log):
    """The command of a worker."""
    argv = [sys.executable, str(HERE / "check.py"), "--log", log, "--only", a.only, "--deadline", str(a.deadline), "--limit", str(a.limit)]
    return argv + (["--program", a.program] if a.program else []) + (["--wheel"] if a.wheel else []) + (["--resume", a.resume] if a.resume else [])


def keep_running(a, log, asked):
    """Has a worker run to its end, over crashes and hangs, or until the script is asked to end."""
    cpus = os.cpu_count() or 1
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    env.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(max(2, min(8, cpus // a.processes))))
    fruitless = 0
    while fruitless < 2:
        before = len(read(log))
        with open(log + ".out", "a") as out:
            p = subprocess.Popen(child(a, log), env=env, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            size, since = -1, time.time()
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    p.wait(0.2)
                if p.returncode is not None:
                    break
                now = os.path.getsize(log) if os.path.exists(log) else 0
                if now != size:
                    size, since = now, time.time()
                if time.time() - since > a.limit or asked.is_set():
                    p.kill()
                    p.wait()
                    break
        if asked.is_set():
            return
        entries = read(log)
        if any("ended" in e for e in entries):
            return
        done = {e["row"] for e in entries if "verdict" in e}
        hung = p.returncode < 0 and time.time() - since > a.limit
        for e in [e for e in entries if "begun" in e and e["row"] not in done]:
            why = f"no end in {a.limit:g} s" if hung else f"the process ended with status {p.returncode}: {tail(log + '.out')}"
            with open(log, "a") as f:
                print(json.dumps({"row": e["row"], "name": e["name"], "verdict": "HUNG" if hung else "CRASHED", "why": why}), file=f)
        fruitless = 0 if len(read(log)) > before else fruitless + 1
    with open(log, "a") as f:
        print(json.dumps({"row": -1, "error": tail(log + ".out")}), file=f)


def tail(path):
    with open(path, errors="replace") as f:
        lines = f.read().strip().splitlines()
    return lines[-1][:300] if lines else "it said nothing"


def table(entries):
    """The table, and whether all is well."""
    rows = sorted((e for e in entries if "verdict" in e), key=lambda e: e["row"])
    width = max([len(e["name"]) for e in rows] + [8])
    out = [f"{'function':{width}}  {'':9} {'kernels':>7} {'configs':>7} {'wall s':>7} {'ours s':>7}"]
    for e in rows:
        numbers = f"{e['kernels']:7} {e['configurations']:7} {e['seconds']:7.2f} {e['compiling']:7.2f}" if "kernels" in e else " " * 31
        out.append(f"{e['name']:{width}}  {e['verdict']:9} {numbers}  {e['why']}".rstrip())
    counts = {}
    for e in rows:
        counts[e["verdict"]] = counts.get(e["verdict"], 0) + 1
    total = {k: sum(e.get(k, 0) for e in rows) for k in ("kernels", "configurations", "in_workers", "served", "compiling")}
    out.append(f"{len(rows)} functions: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    out.append(f"{total['kernels']} kernels in {total['configurations']} configurations, {total['in_workers']} of them in workers of torch's, "
               f"{total['served']} by the server, {total['compiling']:.1f} s in tritonc")
    out += sources_line(rows)
    late = {name for e in entries for name in e.get("todo", ())} - {e["name"] for e in rows}
    if late:
        out.append(f"{len(late)} functions were not done in time")
    errors = [e["error"] for e in entries if "error" in e]
    out += [f"a process did not work: {e}" for e in errors]
    good = counts.get("ok", 0) > 0 and not errors and not any(counts.get(v) for v in BAD)
    if total["configurations"] and not total["in_workers"]:
        out.append("no worker of torch's compiled with tritonc")
        good = False
    return "\n".join(out), good


def main(argv=None):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--budget", type=float, default=540, help="seconds after which no function is begun (%(default)s)")
    p.add_argument("--limit", type=float, default=180, help="seconds that one function may take (%(default)s)")
    p.add_argument("--only", default="", help="functions whose name has this in it")
    p.add_argument("--processes", type=int, default=max(1, min(4, (os.cpu_count() or 1) // 4)))
    p.add_argument("--program", help="the tritonc to check")
    p.add_argument("--wheel", action="store_true", help="check the installed package, not that of the checkout")
    p.add_argument("--json", help="a file for all that was found")
    p.add_argument("--resume", metavar="FILE", help="what --json left before: functions that were right are not run again")
    p.add_argument("--log", help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    p.add_argument("--theirs", type=int, help=argparse.SUPPRESS)
    a = p.parse_args(argv)
    if a.theirs is not None:
        return run_theirs(a)
    if a.log:
        return work(a)
    earlier = resumed(a.resume)
    a.deadline = time.time() + a.budget
    with tempfile.TemporaryDirectory(prefix="tritonc-check-") as tmp:
        logs = [os.path.join(tmp, f"log.{i}") for i in range(a.processes)]
        asked = threading.Event()
        before = signal.signal(signal.SIGTERM, lambda *_: asked.set())
        threads = [threading.Thread(target=keep_running, args=(a, log, asked)) for log in logs]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        signal.signal(signal.SIGTERM, before)
        entries = earlier + [e for log in logs for e in read(log)]
    text, good = table(entries)
    print(text)
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(entries, indent=1) + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
