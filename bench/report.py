"""From the replies of bench/row_worker.py to results.json and the tables."""

import math
import statistics

import measure

# What ours is held against: Triton for the GPU, the same with the second ptxas, and
# Triton for cuda:80.
NATIVE, SECOND, LOW = "native", "second", "low"


def entry(row, reply, missing, crashed):
    """A row of results.json."""
    out = {"row": row.name, "kernel": row.kernel, "unit": row.unit, "memory_bound": row.memory_bound, "odd": row.odd,
           "limit": row.limit,
           "errors": reply.get("errors", {}), "worst": reply.get("worst", {}), "variants": reply.get("variants", {})}
    for key in ("bytes", "flops", "sets"):
        if key in reply:
            out[key] = reply[key]
    for variant, whys in missing.items():
        out["errors"].setdefault(variant, {}).update(whys)
    for variant, number, why in crashed:
        out["errors"].setdefault(variant, {})[number] = f"crashed: {why}"
    if "error" in reply or "broken" in reply:
        out["failed"] = reply.get("broken") or reply["error"]
    for v in out["variants"].values():
        if "best" in v:
            v["config"] = str(row.configs[int(v["best"])])
    out["ratios"] = {}
    for name, a, b in ((NATIVE, "ours", "triton"), ("mma2", "ours", "mma2"), ("torch", "ours", "torch"),
                       (SECOND, "ours@second", "triton@second"), (LOW, "ours80", "triton80")):
        a, b = (out["variants"].get(v, {}).get("times") for v in (a, b))
        if a and b:
            out["ratios"][name] = measure.median_ratio(b, a)
    return out


def rate(row, variant):
    """Of a variant, in the row's unit; None where it has no time."""
    v = row["variants"].get(variant, {})
    if "us" not in v:
        return None
    return row["bytes"] / v["us"] / 1e3 if row["memory_bound"] else row["flops"] / v["us"] / 1e6


def line(row):
    """A row in a line, for who watches."""
    if row["odd"]:
        worst = max((w for c in row["worst"].values() for w in c.values()), default=math.nan)
        return f"{row['row']:32} worst error {worst:.2g} of the tolerance" + (" ERRORS" if row["errors"] else "")
    ratios = ", ".join(f"{k} {v:.3f}" for k, v in row["ratios"].items())
    return f"{row['row']:32} {ratios or row.get('failed', 'no time')}" + (" ERRORS" if row["errors"] else "")


def geometric(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def number(x, digits):
    return f"{x:.{digits}f}" if x is not None else "-"


def judge(row, limit):
    """What is wrong with a row, as words."""
    limit, bad = row["limit"] or limit, []
    if row.get("failed"):
        bad.append("FAILED")
    ours = {v: e for v, e in row["errors"].items() if v.startswith("ours")}
    if any(why.startswith("WRONG") for e in ours.values() for why in e.values()):
        bad.append("WRONG")
    elif ours:
        bad.append("ERRORS")
    if not row["odd"]:
        for name in (NATIVE, LOW):
            if name == LOW and "ours80" not in row["variants"] and "ours80" not in row["errors"]:
                continue  # the row's types are not for cuda:80
            if name not in row["ratios"]:
                bad.append(f"no {name} time")
            elif row["ratios"][name] < limit:
                bad.append("SLOW" + ("" if name == NATIVE else f" ({name})"))
    return bad


def tables(results):
    """(text, whether anything misses its limit)."""
    timed = [r for r in results["rows"] if not r["odd"]]
    odd = [r for r in results["rows"] if r["odd"]]
    limit, tools = results["limit"], results["tools"]
    out, bad = [], False
    width = max((len(r["row"]) for r in results["rows"]), default=10)
    second = tools.get("second", "-")
    out.append(f"{results['gpu']}, torch {results['torch']}, Triton {results['triton']}, ptxas {tools['ptxas']}; "
               f"times of Triton / ours, so above 1 ours is faster; limit {limit}")
    out.append(f"{'':{width}}  {'ours':>8} {'mma2':>8} {'triton':>8} {'torch':>8} {'unit':7}  "
               f"{'/mma2':>6} {'/triton':>7} {second:>6} {'sm80':>6} {'/torch':>6}  {'regs':16}  config ours | theirs")
    for r in timed:
        v, q = r["variants"], r["ratios"]
        rates = [number(rate(r, n), 0) for n in ("ours", "mma2", "triton", "torch")]
        versus = [q.get("mma2"), q.get(NATIVE), q.get(SECOND), q.get(LOW), q.get("torch")]
        use = [f"{v[n]['registers']}" + (f"+{v[n]['local']}B" if v[n]["local"] else "") if "registers" in v.get(n, {})
               else "-" for n in ("ours", "triton")]
        config = [v.get(n, {}).get("config", "-") for n in ("ours", "triton")]
        verdict = judge(r, limit)
        bad |= bool(verdict)
        out.append(f"{r['row']:{width}}  " + " ".join(f"{x:>8}" for x in rates) + f" {r['unit']:7}  " +
                   " ".join(f"{number(x, 3):>{w}}" for x, w in zip(versus, (6, 7, 6, 6, 6))) +
                   f"  {', '.join(use):16}  {' | '.join(config)}" + ("  " + ", ".join(verdict) if verdict else ""))
    means = {n: geometric([r["ratios"][n] for r in timed if n in r["ratios"] and not r["limit"]])
             for n in (NATIVE, SECOND, LOW)}
    out.append("geometric means: " + ", ".join(f"{n} {m:.3f}" for n, m in means.items() if not math.isnan(m)))
    if not all(r["limit"] for r in timed) and not means[NATIVE] >= results["mean"]:  # none at all, too
        out.append(f"the native mean has to be {results['mean']}")
        bad = True
    if odd:
        out.append("\nOdd sizes, nothing promised: worst error over the tolerance")
        for r in odd:
            verdict = judge(r, limit)
            bad |= bool(verdict)
            worst = ", ".join(f"{n} {max(w.values()):.2g}" for n, w in r["worst"].items())
            out.append(f"{r['row']:{width}}  {worst}" + ("  " + ", ".join(verdict) if verdict else ""))
    told = []
    for r in results["rows"]:
        for variant, whys in r["errors"].items():
            for why in dict.fromkeys(whys.values()):
                where = ", ".join(n for n, w in whys.items() if w == why)
                told.append(f"{r['row']}: {variant}, config {where}: {why.splitlines()[0][:200]}")
        if r.get("failed"):
            told.append(f"{r['row']}: {r['failed'][:300]}")
    if told:
        out.append("\nErrors")
        out += told
    return "\n".join(out) + "\n", bad
