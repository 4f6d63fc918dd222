#!/usr/bin/env python3
"""Runs the lit tests of a checkout of Triton with tritonc and counts what holds.

    scripts/triton_lit.py FOLDER [--only PATTERN] [--jobs N] [-v] [--tritonc PROGRAM]

FOLDER is Triton's test folder, or one inside it. Of each .mlir file

  - every module (the text between lines "// -----") without an expected error must
    parse and verify,
  - every module with expected errors must be refused, at the lines that the comments
    name and with their words. Where the file's RUN line has passes, these run,
  - every RUN line of triton-opt and FileCheck is executed: tritonc opt takes the
    arguments as they are, and must exit with 0, as lit has it. With passes of ours
    alone, it counts as covered. Those of triton-tensor-layout run tritonc layout,
  - remarks that a RUN line of an analysis expects are compared.

-v shows the first difference of each failure; -vv also the words of expected errors
that differ. What is left out is counted by its reason: languages that tritonc does not
compile, Proton's passes, and lowerings to the LLVM dialect, which tritonc does not have;
test/lit executes their functions instead. The exit code is 0 if
nothing failed.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# RUN lines that differ from their patterns on purpose: file, words of the line, why, evidence.
LIST = pathlib.Path(__file__).with_suffix(".tsv")

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKER = "// -----"
TIMEOUT = 60  # seconds for one command

# Reasons to leave a file out, by a part of its path.
SKIPPED_FOLDERS = {
    "Gluon": "Gluon",
    "LLVMIR": "LLVM IR",
}

# Reasons to leave a RUN line out, by the name of a pass.
SKIPPED_PASSES = [
    (re.compile(r"convert-.*-to-(llvm|nvvm)$|.*-to-llvm$|llvm-optimize-.*"), "conversion to the LLVM dialect"),
    (re.compile(r"gluon-.*"), "Gluon"),
    (re.compile(r".*proton.*|test-print-scope-id-.*|add-sched-barriers"), "Proton"),
]

# Flags of triton-opt that are not passes.
PLAIN_FLAGS = {
    "split-input-file", "verify-diagnostics", "allow-unregistered-dialect", "o", "debug",
    "mlir-disable-threading", "mlir-print-local-scope", "mlir-print-debuginfo", "mlir-pretty-debuginfo",
    "mlir-use-nameloc-as-prefix", "pass-pipeline", "dump-pass-pipeline", "run-reproducer",
    "enable-line-info", "extract-variable-info",
}  # fmt: skip


@dataclasses.dataclass
class Module:
    """A part of a file between markers; lines are those of the file, from 1."""

    first: int
    last: int
    text: str
    expected: list  # Expected

    @property
    def refused(self):
        return any(e.kind == "error" for e in self.expected)


@dataclasses.dataclass
class Expected:
    """A diagnostic that a comment announces; line is None where it has none."""

    kind: str
    line: int
    text: str
    regex: bool

    def says(self, message):
        if not self.regex:
            return self.text in message
        pattern = "".join(
            part if i % 2 else re.escape(part) for i, part in enumerate(re.split(r"\{\{(.*?)\}\}", self.text))
        )
        return re.search(pattern, message) is not None


@dataclasses.dataclass
class Run:
    """A RUN line: arguments of triton-opt and of FileCheck, or why it is left out."""

    line: str
    opt: list = None
    layout: list = None  # of triton-tensor-layout, in the place of opt
    check: list = None  # None: there is no FileCheck
    merged: bool = False  # standard error goes to FileCheck, too
    env: dict = dataclasses.field(default_factory=dict)
    passes: list = dataclasses.field(default_factory=list)
    skip: str = ""

    def add_passes(self, pipeline):
        """Takes the passes that a pipeline in MLIR's notation names; some leave the RUN line out."""
        self.passes += re.findall(r"[\w-]+(?=[{,)])", re.sub(r"\{[^{}]*\}", "", re.sub(r".*?pipeline:", "", pipeline, flags=re.S)))
        if not self.skip:
            self.skip = next((why for p in self.passes for pattern, why in SKIPPED_PASSES if pattern.fullmatch(p)), "")

    @property
    def analysis(self):
        return any(p.startswith("test-print-") for p in self.passes)


COMMENT = re.compile(r"expected-(error|note|remark|warning)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}$")


