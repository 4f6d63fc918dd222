"""Loading, launching, assembling and timing kernels on an NVIDIA GPU.

Driver and Kernel are the few calls of the CUDA driver that this takes, by
ctypes. Assembler is one ptxas. time_graphs times launches in CUDA graphs over
input sets that together exceed the L2 cache, competitors in turn.
"""

import ctypes
import os
import pathlib
import random
import re
import statistics
import subprocess
import tempfile

MAX_DYNAMIC_SHARED, LOCAL_BYTES, REGISTERS = 8, 3, 4  # CUfunction_attribute
PREFER_SHARED = 1  # CUfunc_cache
INFO_LOG, INFO_LOG_SIZE, ERROR_LOG, ERROR_LOG_SIZE = 3, 4, 5, 6  # CUjit_option
JIT_INPUT_PTX = 1  # CUjitInputType
STATIC_SHARED_LIMIT = 48 << 10  # more must be asked for

_handle, _int, _uint = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
_pointers, _ints = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int)

# Every call we make, with its parameters' types: without them ctypes would pass
# pointers and sizes as ints of 32 bits.
PROTOTYPES = {
    "cuInit": [_uint],
    "cuGetErrorString": [_int, ctypes.POINTER(ctypes.c_char_p)],
    "cuDeviceGet": [_ints, _int],
    "cuDevicePrimaryCtxRetain": [_pointers, _int],
    "cuCtxSetCurrent": [_handle],
    "cuModuleLoadDataEx": [_pointers, ctypes.c_char_p, _uint, _ints, _pointers],
    "cuModuleGetFunction": [_pointers, _handle, ctypes.c_char_p],
    "cuModuleUnload": [_handle],
    "cuFuncSetAttribute": [_handle, _int, _int],
    "cuFuncGetAttribute": [_ints, _int, _handle],
    "cuFuncSetCacheConfig": [_handle, _int],
    "cuLaunchKernel": [_handle] + [_uint] * 7 + [_handle, _pointers, _pointers],
    "cuLinkCreate_v2": [_uint, _ints, _pointers, _pointers],
    "cuLinkAddData_v2": [_handle, _int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, _uint, _ints, _pointers],
    "cuLinkComplete": [_handle, _pointers, ctypes.POINTER(ctypes.c_size_t)],
    "cuLinkDestroy": [_handle],
    "cuProfilerStart": [],
    "cuProfilerStop": [],
}
# A call that drivers before CUDA 12 lack.
ENCODE = [_handle, _int, _uint, _handle] + [_handle] * 4 + [_int] * 4


class Driver:
    """libcuda. Everything happens in the calling thread's current context."""

    def __init__(self, lib=None):
        self.lib = lib or ctypes.CDLL("libcuda.so.1")
        for name, types in PROTOTYPES.items():
            call = getattr(self.lib, name)
            call.argtypes, call.restype = types, _int

    def __getattr__(self, name):
        """A call that raises where the driver's returns an error."""
        call = getattr(self.lib, name)

        def checked(*args, log=None):
            code = call(*args)
            if code != 0:
                text = ctypes.c_char_p()
                self.lib.cuGetErrorString(code, ctypes.byref(text))
                why = text.value.decode() if text.value else f"error {code}"
                said = log.value.decode(errors="replace").strip() if log is not None else ""
                raise RuntimeError(f"{name}: {why}" + (f"\n{said}" if said else ""))

        return checked

    def make_current(self, device=0):
        """The device's primary context, the one that torch uses, for this thread."""
        self.cuInit(0)
        number, context = ctypes.c_int(), ctypes.c_void_p()
        self.cuDeviceGet(ctypes.byref(number), device)
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), number.value)
        self.cuCtxSetCurrent(context)

    def jit(self, ptx):
        """The cubin that the driver makes of PTX for the current device."""
        options = JitLog()
        state, image, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t()
        self.cuLinkCreate_v2(*options.arguments(), ctypes.byref(state))
        try:
            text = ptx.encode() + b"\0"
            self.cuLinkAddData_v2(state, JIT_INPUT_PTX, text, len(text), b"kernel.ptx", 0, None, None,
                                  log=options.errors)
            self.cuLinkComplete(state, ctypes.byref(image), ctypes.byref(size), log=options.errors)
            return ctypes.string_at(image, size.value)
        finally:
            self.cuLinkDestroy(state)


class JitLog:
    """Options that give the JIT compiler somewhere to write."""

    def __init__(self, size=8 << 10):
        self.info, self.errors = ctypes.create_string_buffer(size), ctypes.create_string_buffer(size)
        self.names = (ctypes.c_int * 4)(INFO_LOG, INFO_LOG_SIZE, ERROR_LOG, ERROR_LOG_SIZE)
        # Sizes go by value in the place of a pointer.
        self.values = (ctypes.c_void_p * 4)(ctypes.addressof(self.info), size, ctypes.addressof(self.errors), size)

    def arguments(self):
        return len(self.names), self.names, self.values


