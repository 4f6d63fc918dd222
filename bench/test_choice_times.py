"""Tests of bench/choice_times.py, without a GPU."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import choice_times
import ir_jobs


class ChoiceTimesTest(unittest.TestCase):
    def test_every_job_has_its_launch(self):
        jobs = ir_jobs.jobs()
        self.assertEqual(set(choice_times.LAUNCHES) | choice_times.LEFT_OUT, set(jobs))
        for name, launch in choice_times.LAUNCHES.items():
            for parameter, text in jobs[name].runtime.items():
                self.assertIn(parameter, launch.args, name)
                if not text.startswith("*") and text.endswith(":16"):
                    self.assertEqual(launch.args[parameter] % 16, 0, f"{name}: {parameter}")

    def test_dry_run(self):
        """A run up to the GPU leaves a line for every job and choice."""
        with tempfile.TemporaryDirectory() as tmp:
            with zipfile.ZipFile(f"{tmp}/choice.zip", "w") as z:
                for name in choice_times.LAUNCHES:
                    for choice in choice_times.choices():
                        z.writestr(f"{name}/{choice}.json", json.dumps({"name": name, "num_warps": 4, "shared": 0}))
                        z.writestr(f"{name}/{choice}.cubin", "code")
            r = subprocess.run([sys.executable, str(HERE / "choice_times.py"), "run", tmp, "--dry-run", "--rounds", "2"],
                               capture_output=True, text=True)
            self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
            lines = [line.split("\t") for line in pathlib.Path(tmp, "times.tsv").read_text().splitlines()]
            self.assertEqual([line[:2] for line in lines],
                             [[n, c] for n in choice_times.LAUNCHES for c in choice_times.choices()])
            self.assertTrue(all(float(line[2]) > 0 for line in lines))


if __name__ == "__main__":
    unittest.main()
