"""Where the threads of a program are: their stacks, taken every few milliseconds.

Needs nothing but Python, and costs some percent. A thread that waits for another, or for
a process, is where it waits.
"""

import collections
import sys
import threading
import time


class Sampler:
    """Samples from start() to stop(). seconds has {stack: seconds}, a stack as flame graphs
    take it: the thread's name and its frames from the outermost in, with ; between them."""

    def __init__(self, interval=0.01):
        self.interval = interval
        self.seconds = collections.Counter()
        self.names = {}  # code object: what it is called
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, name="sampler", daemon=True)

    def start(self):
        self.thread.start()
        return self

    def stop(self):
        self.ended.set()
        self.thread.join()

    def run(self):
        last = time.perf_counter()
        while not self.ended.wait(self.interval):
            now = time.perf_counter()
            threads = {t.ident: t.name for t in threading.enumerate()}
            for ident, frame in sys._current_frames().items():
                if ident != self.thread.ident:
                    self.seconds[self.stack(threads.get(ident, "unnamed"), frame)] += now - last
            last = now

    def stack(self, thread, frame):
        frames = []
        while frame is not None:
            frames.append(self.name(frame.f_code))
            frame = frame.f_back
        return ";".join([thread, *reversed(frames)])

    def name(self, code):
        """package/file.py:function."""
        found = self.names.get(code)
        if found is None:
            path = code.co_filename
            for folder in ("/site-packages/", "/integrations/triton/"):
                path = path.rpartition(folder)[2]
            found = self.names[code] = f"{path}:{code.co_name}".replace(";", ",")
        return found

    def write(self, path):
        """The stacks, a line each with its milliseconds."""
        with open(path, "w") as f:
            for stack, seconds in self.seconds.most_common():
                print(stack, round(1000 * seconds), file=f)
