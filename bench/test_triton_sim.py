"""Tests of bench/triton_sim.py on stand-ins for tensors and for tritonc."""

import contextlib
import ctypes
import io
import json
import pathlib
import sys
import tempfile
import types
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import triton_sim

# A tritonc that adds one to every byte of each argument's memory, or to as many
# as the kernel's text says, and leaves what it was asked in a file.
FAKE = """#!%s
import json, re, sys
sys.path.insert(0, %r)
import npy
asked = sys.argv[1:]
json.dump(asked, open(%r, "w"))
if "fail" in open(asked[-1]).read():
    sys.exit("k.py:1:1: error: a race")
size = int(re.search("size (\\d+)", open(asked[-1]).read() + "size 99").group(1))
values = dict(re.fullmatch(r"(\\w+)=(.*)", a).groups() for f, a in zip(asked, asked[1:]) if f == "--arg")
for flag, argument in zip(asked, asked[1:]):
    if flag == "--save":
        name, path = argument.split("=")
        data = npy.Data.load("u8", values[name][1:])
        npy.Data("u8", bytes((b + 1) %% 256 if i < size else b for i, b in enumerate(data.raw))).save(path)
        print(f"{name}: written to {path}")
print("pid (0, 0, 0) x: 1")
print("k ran on the simulated A100: 1 block")
"""


class Tensor:
    """What a launcher asks of a tensor: a view of a storage that begins offset bytes in it."""

    def __init__(self, buffer, offset=0):
        self.buffer, self.offset = buffer, offset

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: ctypes.addressof(self.buffer), nbytes=lambda: len(self.buffer))

    storage = untyped_storage

    def data_ptr(self):
        return ctypes.addressof(self.buffer) + self.offset


class LaunchTest(unittest.TestCase):
    def setUp(self):
        tmp = tempfile.TemporaryDirectory()
        self.addCleanup(tmp.cleanup)
        self.fake, self.asked = pathlib.Path(tmp.name, "tritonc"), pathlib.Path(tmp.name, "asked")
        self.fake.write_text(FAKE % (sys.executable, str(HERE), str(self.asked)))
        self.fake.chmod(0o755)
        self.metadata = types.SimpleNamespace(name="k", num_warps=4, num_ctas=1, shared=0, global_scratch_size=0,
                                              global_scratch_align=1)

    def launch(self, signature, *values, ptx=b"text", grid=(2, 1, 1)):
        source = types.SimpleNamespace(signature=signature)
        launcher = triton_sim.Launcher(str(self.fake), "cuda:80", source, self.metadata)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            launcher(*grid, 0, ptx, None, None, None, None, *values)
        return printed.getvalue()

    def test_memory(self):
        """The bytes from a view on are the kernel's; those before it are not."""
        buffer = (ctypes.c_uint8 * 8)(*range(8))
        signature = {"x": "*i8", "n": "i32", "B": "constexpr", "s": "fp32", "f": "u1"}
        printed = self.launch(signature, Tensor(buffer, 2), 5, 64, 0.5, True, ptx=b"size 6")
        self.assertEqual(printed, "pid (0, 0, 0) x: 1\n")  # what the kernel prints, alone
        self.assertEqual(list(buffer), [0, 1, 3, 4, 5, 6, 7, 8])
        asked = json.loads(self.asked.read_text())
        self.assertEqual(asked[:5], ["run", "--target", "cuda:80", "--grid", "2,1,1"])
        arguments = [a for f, a in zip(asked, asked[1:]) if f == "--arg"]
        self.assertEqual(arguments[1:], ["a1=5:i32", "a2=0.5:fp32", "a3=1:u8"])

    def test_wrapped_null_and_empty(self):
        buffer = (ctypes.c_uint8 * 1)(255)
        wrapper = types.SimpleNamespace(base=Tensor(buffer))  # triton's reinterpret()
        self.launch({"x": "*u8", "y": "*fp32", "z": "*fp32"}, wrapper, None, 0, ptx=b"size 1")
        self.assertEqual(list(buffer), [0])
        self.asked.unlink()
        self.launch({}, grid=(0, 1, 1))
        self.assertFalse(self.asked.exists())

    def test_whole_words(self):
        """A kernel may read and write back the whole of the last word, and no more."""
        buffer = (ctypes.c_uint8 * 2)(7, 8)
        self.launch({"x": "*bf16"}, Tensor(buffer), ptx=b"size 2")
        self.assertEqual(list(buffer), [8, 9])
        with self.assertRaisesRegex(triton_sim.Fault, "past the end of an argument of 2 bytes"):
            self.launch({"x": "*bf16"}, Tensor(buffer), ptx=b"size 3")
        self.assertEqual(list(buffer), [8, 9])

    def test_fault(self):
        with self.assertRaisesRegex(triton_sim.Fault, "k.py:1:1: error: a race"):
            self.launch({}, ptx=b"fail")

    def test_parameters(self):
        descriptor = types.SimpleNamespace(base="memory", shape=[2, 3], strides=[3, 1], padding="nan")
        signature = [("i32", "constexpr", "*fp32"), "tensordesc<fp16[2, 2]>"]
        got = triton_sim.parameters(signature, [(1, 2, "p"), descriptor])
        self.assertEqual(got, [("i32", 1), ("*fp32", "p"), ("*u8", "memory"), ("i64", 2), ("i64", 3), ("i64", 3),
                               ("i64", 1), ("i8", 1), ("i32", 2), ("i32", 3), ("i64", 3), ("i64", 1)])

    def test_targets(self):
        for target in ("cuda:75", "hip:gfx942", "cuda"):
            with self.assertRaisesRegex(SystemExit, f"no simulated GPU for {target}"):
                triton_sim.install(target)


if __name__ == "__main__":
    unittest.main()
