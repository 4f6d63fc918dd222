#!/usr/bin/env python3
"""Our IR and our code of every reference kernel, on a GPU.

    bench/check_ir.py prepare DIR    compile and simulate them (no GPU needed)
    bench/check_ir.py run DIR        run them (needs CUDA, torch, triton)

The kernels are those of core/frontend/testdata/jobs.txt; bench/ir_jobs.py has
what they run on. prepare leaves DIR/ir.zip with the memory before and after a
run on the simulated GPU, which both cubin's and PTX's sources must agree on. run
launches each kernel by several ways and compares the memory:

    cubin      our cubin for the GPU
    ptx80      our PTX for cuda:80, which the driver compiles
    ttgir      our ttgir for the GPU, through triton.compile("kernel.ttgir")
    ttgir80    the same for cuda:80; Triton's PTX goes to the driver's compiler
    triton     Triton from the Python source: that what we expect is right

Exit status 1 when any of ours is wrong.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import ir_jobs
import npy
import pool

ARCHS = (80, 90)
WAYS = ("cubin", "ptx80", "ttgir", "ttgir80", "triton")


# ---- prepare


def option_flags(job):
    out = []
    for name, value in job.options.items():
        out += ["--option", f"{name}={value}"]
    return out


def compile_job(tritonc, job, arch, folder):
    """Artifacts of a job: {ending: bytes}."""
    folder.mkdir(parents=True)
    argv = [tritonc, "--target", f"cuda:{arch}", "-n", job.kernel, "-s", job.signature(), *option_flags(job),
            "--emit", "ttgir,ptx,cubin,json", "-o", str(folder), str(ir_jobs.TESTDATA / job.file)]
    r = subprocess.run(argv, capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip())
    return {f.suffix[1:]: f.read_bytes() for f in folder.iterdir()}


def simulate(tritonc, job, arch, artifacts, folder):
    """{parameter: npy.Data} after a run of the PTX on the simulated GPU."""
    folder.mkdir(parents=True)
    for ending in ("ptx", "json"):
        (folder / f"kernel.{ending}").write_bytes(artifacts[ending])
    argv = [tritonc, "run", "--target", f"cuda:{arch}", "--grid", ",".join(map(str, ir_jobs.RUNS[job.name].grid))]
    for name, ty, value in ir_jobs.inputs(job):
        if isinstance(value, npy.Data):
            argv += ["--arg", f"{name}={value.save(folder / (name + '.npy'))}", "--save",
                     f"{name}={folder}/{name}.out.npy"]
        else:
            argv += ["--arg", f"{name}={value}:{ty}"]
    r = subprocess.run([*argv, str(folder / "kernel.ptx")], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip())
    return {name: npy.Data.load(ty[1:], folder / f"{name}.out.npy") for name, ty, _ in ir_jobs.inputs(job)
            if ty.startswith("*")}


def prepare_job(tritonc, job, folder):
    """({file in the zip: bytes}, what went wrong)"""
    files, expected, bad = {}, None, []
    run = ir_jobs.RUNS[job.name]
    for arch in ARCHS:
        if arch < run.least_arch:
            continue
        try:
            artifacts = compile_job(tritonc, job, arch, folder / f"c{arch}")
            after = simulate(tritonc, job, arch, artifacts, folder / f"s{arch}")
        except (RuntimeError, OSError, ValueError) as e:
            bad.append(f"{job.name}, cuda:{arch}: {e}")
            continue
        files |= {f"{job.name}/{arch}.{ending}": data for ending, data in artifacts.items()}
        if expected:
            for name, data in after.items():
                if not (e := ir_jobs.differ(run, name, data, expected[name])) <= 1:
                    bad.append(f"{job.name}: {name} differs between the targets, {e:.3g} times the tolerance")
        expected = expected or after
    for name, data in (expected or {}).items():
        files[f"{job.name}/{name}.after"] = data.raw
    return files, bad


def prepare(tritonc, out, chosen):
    out.mkdir(parents=True, exist_ok=True)
    bad = []
    with tempfile.TemporaryDirectory() as tmp, zipfile.ZipFile(out / "ir.part", "w", zipfile.ZIP_LZMA) as z, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        work = {n: threads.submit(prepare_job, tritonc, j, pathlib.Path(tmp, n)) for n, j in chosen.items()}
        for name, done in work.items():
            files, wrong = done.result()
            bad += wrong
            for file in sorted(files):
                z.writestr(file, files[file])
    (out / "ir.part").replace(out / "ir.zip")
    print("\n".join(bad + [f"{len(chosen)} kernels, {len(bad)} errors; {out}/ir.zip: "
                           f"{(out / 'ir.zip').stat().st_size / 1e6:.1f} MB"]))
    return 1 if bad else 0


# ---- run: in a worker


class Runner:
    """Runs jobs on the GPU, in a process that a bad kernel may take along."""

    def __init__(self, folder):
        import measure
        import torch
        self.folder, self.measure, self.torch = pathlib.Path(folder), measure, torch
        torch.zeros(1, device="cuda")
        self.driver = measure.Driver()
        major, minor = torch.cuda.get_device_capability()
        self.arch = 10 * major + minor

    def handle(self, request):
        job, way = ir_jobs.jobs()[request["job"]], request["way"]
        try:
            image, meta = getattr(self, way)(job)
            worst = self.launch(job, image, meta)
            return {"worst": {n: round(e, 4) for n, e in worst.items()}}
        except Exception as e:
            reply = {"error": f"{type(e).__name__}: {e}"[:600]}
            try:
                self.torch.cuda.synchronize()
            except Exception:
                reply["last"] = True  # the context is lost, and this process with it
            return reply

    def file(self, job, name):
        path = self.folder / job.name / name
        if not path.exists():
            raise FileNotFoundError(f"prepare made no {name}")
        return path

    def cubin(self, job):
        return self.file(job, f"{self.arch}.cubin").read_bytes(), self.metadata(job, self.arch)

    def ptx80(self, job):
        return self.file(job, "80.ptx").read_text(), self.metadata(job, 80)

    def metadata(self, job, arch):
        return json.loads(self.file(job, f"{arch}.json").read_text())

    def ttgir(self, job):
        return self.with_triton(str(self.file(job, f"{self.arch}.ttgir")), self.arch, "cubin")

    def ttgir80(self, job):
        return self.with_triton(str(self.file(job, "80.ttgir")), 80, "ptx")

    def triton(self, job):
        import importlib.util
        import triton
        from triton.compiler import ASTSource
        spec = importlib.util.spec_from_file_location(job.file.removesuffix(".py"), ir_jobs.TESTDATA / job.file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        fn = getattr(module, job.kernel)
        signature, constants, attributes = {}, {}, {}
        for i, (name, text) in enumerate(job.params.items()):
            if text.startswith("="):
                signature[name] = "constexpr"
                constants[(i,)] = eval(text[1:], {"tl": triton.language})  # jobs.txt is ours
            else:
                signature[name], _, hint = text.partition(":")
                if hint == "16":
                    attributes[(i,)] = [["tt.divisibility", 16]]
        return self.with_triton(ASTSource(fn, signature, constants, attributes), self.arch, "cubin",
                                {n: json.loads(v.lower()) for n, v in job.options.items()})

    def with_triton(self, source, arch, ending, options=None):
        import triton
        from triton.backends.compiler import GPUTarget
        k = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
        fields = ("name", "num_warps", "shared", "global_scratch_size")
        return k.asm[ending], {f: getattr(k.metadata, f) for f in fields}

    def launch(self, job, image, meta):
        """{parameter: error over the tolerance} of all memory."""
        run, torch = ir_jobs.RUNS[job.name], self.torch
        values, memory = [], {}
        for name, ty, value in ir_jobs.inputs(job):
            if isinstance(value, npy.Data):
                value = memory[name] = torch.frombuffer(bytearray(value.raw), dtype=torch.uint8).cuda()
            values.append(value)
        kernel = self.measure.Kernel(self.driver, image, meta)
        kernel.launcher(torch, run.grid, [ty for _, ty, _ in ir_jobs.inputs(job)], values)()
        torch.cuda.synchronize()
        kernel.unload()
        worst = {}
        for name, tensor in memory.items():
            ty = job.params[name].partition(":")[0][1:]
            want = npy.Data(ty, self.file(job, f"{name}.after").read_bytes())
            worst[name] = ir_jobs.differ(run, name, npy.Data(ty, bytes(tensor.cpu().tolist())), want)
        return worst


# ---- run: in the parent


def run(out, chosen, workers, timeout, dry_run):
    folder = out / "ir"
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(out / "ir.zip") as z:
        z.extractall(folder)
    env = {"TRITON_CACHE_DIR": str(folder / "cache")}
    p = pool.Pool([sys.executable, str(HERE / "check_ir.py"), "worker", str(folder), *dry_run], workers, env, timeout)
    asked = [{"job": n, "way": w} for n in chosen for w in WAYS
             if not w.endswith("80") or ir_jobs.RUNS[n].least_arch <= 80]
    replies = {(a["job"], a["way"]): r for a, r in zip(asked, p.map(asked))}
    text, bad = table(chosen, replies)
    results = [{"job": n, "way": w} | r for (n, w), r in replies.items()]
    (out / "check_ir.json").write_text(json.dumps(results, indent=0))
    (out / "check_ir.txt").write_text(text)
    print(text)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


def table(chosen, replies):
    """(text, whether any of ours is wrong)"""
    lines, errors, right, total = [f"{'':24} " + " ".join(f"{w:>9}" for w in WAYS)], [], {}, {}
    for name in chosen:
        cells = []
        for way in WAYS:
            r = replies.get((name, way))
            if r is None:
                cells.append("-")
                continue
            total[way] = total.get(way, 0) + 1
            if "error" in r:
                cells.append("ERROR")
                errors.append(f"{name}, {way}: {r['error']}")
            elif (worst := max(r["worst"].values())) <= 1:
                cells.append(f"{worst:.3f}")
                right[way] = right.get(way, 0) + 1
            else:
                cells.append("WRONG")
                errors.append(f"{name}, {way}: errors over the tolerance: {r['worst']}")
        lines.append(f"{name:24} " + " ".join(f"{c:>9}" for c in cells))
    lines.append(f"{'right':24} " + " ".join(f"{right.get(w, 0)}/{total.get(w, 0)}".rjust(9) for w in WAYS))
    bad = any(right.get(w, 0) != n for w, n in total.items() if w != "triton") or not total
    return "\n".join([*lines, *([""] if errors else []), *errors]) + "\n", bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("verb", choices=["prepare", "run", "worker"])
    p.add_argument("dir", type=lambda s: pathlib.Path(s).resolve(), metavar="DIR")
    p.add_argument("--kernels", default="", help="only these lines of jobs.txt, by comma")
    p.add_argument("--tritonc", default=os.environ.get("TRITONC", str(HERE.parent / "bin/tritonc")))
    p.add_argument("--workers", type=int, default=min(8, os.cpu_count() or 1), help="run: processes on the GPU")
    p.add_argument("--timeout", type=float, default=90, help="run: seconds a kernel may take, with its compile (90)")
    p.add_argument("--dry-run", action="store_true", help="run: with stand-ins for torch, triton and the driver: "
                   "memory stays as it is, so nearly all is wrong")
    a = p.parse_args()
    if a.verb == "worker":
        if a.dry_run:
            import standin
            standin.install()
        return pool.serve(Runner(a.dir).handle)
    every = ir_jobs.jobs()
    names = [n for n in a.kernels.split(",") if n] or list(every)
    if unknown := [n for n in names if n not in every]:
        p.error(f"jobs.txt has no {', '.join(unknown)}")
    chosen = {n: every[n] for n in names}
    if a.verb == "prepare":
        sys.exit(prepare(a.tritonc, a.dir, chosen))
    sys.exit(run(a.dir, chosen, a.workers, a.timeout, ["--dry-run"] if a.dry_run else []))


if __name__ == "__main__":
    main()
