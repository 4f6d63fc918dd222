"""What launch_times.py does without a GPU: jobs, the order of tests, and the report."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import launch_times


class LaunchTimes(unittest.TestCase):
    def test_jobs(self):
        with tempfile.TemporaryDirectory() as tmp:
            folder = pathlib.Path(tmp).resolve()
            for name in ("test_a.py", "b_test.py", "c.py", "conftest.py", "setup.py"):
                (folder / name).touch()
            job = launch_times.parse_job(f"{folder},path={folder}/src,shards=3,programs")
            self.assertEqual((job["root"], job["path"], job["shards"], job["only_programs"]),
                             (str(folder), [f"{folder}/src"], 3, True))
            tests, programs = launch_times.files_of(folder)
            self.assertEqual([f.name for f in tests], ["b_test.py", "test_a.py"])
            self.assertEqual([f.name for f in programs], ["c.py"])
            self.assertEqual(launch_times.parse_job(f"{folder}/c.py")["root"], str(folder))
            for bad in (f"{folder}/none", f"{folder},shards=0", f"{folder},speed=2"):
                with self.assertRaises(SystemExit):
                    launch_times.parse_job(bad)

    def test_spread(self):
        names = [f"f::{t}[{i}]" for t in ("a", "b", "c") for i in range(4)]
        order = launch_times.spread(names, lambda n: n)
        self.assertEqual(sorted(order), sorted(names))
        for k in range(0, 12, 3):  # one of each function before the next of any
            self.assertEqual(sorted(n.partition("[")[0] for n in order[k:k + 3]), ["f::a", "f::b", "f::c"])

    def test_report(self):
        def line(kernel, group, triton, tritonc):
            return dict(kernel=kernel, file="/lib/k.py", group=group, grid=[1, 1, 1], arguments={}, triton=triton,
                        tritonc=tritonc, ratio=triton / tritonc)

        lines = [line("k", "1.1", 4.0, 8.0), line("k", "1.1", 6.0, 5.0), line("m", "1.2", 9.0, 4.0),
                 dict(kernel="n", file="/lib/k.py", group="1.3", error="RuntimeError: no")]
        self.assertEqual([(round(b[0], 2), b[3]["kernel"]) for b in launch_times.best_of(lines)], [(0.8, "k"), (2.25, "m")])
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            self.assertEqual(launch_times.report(lines, 0.9), 0)
        self.assertIn("2 launches of 2 kernels; geometric mean 1.342, worst 0.800", said.getvalue())
        self.assertIn("1 not timed: RuntimeError: no", said.getvalue())
        self.assertIn("0.800      4.00      5.00 µs k", said.getvalue())
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(launch_times.report(lines[3:], 0.9), 1)


if __name__ == "__main__":
    unittest.main()