def modules_of(text):
    """Splits a file into its modules. Parts without IR are left out."""
    modules, part, first = [], [], 1
    lines = text.splitlines()
    for number, line in enumerate([*lines, MARKER], 1):
        if not line.startswith(MARKER):
            part.append(line)
            continue
        if any(x.strip() and not x.strip().startswith("//") for x in part):
            modules.append(Module(first, number - 1, "\n".join(part), expected_of(part, first)))
        part, first = [], number + 1
    return modules


def expected_of(lines, first):
    """The announced diagnostics of lines, of which first is the number of the first."""
    found, below, last = [], [], None
    for number, line in enumerate(lines, first):
        m = COMMENT.search(line.rstrip())
        if not m:
            last = number
            for e in below:
                e.line = number
            below = []
            continue
        kind, regex, where, text = m.groups()
        e = Expected(kind, number, text, bool(regex))
        if where == "unknown":
            e.line = None
        elif where == "above":
            e.line = last
        elif where == "below":
            below.append(e)
        elif where:
            e.line = number + int(where)
        found.append(e)
    return found


def run_lines(text):
    """The commands of RUN lines, those that go on behind a backslash joined."""
    commands, pending = [], ""
    for line in text.splitlines():
        m = re.match(r"\s*(?://|;|#)\s*RUN:\s*(.*)$", line)
        if not m:
            continue
        command = pending + m[1].strip()
        if command.endswith("\\"):
            pending = command[:-1]
            continue
        pending = ""
        commands.append(command)
    return commands


def layout_arguments(arguments):
    """Arguments of triton-tensor-layout as tritonc layout has them."""
    names = {"alias-names": "alias", "use-hw-view": "hw"}
    out = []
    for a in arguments:
        name, given, value = a.lstrip("-").partition("=")
        if not a.startswith("-") or len(name) == 1:
            out.append(a)
        else:
            out.append(f"--{names.get(name, name)}{given}{value}")
    return out


def parse_run(command):
    """Takes a RUN line apart."""
    run = Run(command)
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|<>;")
    lexer.whitespace_split = True
    stages = [[]]
    for word in lexer:
        if set(word) == {"|"}:
            stages.append([])
        else:
            stages[-1].append(word)
    first = stages[0]
    if first and first[0] == "env":
        first.pop(0)
        while first and re.match(r"\w+=", first[0]):
            name, _, value = first.pop(0).partition("=")
            run.env[name] = value
    if first and first[0] == "triton-tensor-layout" and len(stages) == 2 and stages[1][0] == "FileCheck":
        run.layout, run.check = layout_arguments(first[1:]), stages[1][1:]
        return run
    if not first or first[0] != "triton-opt":
        run.skip = f"runs {first[0] if first else 'nothing'}"
        return run
    if len(stages) > 2 or len(stages) == 2 and stages[1][0] != "FileCheck":
        run.skip = f"pipes into {stages[1][0] if stages[1][0] != 'FileCheck' else stages[2][0]}"
    elif len(stages) == 2:
        run.check = stages[1][1:]
    run.opt = []
    words = iter(first[1:])
    for word in words:
        if word.startswith(">") or word == "2":
            # 2>&1 comes as "2", ">", "&1", or in one piece, as the lexer likes
            run.merged = run.merged or "&1" in word
            continue
        if word == "&1":
            run.merged = True
            continue
        if word == "/dev/null" and run.opt and run.opt[-1] not in ("-o", "--o"):
            continue
        m = re.fullmatch(r"2?>(&1|/dev/null)", word)
        if m:
            run.merged = run.merged or m[1] == "&1"
            continue
        run.opt.append(word)
        if not word.startswith("-"):
            continue
        name, _, value = word.lstrip("-").partition("=")
        if name == "pass-pipeline":
            run.passes += re.findall(r"[\w-]+(?=[{,)])", re.sub(r"\{[^}]*\}", "", value))
        elif name not in PLAIN_FLAGS:
            run.passes.append(name)
    if not run.skip:
        run.skip = next((why for p in run.passes for pattern, why in SKIPPED_PASSES if pattern.fullmatch(p)), "")
    return run


def listed_lines(text):
    """The entries of LIST as (file, words of the RUN line)."""
    rows = [x.split("\t") for x in text.splitlines() if x.strip() and not x.startswith("#")]
    for row in rows:
        if len(row) != 4 or not all(cell.strip() for cell in row):
            raise SystemExit(f"{LIST}: an entry has file, words of the RUN line, reason and evidence: {row}")
    return [(row[0], row[1]) for row in rows]


