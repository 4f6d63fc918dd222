#!/usr/bin/env python3
"""Writes the times of the rows of bench/cases_study.py into docs/examples.

    bench/vs_triton.py prepare DIR --rows study
    bench/vs_triton.py run DIR --rows study --variants ours,triton
    bench/study_pages.py DIR/results.json

A page has a table between <!-- times: WORDS --> and <!-- end of times -->: of the rows
whose names begin with "study WORDS", in the order of the results.
"""

import argparse
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGES = HERE.parent / "docs/examples"
MARKED = re.compile(r"(<!-- times: (.*?) -->\n).*?(<!-- end of times -->)", re.S)


def microseconds(t):
    return f"{t:.0f}" if t >= 100 else f"{t:.1f}"


def rate(row, us):
    if row["memory_bound"]:
        return f"{row['bytes'] / us / 1e3:.0f} GB/s"
    return f"{row['flops'] / us / 1e6:.0f} TFLOP/s"


def was_run(row):
    """Whether there was time for the row."""
    return "out of time" not in row.get("failed", "")


def line(row, words):
    ours = row["variants"].get("ours", {})
    name = row["row"].removeprefix("study " + words).lstrip(" :,") or words
    if "us" not in ours:
        why = next((w for v in row["errors"].values() for w in v.values()), row.get("failed", "was not run"))
        return f"| {name} | {why.splitlines()[0]} | | | | |"
    threads = f"{ours['registers']}" + (f", {ours['local']} bytes spilled" if ours.get("local") else "")
    ratio = row["ratios"].get("native")
    return " | ".join([f"| {name}", f"`{ours['config']}`", microseconds(ours["us"]),
                       f"{ratio:.3f}" if ratio else "–", rate(row, ours["us"]), threads]) + " |"


def table(results, words):
    rows = [r for r in results["rows"] if r["row"].startswith("study " + words) and was_run(r)]
    head = (f"On an {results['gpu']}, tritonc beside Triton {results['triton']}; of several configurations the best of each "
            "(constants, `w`arps, `s`tages; tritonc's are shown, and its registers per thread). "
            "Triton's time over tritonc's is the median of rounds in turn.\n\n"
            "| version | configuration | µs | Triton / tritonc | | registers |\n|---|---|--:|--:|--:|---|\n")
    return "\n" + head + "".join(line(r, words) + "\n" for r in rows) + "\n"


def fill(text, results):
    """A page's text with its tables; those of rows that were not run stay as they are."""
    run = lambda words: any(r["row"].startswith("study " + words) and was_run(r) for r in results["rows"])
    return MARKED.sub(lambda m: m[1] + table(results, m[2]) + m[3] if run(m[2]) else m[0], text)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("results", type=pathlib.Path, help="what vs_triton.py run left: DIR/results.json")
    results = json.loads(p.parse_args().results.read_text())
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text()
        if (filled := fill(text, results)) != text:
            page.write_text(filled)
            print(page.relative_to(PAGES.parent.parent))


if __name__ == "__main__":
    sys.exit(main())
