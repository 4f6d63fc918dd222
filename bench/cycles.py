"""Cycles of kernels, counted by Nsight Compute (ncu), for launches too short to time.

count() runs a command under ncu, which profiles what the command launches between
Driver.cuProfilerStart and cuProfilerStop, with cold caches and at the clocks as they
are, and returns one number a launch.
"""

import csv
import pathlib
import subprocess
import tempfile

METRIC = "gpc__cycles_elapsed.max"


def count(ncu, argv, timeout):
    """The cycles of each launch, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder, "ncu.csv")
        r = subprocess.run([str(ncu), "--clock-control", "none", "--profile-from-start", "off", "--target-processes", "all",
                            "--metrics", METRIC, "--print-units", "base", "--csv", "--log-file", str(log), *argv],
                           capture_output=True, text=True, timeout=timeout)
        text = log.read_text() if log.exists() else ""
        if r.returncode:
            said = [*text.splitlines(), *r.stdout.splitlines(), *r.stderr.splitlines()]
            raise RuntimeError(f"{ncu}: status {r.returncode}: {' '.join(said[-8:])[-800:]}")
        return parse(text)


def parse(text):
    """The metric's values in ncu's CSV, after what else it logs."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    values = {}
    for row in csv.DictReader(lines[start:]):
        if row["Metric Name"] == METRIC:
            values[int(row["ID"])] = float(row["Metric Value"].replace(",", ""))
    return [values[i] for i in sorted(values)]
