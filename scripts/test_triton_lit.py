"""Tests of scripts/triton_lit.py on files written here: python3 -m unittest discover scripts"""

import io
import os
import pathlib
import stat
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import triton_lit as lit

FILE = """\
// RUN: triton-opt %s -split-input-file | FileCheck %s

tt.func @one() {
}
// -----
// only a comment

// -----
// expected-error @+2 {{first}}
// expected-error @below {{second}}
tt.func @two() {
  // expected-error-re @above {{of {{[0-9]+}} bits}}
  // expected-note @unknown {{nowhere}}
}
"""


def failing(results, verbose=1):
    out = io.StringIO()
    return lit.report(results, verbose, out), out.getvalue()


class Parsing(unittest.TestCase):
    def test_modules_have_the_lines_of_the_file(self):
        modules = lit.modules_of(FILE)
        self.assertEqual([(m.first, m.last) for m in modules], [(1, 4), (9, 14)])
        self.assertEqual([m.refused for m in modules], [False, True])

    def test_expected_lines(self):
        found = lit.modules_of(FILE)[1].expected
        self.assertEqual([(e.kind, e.line, e.regex) for e in found], [
            ("error", 11, False), ("error", 11, False), ("error", 11, True), ("note", None, False),
        ])  # fmt: skip

    def test_words(self):
        self.assertTrue(lit.Expected("error", 1, "of {{[0-9]+}} bits (", True).says("one of 32 bits ("))
        self.assertFalse(lit.Expected("error", 1, "of {{[0-9]+}} bits", True).says("one of x bits"))
        self.assertFalse(lit.Expected("error", 1, "a.b", False).says("axb"))

    def test_run_lines_join(self):
        text = "// RUN: triton-opt %s \\\n// RUN:   -cse | FileCheck %s\n# no RUN\n// RUN: other\n"
        self.assertEqual(lit.run_lines(text), ["triton-opt %s -cse | FileCheck %s", "other"])

    def test_run(self):
        run = lit.parse_run("triton-opt %s -split-input-file --a-pass='x=1 y=2' -cse 2>&1 | FileCheck %s --check-prefix=A")
        self.assertEqual(run.opt, ["%s", "-split-input-file", "--a-pass=x=1 y=2", "-cse"])
        self.assertEqual(run.check, ["%s", "--check-prefix=A"])
        self.assertEqual((run.passes, run.merged, run.skip), (["a-pass", "cse"], True, ""))

    def test_run_without_filecheck(self):
        run = lit.parse_run("env A=1 triton-opt %s -test-print-alias -o /dev/null")
        self.assertEqual((run.opt, run.check, run.env), (["%s", "-test-print-alias", "-o", "/dev/null"], None, {"A": "1"}))
        self.assertTrue(run.analysis)

    def test_standard_error_that_goes_nowhere(self):
        run = lit.parse_run("triton-opt %s -cse 2>/dev/null | FileCheck %s")
        self.assertEqual((run.opt, run.merged), (["%s", "-cse"], False))

    def test_pipelines(self):
        run = lit.parse_run("triton-opt %s -pass-pipeline='builtin.module(a-b{x=1 y=c:80},cse)' | FileCheck %s")
        self.assertEqual(run.passes, ["a-b", "cse"])

    def test_reasons_to_skip(self):
        for command, why in {
            "triton-opt %s -cse --convert-triton-gpu-to-llvm | FileCheck %s": "conversion to the LLVM dialect",
            "triton-opt %s --convert-triton-amdgpu-to-llvm=arch=x | FileCheck %s": "conversion to the LLVM dialect",
            "triton-opt %s -tritonamdgpu-x | FileCheck %s": "",
            "triton-opt %s -cse | mlir-translate -x | FileCheck %s": "pipes into mlir-translate",
            "split-file %s %t": "runs split-file",
            "triton-opt %s -cse | FileCheck %s": "",
        }.items():
            self.assertEqual(lit.parse_run(command).skip, why, command)
        self.assertEqual(lit.skipped_folder(pathlib.Path("Gluon/x.mlir")), "Gluon")
        self.assertEqual(lit.skipped_folder(pathlib.Path("TritonGPU/x.mlir")), "")


