"""Tests of bench/direct_public.py, without a GPU."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import direct_public
from test_direct_times import image

# What ptxas does: the machine code is what PTX has between "code" and a semicolon.
PTXAS = f"""#!{sys.executable}
import pathlib, re, sys
if "--version" in sys.argv:
    sys.exit(print("release 12.8"))
sys.path.insert(0, {str(HERE)!r})
from test_direct_times import image
text = pathlib.Path(sys.argv[-3]).read_text()
code = re.search("code (.*?);", text)
if not code:
    sys.exit("ptxas: no code")
pathlib.Path(sys.argv[-1]).write_bytes(image(code[1].encode(), 32))
"""

PTX = """.version 8.5
.target sm_90a
\t.file\t1 "k.py"
.visible .entry k(.param .u64 .ptr p)
{
\t.local .align 4 .b8 \t__local_depot0[4];
\t.loc\t1 5 0 // k.py:5
\tmov.u32 %r1, %ctaid.x;
\tCODE
\tret;
}
\n\t.section\t.debug_abbrev
\t{
\t}
"""


def pair(folder, key, llvm, direct, **more):
    job = {"repo": "o/n", "path": "k.py", "kernel": key, "signature": "p=*fp32:16, n=i32", "name": "k", "num_warps": 4,
           "types": ["*fp32", "i32", "fp32"], "integers": [64, 64, 64], "executed": 9000}
    (folder / f"{key}.json").write_text(json.dumps(job | more))
    for way, code in (("llvm", llvm), ("direct", direct)):
        (folder / f"{key}.{way}.ptx").write_text(PTX.replace("CODE", code))


class DirectPublicTest(unittest.TestCase):
    def test_bare(self):
        text = direct_public.bare(PTX.replace("CODE", "code;"))
        self.assertIn("__local_depot0", text)
        for gone in (".loc\t", ".file", ".section", "debug"):
            self.assertNotIn(gone, text)
        self.assertIn("\tcode;\n\tret;\n}", text)

    def test_grid(self):
        self.assertEqual(direct_public.directions("mov.u32 %r1, %ctaid.x;\n%nctaid.z;"), [True, False, True])
        larger = direct_public.larger
        self.assertEqual(larger((2, 2, 2), [True, False, False], 2112), (2, 2, 528))
        self.assertEqual(larger((2, 2, 2), [True, False, True], 2112), (2, 528, 2))
        self.assertEqual(larger((2, 2, 2), [True] * 3, 2112), (2, 2, 528))
        self.assertEqual(larger((2, 2, 2), [True] * 3, 1), (2, 2, 2))
        self.assertLess(larger((2, 2, 2), [True] * 3, 1 << 30)[2], 65536)

    def test_run(self):
        with tempfile.TemporaryDirectory() as tmp:
            tmp = pathlib.Path(tmp)
            pairs, ptxas = tmp / "pairs", tmp / "ptxas"
            (pairs / "memory").mkdir(parents=True)
            (pairs / "memory/fp32.0").write_bytes(bytes(4096))
            pair(pairs, "same-text", "code a;", "code a;")
            pair(pairs, "same-code", "code a; // 1", "code a; // 2")
            pair(pairs, "timed", "code a;", "code b;")
            pair(pairs, "waits", "code ld.acquire;", "code b;")
            pair(pairs, "refused-by-ptxas", "code a;", "none;")
            pair(pairs, "prints", "code vprintf;", "code b;")
            pair(pairs, "refused", "", "", why="refused: k.py:1:1: error: no")
            pair(pairs, "ended", "", "", why="none of the guesses: out of bounds")
            ptxas.write_text(PTXAS)
            ptxas.chmod(0o755)
            program = [sys.executable, str(HERE / "direct_public.py")]
            r = subprocess.run([*program, "prepare", tmp, "--pairs", pairs], capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertIn("5 kernels, 1 of equal PTX", r.stdout)
            r = subprocess.run([*program, "run", tmp, "--ptxas", ptxas, "--dry-run"], capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stderr)
            heads, rows = direct_public.read([tmp / "times.jsonl"])
            self.assertEqual(heads[0]["left_out"], {"does not compile by llc": 1, "no guess of the arguments ends": 1, "prints": 1})
            by = {row["kernel"]: row for row in rows}
            self.assertEqual(len(by), 5)
            for kernel in ("same-text", "same-code"):
                self.assertTrue(by[kernel]["equal"])
            self.assertIn("no code", by["refused-by-ptxas"]["error"])
            for kernel in ("timed", "waits"):
                self.assertEqual((by[kernel]["ratio"], by[kernel]["outcome"]), (1.0, "equal"), by[kernel])

    def test_tables(self):
        side = {"us": 30.0, "registers": 32, "local": 0}
        rows = [{"key": str(i), "repo": "o/n", "path": "k.py", "kernel": "k", "signature": "s", "executed": 9000, "outcome": "equal",
                 "ratio": ratio, "noise": 1.0, "llvm": side, "direct": side} for i, ratio in enumerate((0.97, 1.03))]
        rows += [{"key": "e", "equal": True}, {"key": "f", "error": "RuntimeError: cuLaunchKernel: lost\nmore"}]
        with tempfile.TemporaryDirectory() as tmp:
            tmp = pathlib.Path(tmp)
            first, second, page = tmp / "1.jsonl", tmp / "2.jsonl", tmp / "page.md"
            first.write_text("".join(json.dumps(r) + "\n" for r in [{"gpu": "G", "limit": 0.98, "left_out": {"prints": 3}}, *rows]))
            results = direct_public.read([first])
            self.assertIn("| all, equal code as 1 | 3 | 0.9997 | 0 | 0 | 1 | 1 | 1 | 0 | 0 |", direct_public.totals(results))
            self.assertIn("| of the manifest | 7 |\n| left out: prints | 3 |", direct_public.outcomes(results))
            self.assertIn("| not timed: cuLaunchKernel: lost | 1 |", direct_public.outcomes(results))
            self.assertIn("| `k` of o/n/k.py | 30.0 | 30.0 | 0.970 | 1.000 | 32, 32 | 0, 0 | 9000 |", direct_public.slow(results))
            # A later file has a kernel's last row, unless it came too late to be timed again.
            second.write_text(json.dumps(rows[0] | {"ratio": 0.99}) + "\n" + json.dumps({"key": "1", "error": "out of time", "late": True}) + "\n")
            ratios = sorted(r["ratio"] for r in direct_public.read([first, second])[1] if "ratio" in r)
            self.assertEqual(ratios, [0.99, 1.03])
            page.write_text("# Page\n" + "".join(f"<!-- table: {t} -->\nold\n<!-- end: {t} -->\n" for t in direct_public.TABLES))
            r = subprocess.run([sys.executable, HERE / "direct_public.py", "page", page, first], capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stderr)
            self.assertNotIn("old", page.read_text())
            self.assertIn("0.970", page.read_text())


if __name__ == "__main__":
    unittest.main()