def skipped_folder(path):
    """Why a file is left out for its place, or an empty string."""
    return next((why for part, why in SKIPPED_FOLDERS.items() if part in path.parts), "")


def find_filecheck():
    """The program FileCheck: by its name, or that of a version of LLVM."""
    for name in ("FileCheck", *(f"FileCheck-{v}" for v in range(30, 16, -1))):
        if found := shutil.which(name):
            return found
    for found in sorted(pathlib.Path("/usr/lib").glob("llvm-*/bin/FileCheck"), reverse=True):
        return str(found)
    raise SystemExit("there is no FileCheck (Debian: apt-get install llvm-22-tools)")


@dataclasses.dataclass
class Result:
    """What one file gave: counts by measure, failures as (kind, where, what)."""

    path: str
    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    skipped: list = dataclasses.field(default_factory=list)
    failures: list = dataclasses.field(default_factory=list)

    def count(self, measure, good, where, what):
        self.counts[measure, "all"] += 1
        if good:
            self.counts[measure, "good"] += 1
        else:
            self.failures.append((measure, where, what))


class Harness:
    """Runs files with one tritonc."""

    def __init__(self, tritonc, filecheck, known_passes, listed=()):
        self.listed = listed
        self.tritonc, self.filecheck, self.known = tritonc, filecheck, known_passes

    def opt(self, arguments, env=None):
        """Runs tritonc opt; returns standard output, diagnostics, all output of errors, and the exit code."""
        for flag in ("mlir-use-nameloc-as-prefix", "mlir-print-debuginfo"):  # both off in triton-opt
            if not any(flag in a for a in arguments):
                arguments = [f"--{flag}=false", *arguments]
        command = [self.tritonc, "--json", "opt", *arguments]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT, check=False,
                env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "", [{"severity": "error", "category": "internal", "message": f"takes longer than {TIMEOUT} s"}], "", 1
        said = []
        for line in done.stderr.splitlines():
            try:
                said.append(json.loads(line))
            except ValueError:  # a panic of Go's
                said.append({"severity": "error", "category": "internal", "message": line})
        return done.stdout, [d for d in said if "severity" in d], done.stderr, done.returncode

    def file(self, path, name):
        """Tests one file."""
        r = Result(name)
        text = path.read_text(encoding="utf-8")
        runs = [parse_run(c) for c in run_lines(text)]
        for run in runs:
            if "--run-reproducer" in run.line:
                run.add_passes(text[text.rfind("mlir_reproducer") :])
        if any(run.line.startswith("split-file") for run in runs):
            with tempfile.TemporaryDirectory() as folder:
                self.split(r, text, runs, pathlib.Path(folder), name)
            return r
        self.modules(r, path, name, runs)
        return r

    def modules(self, r, path, name, runs):
        """Tests the modules of a file, and runs its RUN lines."""
        modules = modules_of(path.read_text(encoding="utf-8"))
        _, said, _, _ = self.opt(["--split-input-file", "--allow-unregistered-dialect", str(path)])
        for m in modules:
            if not m.refused:
                errors = [d for d in said if d["severity"] == "error" and m.first <= d.get("line", m.first) <= m.last]
                r.count("valid", not errors, f"{name}:{m.first}", first_message(errors))
        self.refusals(r, path, name, modules, runs)
        for run in runs:
            self.run_line(r, path, name, run)

    def split(self, r, text, runs, folder, name):
        """Tests a file in the notation of split-file: its RUN lines make files of its parts, in folder."""
        parts = re.split(r"^(?://|#)--- *(\S+)\n", text, flags=re.M)
        files = {f"%t/{part}": body for part, body in zip(parts[1::2], parts[2::2])}
        for run in runs:
            if m := re.fullmatch(r"cat (.*) > (\S+)", run.line):
                files[m[2]] = "".join(files[x] for x in m[1].split())
        for run in runs:
            made = next((f for f in files if f in (run.opt or [])), None)
            if made is None:
                continue
            path = folder / made.removeprefix("%t/")
            path.write_text(files[made], encoding="utf-8")
            run.opt = [str(path) if a == made else a for a in run.opt]
            run.check = [str(path) if a == made else a for a in run.check or []] or None
            self.modules(r, path, f"{name}:{path.name}", [run])

    def refusals(self, r, path, name, modules, runs):
        """Modules with expected errors, by the first RUN line that has no FileCheck or verifies diagnostics."""
        modules = [m for m in modules if m.refused]
        if not modules:
            return
        run = next((x for x in runs if x.opt and "verify-diagnostics" in x.line), None)
        if run is None or run.skip:
            r.skipped += [f"modules with an expected error: {run.skip if run else 'no RUN line verifies diagnostics'}"] * len(modules)
            return
        arguments = [a for a in run.opt if "verify-diagnostics" not in a]
        _, said, _, _ = self.opt([a.replace("%s", str(path)) for a in arguments], run.env)
        for m in modules:
            errors = [d for d in said if d["severity"] == "error" and m.first <= d.get("line", 0) <= m.last]
            where = f"{name}:{m.first}"
            wanted = [e for e in m.expected if e.kind == "error"]
            expected = "; ".join(f"{e.line}: {e.text}" for e in wanted)
            r.count("refused", bool(errors), where, f"accepted, expected {expected}")
            if not errors:
                r.counts["line", "all"] += 1
                r.counts["words", "all"] += 1
                continue
            got = "; ".join(f"{e['line']}: {e['message']}" for e in errors)
            at = [e for e in wanted if any(e.line in (None, d["line"]) for d in errors)]
            r.count("line", bool(at), where, f"got {got}, expected {expected}")
            same = any(e.says(d["message"]) for e in at for d in errors if e.line in (None, d["line"]))
            r.count("words", same, where, f"got {got}, expected {expected}")

    def run_line(self, r, path, name, run):
        """A RUN line with FileCheck, or of an analysis."""
        if run.layout is not None:
            out = subprocess.run(
                [self.tritonc, "layout", *(a.replace("%s", str(path)) for a in run.layout)],
                capture_output=True, text=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            what = self.filechecked(run, path, out.stdout)
            r.count("filecheck", not what, f"{name}: {run.line}", out.stderr + what)
            return
        if run.skip:
            r.skipped.append(f"RUN lines: {run.skip}")
            return
        if run.check is None and not run.analysis:
            return
        arguments = [a.replace("%s", str(path)) for a in run.opt]
        missing = [p for p in run.passes if p not in self.known]
        if run.analysis and run.check is None:
            _, said, _, _ = self.opt([a for a in arguments if "verify-diagnostics" not in a], run.env)
            remarks = [e for e in expected_of(path.read_text(encoding="utf-8").splitlines(), 1) if e.kind == "remark"]
            for e in remarks:
                good = any(d["severity"] == "remark" and d.get("line") == e.line and e.says(d["message"]) for d in said)
                r.count("remarks", good, f"{name}:{e.line}", e.text + (": " + first_message(said) if said else ""))
            return
        measure = "filecheck" if not missing else "filecheck, passes missing"
        out, said, errors, code = self.opt(arguments, run.env)
        errors_here = [d for d in said if d["severity"] == "error"]
        what = ""
        if errors_here:
            what = f"{len(errors_here)} modules refused, the first: {first_message(errors_here)}\n"
        different = self.filechecked(run, path, out + (errors if run.merged else ""))
        if code and not different:  # lit runs pipelines with pipefail
            different = f"the patterns match, but tritonc opt exits with {code}"
        what += different
        r.count(measure, not different, f"{name}: {run.line}", what)
        if any(file == name and words in run.line for file, words in self.listed):
            if different:
                r.counts["listed", "all"] += 1
            else:
                r.failures.append(("listed", f"{name}: {run.line}", f"the line matches now; its entry in {LIST.name} can go"))
        if missing:
            r.skipped.append(f"RUN lines counted apart, no pass {missing[0]}")
        for d in errors_here:
            if d.get("category") == "internal":
                r.failures.append(("crash", f"{name}: {run.line}", d["message"]))
                r.counts["crash", "all"] += 1


    def filechecked(self, run, path, text):
        """The first difference that FileCheck finds in text, or an empty string."""
        checks = [a.replace("%s", str(path)) for a in run.check]
        done = subprocess.run([self.filecheck, *checks], input=text, capture_output=True, text=True, check=False)
        return first_difference(done.stderr) or "FileCheck failed" if done.returncode else ""


def first_message(errors):
    """The first diagnostic in one line."""
    if not errors:
        return ""
    d = errors[0]
    return f"{d.get('line', '?')}: {d['message']}"


def first_difference(stderr):
    """What FileCheck says first: the pattern that nothing matches, and where it looked."""
    lines = stderr.splitlines()
    kept = []
    for line in lines:
        if re.match(r"Input file:|Input was:|<<<", line):
            break
        kept.append(line)
    return "\n".join(kept[:9]).rstrip()


MEASURES = {
    "valid": "valid modules that parse and verify",
    "refused": "modules with an expected error refused",
    "line": "  of these at the right line",
    "words": "  of these with the expected words",
    "filecheck": "RUN lines with FileCheck, passes all there",
    "filecheck, passes missing": "RUN lines with FileCheck, a pass missing",
    "listed": f"  different on purpose ({LIST.name})",
    "remarks": "remarks of analyses",
    "crash": "crashes and time limits",
}


def report(results, verbose, out=sys.stdout):
    """Prints counts by folder and in all, failures with verbose, and what was left out."""
    folders = collections.defaultdict(collections.Counter)
    for r in results:
        for key, n in r.counts.items():
            folders[os.path.dirname(r.path) or "."][key] += n
            folders["all"][key] += n
    for folder in [*sorted(f for f in folders if f != "all"), *(["all"] if folders else [])]:
        print(f"{folder}:", file=out)
        for measure, title in MEASURES.items():
            n = folders[folder][measure, "all"]
            if n and measure in ("crash", "listed"):
                print(f"  {title}: {n}", file=out)
            elif n:
                good = folders[folder][measure, "good"]
                print(f"  {title}: {good} of {n} ({100 * good / n:.1f} %)", file=out)
    skipped = collections.Counter(why for r in results for why in r.skipped)
    print("left out:", file=out)
    for why, n in sorted(skipped.items(), key=lambda x: (-x[1], x[0])):
        print(f"  {n:4d}  {why}", file=out)
    failures = [(kind, where, what) for r in results for kind, where, what in r.failures]
    if verbose:
        for kind, where, what in failures:
            if kind != "words" or verbose > 1:
                print(f"\n[{kind}] {where}\n" + "\n".join("  " + x for x in what.splitlines()), file=out)
    return bool(failures)


def passes_of(tritonc):
    """Names of the passes that tritonc has, its backends' included."""
    names = set()
    targets = ("cuda:90", "cuda:80", "hip:gfx942", "hip:gfx1100")
    for arguments in ([], *(["--target", t, "--all"] for t in targets)):
        done = subprocess.run([tritonc, "passes", *arguments], capture_output=True, text=True, check=False)
        for line in done.stdout.splitlines():
            m = re.match(r"(?:\s*(?:\d+|-)\s+)?([A-Za-z][\w-]*)\s\s", line)
            if m:
                names.add(m[1])
    # Those that no pipeline has are in the answer to a name that no pass has.
    for target in targets:
        module = f'module attributes {{ttg.target = "{target}"}} {{}}'
        done = subprocess.run(
            [tritonc, "opt", "--target", target, "--passes", "no-such-pass", "-"],
            input=module, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if m := re.search(r"there are: (.*)", done.stderr):
            names.update(m[1].split(", "))
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="*", metavar="PATTERN", help="files whose path matches, such as TritonGPU/*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--tritonc", default=str(ROOT / "bin/tritonc"))
    parser.add_argument("-v", "--verbose", action="count", default=0)
    args = parser.parse_args()
    if not args.folder.is_dir():
        raise SystemExit(f"{args.folder} is not a folder")
    harness = Harness(args.tritonc, find_filecheck(), passes_of(args.tritonc), listed_lines(LIST.read_text(encoding="utf-8")))
    left_out = Result("")
    tasks = []
    for path in sorted(args.folder.rglob("*")):
        name = path.relative_to(args.folder)
        if path.suffix not in (".mlir", ".ll") or not fnmatch.fnmatch(str(name), args.only):
            continue
        why = skipped_folder(name) or ("LLVM IR" if path.suffix == ".ll" else "")
        if why:
            left_out.skipped.append(f"files: {why}")
        else:
            tasks.append((path, str(name)))
    if not tasks and not left_out.skipped:
        raise SystemExit(f"no file of {args.folder} matches {args.only}")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda task: harness.file(*task), tasks))
    return report([*results, left_out], args.verbose)


if __name__ == "__main__":
    sys.exit(main())