@unittest.skipIf(os.name == "nt", "the stand-ins are scripts")
class Harness(unittest.TestCase):
    """Files through stand-ins for tritonc and FileCheck."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def program(self, name, text):
        path = self.root / name
        path.write_text(f"#!{sys.executable}\n" + textwrap.dedent(text))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def result(self, source, known=("cse",)):
        # Refuses each line with the word BAD, saying so, and prints the others.
        opt = self.program("tritonc", """
            import json, sys
            path = next(a for a in sys.argv[2:] if a.endswith(".mlir"))
            if "-crash" in sys.argv: sys.exit("panic: BUG")
            bad = False
            for n, line in enumerate(open(path), 1):
                if "BAD" in line:
                    bad = True
                    print(json.dumps({"kind": "diagnostic", "severity": "error", "line": n, "message": "a bad line"}), file=sys.stderr)
                else: print(line, end="")
            sys.exit(bad)
        """)  # fmt: skip
        check = self.program("FileCheck", """
            import sys
            wanted = [l.split("CHECK: ")[1].strip() for l in open(sys.argv[1]) if "// CHECK: " in l]
            text = [l for l in sys.stdin if "CHECK" not in l]
            lost = [w for w in wanted if not any(w in l for l in text)]
            if lost: sys.exit("error: expected string not found: " + lost[0])
        """)
        path = self.root / "t.mlir"
        path.write_text(source)
        return lit.Harness(opt, check, set(known)).file(path, "t.mlir")

    def test_counts(self):
        r = self.result(
            "// RUN: triton-opt %s -cse | FileCheck %s\n"
            "// CHECK: good\ngood\n// -----\nBAD\n"
        )
        self.assertEqual(r.counts["valid", "all"], 2)
        self.assertEqual(r.counts["valid", "good"], 1)
        failed, text = failing([r])
        self.assertTrue(failed)
        self.assertIn("[valid] t.mlir:5", text)
        self.assertIn("valid modules that parse and verify: 1 of 2 (50.0 %)", text)

    def test_expected_errors(self):
        r = self.result(
            "// RUN: triton-opt %s -verify-diagnostics\n"
            "// expected-error @+1 {{a bad line}}\nBAD\n"
            "// -----\n// expected-error @+2 {{other words}}\nBAD\n"
            "// -----\n// expected-error @+1 {{a bad line}}\nfine\n"
        )
        self.assertEqual([r.counts[m, "good"] for m in ("refused", "line", "words")], [2, 1, 1])
        self.assertEqual([r.counts[m, "all"] for m in ("refused", "line", "words")], [3, 3, 3])

    def test_a_pattern_that_nothing_matches(self):
        r = self.result("// RUN: triton-opt %s -cse | FileCheck %s\n// CHECK: lost\ngood\n")
        self.assertIn("expected string not found: lost", failing([r])[1])

    def test_the_exit_code_counts(self):
        r = self.result("// RUN: triton-opt %s -cse | FileCheck %s\n// CHECK: good\ngood\n// -----\nBAD\n")
        self.assertEqual((r.counts["filecheck", "good"], r.counts["filecheck", "all"]), (0, 1))
        self.assertIn("exits with 1", failing([r])[1])

    def test_missing_passes_are_counted_apart(self):
        r = self.result("// RUN: triton-opt %s -no-such | FileCheck %s\n// CHECK: good\ngood\n")
        self.assertEqual(r.counts["filecheck", "all"], 0)
        self.assertEqual(r.counts["filecheck, passes missing", "all"], 1)
        self.assertIn("no pass no-such", failing([r])[1])

    def test_a_crash_is_counted(self):
        r = self.result("// RUN: triton-opt %s -crash | FileCheck %s\n// CHECK: good\ngood\n", ("crash",))
        self.assertEqual(r.counts["crash", "all"], 1)
        self.assertIn("panic: BUG", failing([r])[1])

    def test_remarks(self):
        r = self.result("// RUN: triton-opt %s -test-print-alias\n// expected-remark @+1 {{x}}\ngood\n", ("test-print-alias",))
        self.assertEqual((r.counts["remarks", "all"], r.counts["remarks", "good"]), (1, 0))

    def test_files_in_parts(self):
        r = self.result(
            "// RUN: split-file %s %t\n// RUN: cat %t/head.mlir %t/one.mlir > %t/both.mlir\n"
            "// RUN: triton-opt %t/both.mlir -cse | FileCheck %t/both.mlir\n"
            "//--- head.mlir\ngood\n// -----\n//--- one.mlir\n// CHECK: good\nBAD\n"
        )
        self.assertEqual([r.counts["valid", x] for x in ("all", "good")], [2, 1])
        self.assertIn("[valid] t.mlir:both.mlir:3", failing([r])[1])
        self.assertIn("the patterns match, but tritonc opt exits with 1", failing([r])[1])

    def test_nothing_failed(self):
        r = self.result("// RUN: triton-opt %s | FileCheck %s\n// CHECK: good\ngood\n")
        self.assertFalse(failing([r])[0])


if __name__ == "__main__":
    unittest.main()
