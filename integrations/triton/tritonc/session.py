"""What this process and the ones it starts have compiled.

A session is a folder that every process of a program writes to: log.jsonl has a line
for each kernel, appended by one write, so that neither threads nor forks need a lock.
The process that began the session removes it when it ends.
"""

import atexit
import hashlib
import json
import os
import shutil
import sys
import tempfile
import time


class Session:
    def __init__(self, folder=None):
        self.owner = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="tritonc-session-")
        self.pid = os.getpid()
        if self.owner:
            atexit.register(self.remove)

    def remove(self):
        if self.owner and os.getpid() == self.pid:  # not in a fork of it
            shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, **entry):
        """Appends an entry."""
        line = json.dumps({"pid": os.getpid(), "time": time.time(), **entry}) + "\n"
        try:
            fd = os.open(os.path.join(self.folder, "log.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except FileNotFoundError:  # the process that began it has ended, and nobody will read it
            return
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

    def entries(self):
        try:
            with open(os.path.join(self.folder, "log.jsonl")) as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def tell(self, text):
        """Says something on stderr, once in the session."""
        mark = os.path.join(self.folder, "told-" + hashlib.sha256(text.encode()).hexdigest()[:24])
        try:
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return
        except FileNotFoundError:
            pass
        print(f"tritonc: {text}", file=sys.stderr, flush=True)


class Report(dict):
    """What report() returns: a dict, and its str is a text.

    triton      version, path, tried (with Triton itself on a GPU)
    program     path, version, identity
    kernels     {name: {"target", "configurations", "seconds", "slowest", "processes"}} of what tritonc compiled
    fell_back   [{"name", "why", "configurations"}] of what Triton compiled
    refused     the same of what nobody compiled, because tritonc does not do it
    failed      the same of what nobody compiled, because tritonc could not
    configurations, seconds, processes   of kernels
    served      how many of the configurations a server compiled, and not a process each
    from_source how many were compiled from their Python file; None without from_source
    not_source  {why: how many were compiled from Triton's ttir}
    """

    def __init__(self, facts, entries):
        super().__init__(facts)
        kernels, groups, pids = {}, {"fell_back": {}, "refused": {}, "failed": {}}, set()
        asked = set()
        for e in entries:
            if e["how"] == "compiled":
                k = kernels.setdefault(e["name"], {"target": e["target"], "configurations": 0, "seconds": 0.0,
                                                   "slowest": 0.0, "processes": []})
                k["configurations"] += 1
                k["seconds"] += e["seconds"]
                k["slowest"] = max(k["slowest"], e["seconds"])
                if e["pid"] not in k["processes"]:
                    k["processes"].append(e["pid"])
                pids.add(e["pid"])
            else:
                key = (e["name"], e["why"])
                g = groups[e["how"]].setdefault(key, {"name": e["name"], "why": e["why"], "configurations": 0})
                if (key, e.get("digest")) not in asked:  # autotuners ask for what failed again
                    g["configurations"] += 1
                if e.get("digest"):
                    asked.add((key, e["digest"]))
        self["kernels"] = kernels
        self.update({how: list(g.values()) for how, g in groups.items()})
        self["configurations"] = sum(k["configurations"] for k in kernels.values())
        self["seconds"] = sum(k["seconds"] for k in kernels.values())
        self["processes"] = sorted(pids)
        said = [e for e in entries if e["how"] == "compiled" and "source" in e]
        self["from_source"] = sum(e["source"] for e in said) if said else None
        self["not_source"] = {}
        for e in said:
            if not e["source"]:
                self["not_source"][e["why"]] = self["not_source"].get(e["why"], 0) + 1
        self["served"] = sum(e["how"] == "compiled" and e.get("served", False) for e in entries)

    def __str__(self):
        triton, program = self["triton"], self["program"]
        untried = "" if triton["tried"] else " (untried: tested against a stand-in of its API alone)"
        out = [f"tritonc {program['version']} ({program['path']}) in Triton {triton['version']}{untried}",
               f"{counted(len(self['kernels']), 'kernel')} compiled by tritonc in {counted(self['configurations'], 'configuration')}, "
               f"{self['seconds']:.2f} s, {counted(len(self['processes']), 'process', 'processes')}, {self['served']} by the server; {len(self['fell_back'])} left to Triton, "
               f"{len(self['refused'])} refused, {len(self['failed'])} failed"]
        if self["from_source"] is not None:
            out.append(f"{self['from_source']} configurations from their Python files"
                       + "".join(f"; {n} from Triton's ttir: {why}" for why, n in sorted(self["not_source"].items())))
        if self["kernels"]:
            width = min(60, max(len(name) for name in ("kernel", *self["kernels"])))
            out.append(f"  {'kernel':{width}}  {'target':10} {'configs':>7} {'seconds':>8} {'slowest':>8}")
            for name, k in sorted(self["kernels"].items(), key=lambda item: -item[1]["seconds"]):
                out.append(f"  {name:{width}}  {k['target']:10} {k['configurations']:7} {k['seconds']:8.3f} {k['slowest']:8.3f}")
        for title, how in (("left to Triton", "fell_back"), ("refused", "refused"), ("failed", "failed")):
            out += [f"  {title}: {g['name']} ({g['configurations']}): {g['why']}" for g in self[how]]
        return "\n".join(out)


def counted(n, noun, plural=None):
    return f"{n} {noun if n == 1 else plural or noun + 's'}"
