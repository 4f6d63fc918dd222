#!/usr/bin/env python3
"""Hashes the lines of Triton's language package, for TestOwnWords of core/frontend/lang.

    git clone --branch release/3.6.x https://github.com/triton-lang/triton
    scripts/triton_lines.py triton/python/triton/language 3.6.0 > core/frontend/lang/testdata/triton_lines.txt

A line counts without its indentation, with single spaces, if LEAST characters are
left. Of each only the first 10 hexadecimal digits of its SHA-256 are written.
"""

import hashlib
import pathlib
import sys

LEAST = 24


def main():
    folder, version = pathlib.Path(sys.argv[1]), sys.argv[2]
    hashes = set()
    for path in sorted(folder.rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            line = " ".join(line.split())
            if len(line) >= LEAST:
                hashes.add(hashlib.sha256(line.encode()).hexdigest()[:10])
    print(f"# Hashes of the lines of python/triton/language of Triton {version}, by scripts/triton_lines.py.")
    print("\n".join(sorted(hashes)))


if __name__ == "__main__":
    main()