C_TYPES = {
    "i1": ctypes.c_int8, "u1": ctypes.c_uint8, "i8": ctypes.c_int8, "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16, "u16": ctypes.c_uint16, "i32": ctypes.c_int32, "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64, "u64": ctypes.c_uint64, "fp32": ctypes.c_float, "fp64": ctypes.c_double,
}


MAP_BYTES, MAP_ALIGN = 128, 64
PROMOTE_128 = 2  # CUtensorMapL2promotion
# CUtensorMapDataType of the types that PTX's tensormap.replace numbers in another way.
HOST_TYPES = {8: 10, 9: 8, 10: 9}


def tensor_map(driver, descriptor, meta):
    """The tensor map of a cases.Descriptor, made as an entry of tensordesc_meta says."""
    rank = len(descriptor.block)
    memory = (ctypes.c_uint8 * (MAP_BYTES + MAP_ALIGN))()
    skip = -ctypes.addressof(memory) % MAP_ALIGN
    at = (ctypes.c_uint8 * MAP_BYTES).from_buffer(memory, skip)
    wide, word = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
    # CUDA counts dimensions from the fastest on, and knows the stride of that.
    sizes = wide(*reversed(descriptor.tensor.shape))
    strides = wide(*[s * meta["elem_size"] for s in reversed(descriptor.strides[:-1])])
    encode = driver.lib.cuTensorMapEncodeTiled
    encode.argtypes, encode.restype = ENCODE, _int
    code = encode(ctypes.addressof(at), HOST_TYPES.get(meta["elem_type"], meta["elem_type"]), rank,
                  descriptor.tensor.data_ptr(), ctypes.addressof(sizes), ctypes.addressof(strides),
                  ctypes.addressof(box := word(*reversed(meta["block_size"]))), ctypes.addressof(steps := word(*[1] * rank)),
                  0, meta["swizzle"], PROMOTE_128, 0)
    if code:
        raise RuntimeError(f"cuTensorMapEncodeTiled: error {code} for a box {list(box)} of {list(sizes)}")
    return at


def descriptor_arguments(driver, descriptor, meta):
    """The parameters that stand for a descriptor: its map, or base, shape, strides and
    padding; then shape and strides."""
    shape, strides = descriptor.tensor.shape, descriptor.strides
    if meta is None:
        out = [ctypes.c_void_p(descriptor.tensor.data_ptr()), *map(ctypes.c_int64, shape), *map(ctypes.c_int64, strides),
               ctypes.c_int8(0)]
    else:
        out = [tensor_map(driver, descriptor, meta)]
    return out + [*map(ctypes.c_int32, shape), *map(ctypes.c_int64, strides)]


def c_arguments(types, values, scratch=0, driver=None, maps=()):
    """The parameters of a kernel: those of types that are not constants, then the
    pointers to global and to profile scratch that every kernel of Triton's has. maps
    is the kernel's tensordesc_meta."""
    kept = [t.partition(":")[0] for t in types if t != "1"]
    if len(kept) != len(values):
        raise ValueError(f"{len(values)} values for {len(kept)} parameters: {kept}")
    out, maps = [], list(maps or ())
    descriptors = sum(t.startswith("tensordesc") for t in kept)
    if maps and len(maps) != descriptors:
        raise ValueError(f"{len(maps)} tensor maps for {descriptors} descriptors")
    for ty, v in zip(kept, values):
        if ty.startswith("tensordesc"):
            out += descriptor_arguments(driver, v, maps.pop(0) if maps else None)
        elif ty.startswith("*"):
            out.append(ctypes.c_void_p(v if isinstance(v, int) else v.data_ptr()))
        else:
            out.append(C_TYPES[ty](v))
    return out + [ctypes.c_void_p(scratch), ctypes.c_void_p(0)]


