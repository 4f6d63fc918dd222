"""Work in other processes, so that what crashes or hangs costs one job.

    pool = Pool([sys.executable, "worker.py"], workers=8, timeout=60)
    for job, reply in zip(jobs, pool.map(jobs)): ...

A worker is a program that calls serve(handler): it reads one JSON object a line
and answers each with one. A job that raises, dies, or outlasts its time is
answered with {"error": why}; the worker is started again for the next.
"""

import collections
import json
import os
import queue
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback


class Pool:
    def __init__(self, argv, workers, env=None, timeout=120, note=None):
        """note(job, line) gets what a worker says with progress()."""
        self.argv, self.workers, self.timeout = argv, workers, timeout
        self.env = {**os.environ, **(env or {})}
        self.note = note or (lambda job, line: None)

    def map(self, jobs, deadline=None):
        """The replies to jobs, in their order. Jobs not begun at deadline (of
        time.monotonic) are answered with an error."""
        jobs = list(jobs)
        replies = [None] * len(jobs)
        todo = queue.SimpleQueue()
        for i in range(len(jobs)):
            todo.put(i)

        def work():
            worker = None
            while True:
                try:
                    i = todo.get_nowait()
                except queue.Empty:
                    break
                if deadline and time.monotonic() > deadline:
                    replies[i] = {"error": "out of time: not begun"}
                    continue
                worker = worker or Worker(self.argv, self.env)
                replies[i] = worker.ask(jobs[i], self.timeout, lambda line: self.note(jobs[i], line))
                if not worker.alive:
                    worker = None
            if worker:
                worker.close()

        threads = [threading.Thread(target=work) for _ in range(min(self.workers, len(jobs)))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return replies


class Worker:
    """One process; jobs go to it one at a time."""

    def __init__(self, argv, env):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        start_new_session=True)
        self.lines, self.rest = collections.deque(), b""
        self.alive = True

    def ask(self, job, timeout, note):
        try:
            self.process.stdin.write(json.dumps(job).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            return self.dead("died before the job")
        end = time.monotonic() + timeout
        while True:
            line = self.line(end)
            if line is None:
                late = time.monotonic() >= end
                return self.dead(f"no answer in {timeout} s" if late else "died")
            reply = json.loads(line)
            if "progress" not in reply:
                if reply.get("last"):
                    self.close()
                return reply
            note(reply["progress"])

    def line(self, end):
        fd = self.process.stdout.fileno()
        while not self.lines:
            ready, _, _ = select.select([fd], [], [], max(0, end - time.monotonic()))
            data = os.read(fd, 1 << 16) if ready else b""
            if not data:
                return None
            *whole, self.rest = (self.rest + data).split(b"\n")
            self.lines.extend(whole)
        return self.lines.popleft()

    def dead(self, why):
        # Its children, too: a compiler may have started an assembler.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = self.process.wait()
        self.alive = False
        self.log.seek(0, os.SEEK_END)
        self.log.seek(max(0, self.log.tell() - 2000))
        tail = self.log.read().decode(errors="replace").strip().splitlines()[-6:]
        self.log.close()
        self.process.stdout.close()
        try:
            self.process.stdin.close()
        except BrokenPipeError:  # what it never read
            pass
        return {"error": f"the worker {why} (status {status})" + "".join("\n  " + t for t in tail)}

    def close(self):
        self.alive = False
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


_replies = None


def serve(handler):
    """Answers each line of stdin with handler's dict, until stdin ends. What is
    printed meanwhile goes to stderr. After a reply with "last" the worker ends."""
    global _replies
    _replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        try:
            reply = handler(json.loads(line))
        except BaseException as e:  # SystemExit and the compiler's own, too
            if isinstance(e, KeyboardInterrupt):
                raise
            reply = {"error": f"{type(e).__name__}: {e}".strip(), "trace": traceback.format_exc(limit=-4)}
        _say(reply)
        if reply.get("last"):
            return


def progress(line):
    """Tells the parent something before the reply."""
    _say({"progress": line})


def _say(reply):
    if _replies:
        _replies.write(json.dumps(reply) + "\n")
        _replies.flush()
