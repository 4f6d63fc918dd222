"""Tests of bench/direct_times.py, without a GPU."""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases
import cycles
import direct_times
import vs_triton


def image(code, registers, debug=b""):
    """A small ELF file with a section of code and another one."""
    names = b"\0.text.k\0.debug_line\0.shstrtab\0"
    body = code + debug + names
    heads = [(0, 0, 0), (1, 64, len(code)), (9, 64 + len(code), len(debug)), (21, 64 + len(code) + len(debug), len(names))]
    table = b"".join(struct.pack("<IIQQQQIIQQ", n, 1, 0, 0, at, size, 0, registers << 24 if n == 1 else 0, 0, 0) for n, at, size in heads)
    head = bytearray(64)
    struct.pack_into("<Q", head, 40, 64 + len(body))
    struct.pack_into("<HHH", head, 58, 64, len(heads), 3)
    return bytes(head) + body + table


# What ncu does, with numbers made up: those of direct code are the greater ones, but for one
# of them where there are many launches.
NCU = f"""#!{sys.executable}
import json, pathlib, subprocess, sys
at = sys.argv.index("--log-file")
log, argv = pathlib.Path(sys.argv[at + 1]), sys.argv[at + 2:]
subprocess.run(argv, check=True)
order = json.loads(pathlib.Path(argv[argv.index("launch") + 1]).read_text())
lines = ['"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"']
for i, (_, number, way) in enumerate(order):
    slow = way == "direct" and (number != 1 or len(order) < 50)
    lines.append(f'"{{i}}","k","{cycles.METRIC}","cycle","{{"2,000" if slow else "1,800"}}"')
log.write_text("\\n".join(lines))
"""


class DirectTimesTest(unittest.TestCase):
    def test_code(self):
        code = direct_times.code_of(image(b"abc", 40, b"line 1"))
        self.assertEqual(code, {b".text.k": (40, b"abc")})
        self.assertEqual(code, direct_times.code_of(image(b"abc", 40, b"another line")))
        self.assertNotEqual(code, direct_times.code_of(image(b"abd", 40)))
        self.assertNotEqual(code, direct_times.code_of(image(b"abc", 48)))

    def test_arguments(self):
        build = next(iter(cases.builds(cases.choose("softmax f32 4096x1024"), 90).values()))
        a = direct_times.arguments("tritonc", build, "direct", pathlib.Path("out"))
        self.assertEqual(a[a.index("--emit") + 1], "ptx,json")
        self.assertEqual(a[-3:-1], ["--option", "ptx=direct"])

    def test_table(self):
        side = {"us": 10.0, "registers": 32, "local": 0}
        config = lambda ratio, worst=0: {"config": "1 w4 s3", "worst": worst, "ratio": ratio, "llvm": side, "direct": side}
        results = {"gpu": "G", "ptxas": "12.8", "limit": 0.98, "mean": 1.0, "errors": {}, "equal": ["a", "b"],
                   "rows": [{"row": "r", "configs": {"0": config(1.1), "1": config(0.97), "2": {"config": "2", "worst": 0, "slow": 9}}}]}
        text, bad = direct_times.table(results)
        self.assertEqual(bad, 1)
        self.assertIn("| r | 1 w4 s3 | 10.00 | 10.00 | 0.970 * | 32, 32 |", text)
        self.assertIn("2 kernels of equal code, 2 timed, 1 below 0.98, geometric mean 1.0163", text)
        results["rows"] = [{"row": "r", "configs": {"0": config(0.99, 2)}}, {"row": "s", "error": "lost\nmore"}]
        text, bad = direct_times.table(results)
        self.assertEqual(bad, 3)  # wrong, lost, and the mean
        self.assertIn("WRONG: 2 times", text)

    def test_dry_run(self):
        row = cases.choose("softmax f32 4096x1024")[0]
        with tempfile.TemporaryDirectory() as folder:
            files = {}
            for i, c in enumerate(row.configs):
                key = row.build(c).key
                files[f"{key}.json"] = json.dumps({"name": row.kernel, "num_warps": c.num_warps, "shared": 0})
                for way in direct_times.WAYS:
                    files[f"{key}.{way}.cubin"] = "code"
            same = row.build(row.configs[0]).key
            manifest = {"kernels": vs_triton.kernels_digest(), "rows": row.name, "equal": [same], "errors": {}, "ptxas": "12.8"}
            with zipfile.ZipFile(pathlib.Path(folder, "pairs.zip"), "w") as z:
                z.writestr("manifest.json", json.dumps(manifest))
                for name, text in files.items():
                    z.writestr(name, text)
            run = [sys.executable, HERE / "direct_times.py", "run", folder, "--dry-run"]
            r = subprocess.run([*run, "--cycles", "0"], capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            timed = json.loads(pathlib.Path(folder, "times.json").read_text())["rows"][0]["configs"]
            self.assertEqual(len(timed), len(row.configs) - 1)

            # By cycles direct code takes 10/9 of llc's.
            ncu = pathlib.Path(folder, "ncu")
            ncu.write_text(NCU)
            ncu.chmod(0o755)
            r = subprocess.run([*run, "--cycles", "1e9", "--ncu", ncu], capture_output=True, text=True)
            self.assertEqual(r.returncode, 1, r.stdout + r.stderr)
            timed = json.loads(pathlib.Path(folder, "times.json").read_text())["rows"][0]["configs"]
            for n, c in timed.items():
                self.assertAlmostEqual(c["ratio"], 1.0 if n == "1" else 0.9)
                self.assertEqual((c["llvm"]["cycles"], c["direct"]["cycles"]), (1800, 1800 if n == "1" else 2000))
                self.assertTrue(c["again"])
            self.assertIn("| 0.900 in cycles * |", r.stdout)
            self.assertIn("| 1.000 in cycles |", r.stdout)
            self.assertIn(f"cycles of {len(timed)} kernels below 1e+09 us, of {len(timed)} again", r.stdout)
            r = subprocess.run([*run, "--cycles", "1e9", "--ncu", ncu, "--again-cycles", "0"], capture_output=True, text=True)
            self.assertNotIn("1.000 in cycles", r.stdout)

            ncu.write_text("#!/bin/sh\nexit 3\n")
            r = subprocess.run([*run, "--cycles", "1e9", "--ncu", ncu], capture_output=True, text=True)
            self.assertEqual(r.returncode, 1)
            self.assertIn("No cycles were counted", r.stdout)  # and the times are there
            self.assertIn("3 timed", r.stdout)

            r = subprocess.run([*run, "--ncu", "/none"], capture_output=True, text=True)
            self.assertEqual(r.returncode, 1)
            self.assertIn("say --ncu PATH", r.stderr)

    def test_cycles(self):
        text = '==PROF== Connected\n"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"\n' + \
            f'"0","k","{cycles.METRIC}","cycle","1,234"\n"1","k","other","","5"\n"1","k","{cycles.METRIC}","cycle","77"\n'
        self.assertEqual(cycles.parse(text), [1234, 77])
        self.assertEqual(cycles.parse("==ERROR== nothing was profiled"), [])
        with self.assertRaisesRegex(RuntimeError, "status 1"):
            cycles.count("false", [], 10)


if __name__ == "__main__":
    unittest.main()