class Kernel:
    """A loaded kernel. meta has Triton's names: name, num_warps, shared,
    global_scratch_size. image is a cubin (bytes), or PTX (str), which the driver
    then compiles."""

    def __init__(self, driver, image, meta):
        self.driver = driver
        self.threads, self.shared = 32 * meta["num_warps"], meta["shared"] or 0
        self.scratch_bytes = meta.get("global_scratch_size") or 0
        self.scratch = None
        self.maps = meta.get("tensordesc_meta") or ()
        self.module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        data = image.encode() + b"\0" if isinstance(image, str) else image
        options = JitLog()
        driver.cuModuleLoadDataEx(ctypes.byref(self.module), data, *options.arguments(), log=options.errors)
        driver.cuModuleGetFunction(ctypes.byref(self.function), self.module, meta["name"].encode())
        if self.shared > STATIC_SHARED_LIMIT:
            driver.cuFuncSetCacheConfig(self.function, PREFER_SHARED)
            driver.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED, self.shared)

    def attribute(self, which):
        value = ctypes.c_int()
        self.driver.cuFuncGetAttribute(ctypes.byref(value), which, self.function)
        return value.value

    def launcher(self, torch, grid, types, values):
        """A function that launches on torch's current stream, whichever that is then."""
        if self.scratch_bytes:
            need = self.scratch_bytes * grid[0] * grid[1] * grid[2]
            if self.scratch is None or self.scratch.numel() < need:
                self.scratch = torch.zeros(need, dtype=torch.uint8, device="cuda")
        arguments = c_arguments(types, values, self.scratch.data_ptr() if self.scratch_bytes else 0, self.driver, self.maps)
        slots = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])

        def launch(keep=(arguments, values)):  # the slots point into arguments
            stream = torch.cuda.current_stream().cuda_stream
            self.driver.cuLaunchKernel(self.function, *grid, self.threads, 1, 1, self.shared, stream, slots, None)

        return launch

    def unload(self):
        self.driver.cuModuleUnload(self.module)


# ---- assembling


class Assembler:
    """One ptxas."""

    def __init__(self, path):
        self.path = str(path)
        text = subprocess.run([self.path, "--version"], capture_output=True, text=True, check=True).stdout
        major, minor = map(int, re.search(r"release (\d+)\.(\d+)", text).groups())
        self.version = f"{major}.{minor}"
        self.ptx = newest_ptx(major, minor)

    def cubin(self, ptx, gpu):
        """(cubin, ptxas's report); the .version line is lowered to what this ptxas takes."""
        stated = int("".join(re.search(r"\.version\s+(\d+)\.(\d+)", ptx).groups()))
        v = min(self.ptx, stated)
        ptx = re.sub(r"\.version\s+\d+\.\d+", f".version {v // 10}.{v % 10}", ptx, count=1)
        with tempfile.TemporaryDirectory() as tmp:
            source, image = os.path.join(tmp, "k.ptx"), os.path.join(tmp, "k.cubin")
            pathlib.Path(source).write_text(ptx)
            r = subprocess.run([self.path, "-v", "-lineinfo", f"--gpu-name={gpu}", source, "-o", image],
                               capture_output=True, text=True)
            if r.returncode:
                raise RuntimeError(f"ptxas {self.version}: {(r.stderr or r.stdout).strip()[-800:]}")
            return pathlib.Path(image).read_bytes(), r.stderr


def newest_ptx(major, minor):
    """The newest PTX version, times ten, that the ptxas of a CUDA release takes."""
    if major == 12:
        return 80 + minor if minor < 6 else 79 + minor
    return {11: 70, 13: 90}[major] + minor


def resources(report):
    """(registers, bytes of spill stores) from what ptxas -v says; -1 where it does not."""
    registers = re.search(r"Used (\d+) registers", report)
    spills = re.search(r"(\d+) bytes spill stores", report)
    return int(registers[1]) if registers else -1, int(spills[1]) if spills else -1


# ---- timing


def launches_for(microseconds, sets, total=8000, most=400):
    """How many launches of a graph make it long enough to time, every set in it."""
    return max(min(most, int(total / max(microseconds, 0.1))), min(sets, most), 3)


def estimate(torch, launches):
    """Microseconds of one launch, roughly, from one pass over the sets; warms up, too."""
    for launch in launches[:3]:
        launch()
    torch.cuda.synchronize()
    some = (launches * 3)[:10]
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for launch in some:
        launch()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1e3 / len(some)


class Graph:
    """count launches over rotating input sets, replayed as one CUDA graph."""

    def __init__(self, torch, launches, count):
        self.torch, self.count = torch, count
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        # torch.cuda.graph() would collect garbage and empty the allocator's cache
        # each time, which takes longer than what is timed.
        with torch.cuda.stream(torch.cuda.Stream()):
            self.graph.capture_begin()
            try:
                for i in range(count):
                    launches[i % len(launches)]()
            finally:
                self.graph.capture_end()
        self.replay()

    def replay(self):
        """Microseconds of one launch."""
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / self.count


def time_graphs(graphs, rounds):
    """Times in microseconds, {name: [one a round]}: in each round every graph in
    turn, so that clocks change alike for all, and in an order of its own, since
    what went before lowers the clock for a while."""
    times, order, draw = {name: [] for name in graphs}, list(graphs), random.Random(0)
    for _ in range(rounds):
        draw.shuffle(order)
        for name in order:
            times[name].append(graphs[name].replay())
    return times


def median_ratio(slow, fast):
    """The median over rounds of slow/fast: above 1, `fast` is the faster."""
    return statistics.median(s / f for s, f in zip(slow, fast))
