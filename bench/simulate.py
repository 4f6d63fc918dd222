"""bench/vs_triton.py simulate: the rows' own kernels, right on the simulated GPU.

Takes the PTX out of ours.zip, draws a row's inputs at its small size with torch
on the CPU, has `tritonc run` execute the PTX, and compares as on a GPU. So what
is carried to a GPU is known to be right before, and so are the references.
"""

import json
import pathlib
import subprocess
import tempfile
import zipfile

import cases

# What tritonc calls a type whose values NumPy cannot hold, and a type of NumPy's that can.
WIDENED = {"bfloat16": ("bf16", "float32"), "float8_e5m2": ("fp8e5", "float32"),
           "float8_e4m3fn": ("fp8e4nv", "float32")}


def save(torch, tensor, path):
    """A tensor as a .npy file; returns how tritonc's --arg names it."""
    import numpy
    ty, wide = WIDENED.get(str(tensor.dtype).removeprefix("torch."), ("", None))
    numpy.save(path, (tensor.to(getattr(torch, wide)) if wide else tensor).contiguous().numpy())
    return f"@{path}" + (f":{ty}" if ty else "")


def launch(torch, tritonc, ptx, arch, config, grid, values):
    """Runs a PTX file on tensors, descriptors and numbers; tensors are changed in place."""
    import numpy
    with tempfile.TemporaryDirectory() as tmp:
        argv = [tritonc, "run", "--target", f"cuda:{arch}", "--grid", ",".join(map(str, grid))]
        tensors = []
        for i, v in enumerate(values):
            name = f"a{i}"
            if isinstance(v, cases.Descriptor):
                block = ", ".join(str(config.extent(b)) for b in v.block)
                argv += ["--arg", f"{name}=desc(m{i}, [{block}])"]
                v, name = v.tensor, f"m{i}"
            if hasattr(v, "numel"):
                path = f"{tmp}/{i}.npy"
                argv += ["--arg", f"{name}={save(torch, v, path)}", "--save", f"{name}={tmp}/out{i}.npy"]
                tensors.append((v, f"{tmp}/out{i}.npy"))
            else:
                argv += ["--arg", f"a{i}={v}"]
        r = subprocess.run([*argv, str(ptx)], capture_output=True, text=True)
        if r.returncode:
            raise RuntimeError(r.stderr.strip()[-600:])
        for tensor, path in tensors:
            tensor.copy_(torch.from_numpy(numpy.load(path)))


def check(torch, tritonc, row, config, arch, ptx, seed):
    """The greatest error over the tolerance."""
    work = row.make(cases.Env(torch, "cpu", seed), **row.small)
    expected = work.reference()
    work.reset()
    launch(torch, tritonc, ptx, arch, config, work.grid(config), work.args)
    return max(cases.compare(torch, o, e, t) for o, e, t in zip(work.outputs(), expected, row.tolerance))


def run(tritonc, folder, pattern, configs):
    try:
        import numpy  # noqa: F401
        import torch
    except ImportError as e:
        print(f"simulate needs torch and numpy: {e}")
        return 1
    bad = 0
    with zipfile.ZipFile(folder / "ours.zip") as z, tempfile.TemporaryDirectory() as tmp:
        for row in cases.choose(pattern):
            for config in row.configs[:configs]:
                key = row.build(config).key
                for arch in json.loads(z.read("manifest.json"))["archs"]:
                    if arch < row.least_arch:
                        continue
                    said = f"{row.name:32} {str(config):24} cuda:{arch}  "
                    try:
                        for ending in ("ptx", "json"):
                            pathlib.Path(tmp, f"k.{ending}").write_bytes(z.read(f"{arch}/{key}.{ending}"))
                        worst = check(torch, tritonc, row, config, arch, f"{tmp}/k.ptx", seed=len(key) + arch)
                        print(f"{said}{worst:.3g} of the tolerance" + ("" if worst <= 1 else "   WRONG"), flush=True)
                        bad += worst > 1
                    except AttributeError as e:  # a type that this torch does not have
                        print(f"{said}skipped: {e}", flush=True)
                    except (KeyError, RuntimeError) as e:
                        print(f"{said}{e}", flush=True)
                        bad += 1
    return 1 if bad else 0
