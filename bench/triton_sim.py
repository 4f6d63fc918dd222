#!/usr/bin/env python3
"""Triton without a GPU: its front end, our compiler, our simulated GPU.

    bench/triton_sim.py [--target cuda:80] program.py [ARGUMENT ...]

or, in a program, before it launches a kernel:

    import triton_sim; triton_sim.install("cuda:80")

Kernels are launched on tensors of the CPU (torch's CPU build will do); what the
simulator reports of one, a race, an access out of bounds, a value that nobody
wrote, is raised as Fault. torch.cuda answers questions about the device as the
target would; it has no memory there and no streams.
"""

import argparse
import ctypes
import json
import pathlib
import runpy
import subprocess
import sys
import tempfile
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import npy
import triton_hook

# What a block may have of shared memory, by compute capability.
SHARED = {80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10}
MULTIPROCESSORS = 132
WORD = 4
METADATA = ("name", "num_warps", "num_ctas", "shared", "global_scratch_size", "global_scratch_align")


class Fault(RuntimeError):
    """What the simulated GPU reports of a launch."""


def storage_bytes(tensor):
    """The memory from a tensor's first element to the end of what was allocated, writable."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    start = tensor.data_ptr()
    size = storage.data_ptr() + storage.nbytes() - start if start else 0
    return (ctypes.c_uint8 * size).from_address(start) if size else (ctypes.c_uint8 * 0)()


def flatten(types_, values):
    """(type, value) of every element of nested tuples."""
    for ty, value in zip(types_, values):
        if isinstance(ty, tuple):
            yield from flatten(ty, value)
        else:
            yield ty, value


def parameters(signature, values):
    """(type, value) of each of the compiled kernel's own parameters: constants are
    none, and a descriptor is its tensor, then shape and strides twice."""
    out = []
    for ty, value in flatten(signature, values):
        if ty == "constexpr":
            continue
        if ty.startswith("tensordesc"):
            shape, strides = list(value.shape), list(value.strides)
            out.append(("*u8", value.base))
            out += [("i64", n) for n in shape + strides] + [("i8", int(value.padding == "nan"))]
            out += [("i32", n) for n in shape] + [("i64", n) for n in strides]
        else:
            out.append((ty, value))
    return out


class Launcher:
    """What Triton calls to launch a kernel; made for its source and metadata."""

    def __init__(self, tritonc, target, source, metadata):
        self.tritonc, self.target = tritonc, target
        self.signature = list(source.signature.values())
        self.metadata = {name: getattr(metadata, name) for name in METADATA}

    def __call__(self, x, y, z, stream, ptx, packed, metadata, enter, leave, *values):
        if x * y * z == 0:
            return
        with tempfile.TemporaryDirectory(prefix="tritonc-") as tmp:
            folder, memory = pathlib.Path(tmp), []
            (folder / "kernel.ptx").write_bytes(ptx)
            (folder / "kernel.json").write_text(json.dumps(self.metadata))
            argv = [self.tritonc, "run", "--target", self.target, "--grid", f"{x},{y},{z}"]
            for i, (ty, value) in enumerate(parameters(self.signature, values)):
                if not ty.startswith("*"):
                    ty = {"u1": "u8", "i1": "i8"}.get(ty, ty)
                    argv += ["--arg", f"a{i}={int(value) if isinstance(value, bool) else value}:{ty}"]
                elif value is None or isinstance(value, int):
                    argv += ["--arg", f"a{i}={value or 0}:u64"]
                else:
                    bytes_ = storage_bytes(getattr(value, "base", value) if not hasattr(value, "storage") else value)
                    # CUDA allocates whole words, which 16-bit atomics work on; what pads the last one stays zero.
                    before = npy.Data("u8", bytes(bytes_) + bytes(-len(bytes_) % WORD))
                    memory.append((bytes_, before, folder / f"out{i}.npy"))
                    argv += ["--arg", f"a{i}={before.save(folder / f'{i}.npy')}", "--save", f"a{i}={memory[-1][2]}"]
            r = subprocess.run([*argv, str(folder / "kernel.ptx")], capture_output=True, text=True)
            if r.returncode:
                raise Fault(r.stderr.strip())
            lines = r.stdout.splitlines(keepends=True)  # what the kernel printed, and tritonc's own
            own = " ran on the simulated ", f": written to {folder}"
            sys.stdout.write("".join(line for line in lines if not any(words in line for words in own)))
            for bytes_, before, path in memory:
                # Only what changed: two arguments may be parts of one allocation.
                after = npy.Data.load("u8", path).raw
                if any(after[len(bytes_):]):
                    raise Fault(f"the kernel writes past the end of an argument of {len(bytes_)} bytes")
                for i, (old, new) in enumerate(zip(before.raw, after)):
                    if old != new:
                        bytes_[i] = new


def driver(tritonc, arch):
    """Triton's driver of the simulated GPU."""
    import torch
    from triton.backends.compiler import GPUTarget
    from triton.backends.driver import DriverBase

    class SimulatedDriver(DriverBase):
        launcher_cls = staticmethod(lambda source, metadata: Launcher(tritonc, f"cuda:{arch}", source, metadata))
        get_current_device = get_current_stream = staticmethod(lambda *_: 0)
        set_current_device = staticmethod(lambda *_: None)
        get_device_capability = staticmethod(lambda *_: divmod(arch, 10))
        utils = types.SimpleNamespace(
            get_device_properties=lambda _: {"max_shared_mem": SHARED[arch], "warpSize": 32,
                                             "multiprocessor_count": MULTIPROCESSORS},
            # (module, function, registers, spills, most threads of a block)
            load_binary=lambda name, ptx, shared, device: (1, ptx, 32, 0, 1024))

        @classmethod
        def is_active(cls):
            return True

        def map_python_to_cpp_type(self, ty):
            return ty

        def get_current_target(self):
            return GPUTarget("cuda", arch, 32)

        def get_active_torch_device(self):
            return torch.device("cpu")

        def get_device_interface(self):
            return torch.cuda

        def get_benchmarker(self):
            raise RuntimeError("times of a simulated GPU tell nothing")

    return SimulatedDriver()


def install(target="cuda:80", tritonc=None):
    """Makes the triton package of this process launch kernels on the simulated GPU."""
    backend, _, arch = target.partition(":")
    if backend != "cuda" or int(arch or 0) not in SHARED:
        raise SystemExit(f"triton_sim: no simulated GPU for {target}; there is one for " +
                         ", ".join(f"cuda:{a}" for a in SHARED))
    import torch
    import triton
    hook = triton_hook.install(tritonc, mode="raise", assemble=False)
    arch = int(arch)
    triton.runtime.driver.set_active(driver(hook.program.path, arch))
    properties = types.SimpleNamespace(name=f"simulated {target}", major=arch // 10, minor=arch % 10,
                                       multi_processor_count=MULTIPROCESSORS)
    for name, answer in (("is_available", True), ("current_device", 0), ("device_count", 1), ("synchronize", None),
                         ("set_device", None), ("get_device_capability", divmod(arch, 10)),
                         ("get_device_properties", properties)):
        setattr(torch.cuda, name, lambda *_, answer=answer: answer)
    return hook


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--target", default="cuda:80")
    p.add_argument("program", nargs=argparse.REMAINDER)
    a = p.parse_args()
    if not a.program:
        p.error("a program is needed")
    sys.modules["triton_sim"] = sys.modules[__name__]
    install(a.target)
    sys.argv = a.program
    sys.path[0] = str(pathlib.Path(sys.argv[0]).resolve().parent)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
