#!/usr/bin/env python3
"""Compiles one kernel a job, for bench/vs_triton.py (a worker of pool.Pool).

    compile_worker.py triton   {"kernel", "types", "constants", "num_warps", "num_stages", "arch", "stem"}
    compile_worker.py jit      {"ptx", "stem"}

"triton" writes stem.ttgir, stem.ptx and stem.json with Triton, in a process of its own
because Triton reads DISABLE_MMA_V3 from the environment that it was started in.
"jit" writes stem.cubin with the driver's compiler.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import pool


def triton_job(job):
    import importlib

    import cases
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    config = cases.Config(tuple(map(tuple, job["constants"])), job["num_warps"], job["num_stages"])
    build = cases.Build(job["kernel"], tuple(job["types"]), config)
    source = cases.source_of(build.kernel)
    if str(source.parent) not in sys.path:
        sys.path.append(str(source.parent))
    fn = getattr(importlib.import_module(source.stem), build.kernel)
    while hasattr(getattr(fn, "fn", None), "arg_names"):
        fn = fn.fn  # what is under @triton.autotune and @triton.heuristics
    signature, constants, attributes = build.triton(list(fn.arg_names))
    k = triton.compile(ASTSource(fn, signature, constants, attributes), target=GPUTarget("cuda", job["arch"], 32),
                       options={"num_warps": config.num_warps, "num_stages": config.num_stages})
    fields = ("name", "num_warps", "num_ctas", "shared", "global_scratch_size", "global_scratch_align", "tensordesc_meta")
    meta = {f: getattr(k.metadata, f) for f in fields}
    stem = pathlib.Path(job["stem"])
    stem.parent.mkdir(parents=True, exist_ok=True)
    for text in ("ttgir", "ptx"):
        stem.with_suffix("." + text).write_text(k.asm[text])
    stem.with_suffix(".json").write_text(json.dumps(meta))
    return {"wgmma": "wgmma" in k.asm["ptx"]}


def jit_worker():
    import measure
    driver = measure.Driver()
    driver.make_current()

    def jit_job(job):
        stem = pathlib.Path(job["stem"])
        stem.parent.mkdir(parents=True, exist_ok=True)
        stem.with_suffix(".cubin").write_bytes(driver.jit(pathlib.Path(job["ptx"]).read_text()))
        return {}

    return jit_job


if __name__ == "__main__":
    if "--dry-run" in sys.argv:
        import standin
        standin.install()
    pool.serve(jit_worker() if sys.argv[1] == "jit" else triton_job)
