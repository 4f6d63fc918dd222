"""The public kernels that core/frontend/testdata/manifest.tsv lists, for the scripts here."""

import pathlib
import sys

MANIFEST = pathlib.Path(__file__).resolve().parent.parent / "core/frontend/testdata/manifest.tsv"


def public_jobs(checkouts):
    """Yields (path, kernel, signature) and tritonc's arguments for each row; the folder
    checkouts holds each repository at its commit, as owner/name."""
    repo = ""
    for line in MANIFEST.read_text().splitlines():
        columns = line.split("\t")
        if columns[0].startswith("@"):
            repo = columns[0][1:]
            continue
        path, kernel, signature, _ = columns
        folder = checkouts / repo
        if not (folder / path).exists():
            sys.exit(f"{folder / path} is not there; --checkouts needs every repository of manifest.tsv")
        args = ["-n", kernel, "-s", signature, "-I", str(folder), "-I", str(folder / "src"), "--source-root", str(folder)]
        yield (f"{repo}/{path}", kernel, signature), [*args, str(folder / path)]
