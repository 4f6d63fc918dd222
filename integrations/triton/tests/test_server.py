"""Tests of the client of `tritonc serve`: with servers of a few lines, and with tritonc's own."""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
import standin_triton
import test_triton
import tritonc.triton as hook
from tritonc import server

KERNEL = test_triton.KERNEL


def read_frame(stream):
    head, body = struct.unpack(">II", stream.read(8))
    return json.loads(stream.read(head)), stream.read(body)


@unittest.skipUnless(server.wanted({}), "this system has no such sockets")
class FakeServerTest(test_triton.Case):
    """What a server says, or does not."""

    def setUp(self):
        super().setUp()
        os.environ["TRITONC_SOCKET"] = self.socket = str(self.folder / "private" / "s")
        (self.folder / "private").mkdir(mode=0o700)
        self.requests = []

    def serve(self, *answers, path=None):
        """Answers each call with the next bytes, and hangs up."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path or self.socket)
        listener.listen()

        def run():
            for answer in answers:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as stream:
                    start = stream.peek(8)
                    if start:  # not one that only looks whether somebody listens
                        self.requests.append(read_frame(stream))
                        connection.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()

        def stop():
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            thread.join()

        self.addCleanup(stop)

    @staticmethod
    def frames(*events):
        return b"".join(server.frame(header, body) for header, body in events)

    def good(self):
        text = json.dumps({"name": "k", "shared": 512}).encode()
        files = [({"file": f"k.{e}"}, f"served {e}".encode()) for e in ("ttgir", "llir", "ptx", "cubin")]
        return self.frames(({"file": "k.json", "more": True}, text[:5]), ({"file": ""}, text[5:]), *files, ({"write": "out"}, b""), ({"exit": 0}, b""))

    def test_served(self):
        self.serve(b"", self.good())  # the first is whether it is there
        self.install()
        with mock.patch.dict(os.environ, {"RANK": "1", "TRITONC_PTXAS": "/p"}), self.said(""):
            asm, metadata = self.compile(KERNEL.format("k"), options={"num_warps": 8})
        self.assertEqual((asm["ptx"], asm["cubin"], metadata["shared"]), ("served ptx", b"served cubin", 512))
        (header, source), = self.requests
        self.assertEqual((source.decode(), header["build"], header["directory"]), (KERNEL.format("k"), "b", os.getcwd()))
        self.assertEqual(" ".join(header["arguments"]), "--target cuda:90:32 --allow-unlaunchable -w 8 -k 3 "
                         "--emit ttgir,llir,ptx,cubin,json --as ttir -o out -")
        self.assertIn("TRITONC_PTXAS=/p", header["environment"])
        self.assertFalse([e for e in header["environment"] if e.startswith(("RANK", "TRITONC_SETTINGS", "TRITONC_SOCKET"))])
        self.assertEqual([f["path"] for f in header["seen"][:2]], ["/", os.getcwd()])
        self.assertEqual(self.calls(), [])
        self.assertEqual(hook.report()["served"], 1)

    def test_failure(self):
        """A diagnostic is that of a process, and is not asked for again."""
        self.serve(b"", self.frames(({"stream": "stderr"}, b"<stdin>:1:1: error: no\n"), ({"exit": 1}, b"")), b"")
        self.install()
        with self.assertRaisesRegex(hook.Failed, "^<stdin>:1:1: error: no$"):
            self.compile(KERNEL.format("k"))
        self.assertEqual((len(self.requests), self.calls()), (1, []))

    def test_gone(self):
        """A server that ends in the middle: the kernel is compiled by a process, once, and it is said once."""
        for half in (b"", self.good()[:40], self.good()[:-20]):
            with self.subTest(len(half)):
                self.serve(b"", half, half, path=self.socket + str(len(half)))
                with mock.patch.dict(os.environ, {"TRITONC_SOCKET": self.socket + str(len(half))}):
                    self.install()
                before = len(self.calls())
                with self.said("tritonc: the server ended while it compiled; what it had under way is compiled by processes\n"):
                    for name in ("a", "b"):
                        asm, _ = self.compile(KERNEL.format(name + str(len(half))))
                        self.assertIn(b"our cubin", asm["cubin"])
                self.assertEqual(len(self.calls()), before + 2)
                self.assertIn("--no-server", self.calls()[-1][0])
                self.assertEqual(hook.report()["served"], 0)
                hook.uninstall()

    def test_refused(self):
        """A server that is not for this build; and one of the session's cannot be started."""
        self.serve(b"", self.frames(({"refused": "it is another build of tritonc"}, b"")), b"")
        self.install()
        with self.said("tritonc: there is no server, and each kernel starts a process: error: this one does not serve\n"):
            for name in ("a", "b"):
                asm, _ = self.compile(KERNEL.format(name))
                self.assertIn(b"our cubin", asm["cubin"])
        self.assertEqual(len(self.requests), 1)

    def test_others(self):
        """A socket where others may put one is not used, and that is said."""
        os.chmod(self.folder / "private", 0o755)
        self.serve(self.good())
        self.install()
        with self.said() as out:
            self.compile(KERNEL.format("k"))
        self.assertRegex(out.getvalue(), "(?m)^tritonc: the server of the user is not used: others may enter .*chmod 700")
        self.assertEqual(self.requests, [])
        with mock.patch("os.geteuid", lambda: os.getuid() + 1), self.assertRaisesRegex(server.NotServed, "belongs to another user"):
            server.connect(self.socket)

    def test_another_users(self):
        self.serve()
        os.chmod(self.folder / "private", 0o700)
        with mock.patch("socket.socket.getsockopt", lambda *_: struct.pack("3i", 1, os.geteuid() + 1, 0)):
            with self.assertRaisesRegex(server.NotServed, r"is another user's \(\d+\)"):
                server.connect(self.socket)

    def test_relative(self):
        """What means another path in the server is compiled by a process."""
        self.serve(b"", b"")
        self.install()
        with mock.patch.dict(os.environ, {"TRITONC_CACHE_DIR": "here"}), self.said() as out:
            self.compile(KERNEL.format("k"))
        self.assertEqual((len(self.calls()), self.requests), (1, []))
        self.assertNotIn("ended", out.getvalue())

    def test_long_path(self):
        deep = self.folder / ("x" * 100)
        deep.mkdir()
        with mock.patch("tempfile.mkdtemp", lambda **_: str(deep)), self.said() as out:
            self.install()
        self.assertRegex(out.getvalue(), "^tritonc: there is no server, and each kernel starts a process: the path .* is too long for a socket; set TMPDIR")
        self.compile(KERNEL.format("k"))

    def test_off(self):
        self.serve(self.good())
        for more, env in (({"server": False}, self.socket), ({}, "off")):
            with mock.patch.dict(os.environ, {"TRITONC_SOCKET": env}), self.said(""):
                self.assertIsNone(self.install(**more).compiler.server)
            hook.uninstall()


    def test_where(self):
        for env, want in (({"TRITONC_SOCKET": "/a/b"}, "/a/b"), ({"TRITONC_SOCKET": "off"}, None), ({"XDG_RUNTIME_DIR": "/r", "HOME": "/h"}, "/r/tritonc/serve.sock"),
                          ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/tritonc/serve/serve.sock"), ({"HOME": "/h", "XDG_CACHE_HOME": "c"}, "/h/.cache/tritonc/serve/serve.sock"), ({}, None)):
            self.assertEqual(server.of_user(env), want)


@unittest.skipUnless(server.wanted({}), "this system has no such sockets")
class RealServerTest(test_triton.Case):
    """The session's server, which is tritonc's."""

    def setUp(self):
        super().setUp()
        if not os.access(test_triton.TRITONC, os.X_OK):
            self.skipTest(f"{test_triton.TRITONC} is not built")
        del os.environ["TRITONC_SOCKET"]
        os.environ.update(HOME=str(self.folder), XDG_RUNTIME_DIR="", XDG_CACHE_HOME="", TRITONC_CACHE_DIR=str(self.folder / "cache"))
        self.hook = hook.install(test_triton.TRITONC, assemble=False)
        self.server = self.hook.compiler.server
        self.number = 0

    def kernel(self):
        """A kernel that no cache has."""
        self.number += 1
        asm, metadata = self.compile(standin_triton.TTIR.replace("64", str(64 << self.number)))
        self.assertIn(".entry double(", asm["ptx"])
        return asm, metadata

    def pid(self):
        connection, pid = server.connect(self.server.own)
        connection.close()
        return pid

    def test_session(self):
        """It is there for the program and its children, and ends with the program."""
        with self.said(""):
            self.kernel()
            pid = self.pid()
            self.kernel()
        self.assertEqual((self.pid(), hook.report()["served"]), (pid, 2))
        self.assertIn("2 by the server", str(hook.report()))
        self.assertEqual(self.server.process.pid, pid)
        code = ("import sys; sys.path[:0] = {!r}\nfrom triton.backends.nvidia import compiler\nimport standin_triton\n"
                "compiler.compile(standin_triton.TTIR.replace('64', '4096'))").format([str(self.site), str(HERE)])
        r = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "RANK": "3"})
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(hook.report()["served"], 3)
        backends = json.loads(subprocess.run([test_triton.TRITONC, "serve", "--status", "--json", "--socket", self.server.own],
                                             capture_output=True, check=True).stdout)["backends"]
        self.assertEqual(len(backends), 1)  # both have the same variables that count
        folder = self.server.folder
        hook.uninstall()
        self.assertFalse(os.path.exists(folder))
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_as_a_process(self):
        """The same text, metadata and diagnostics as by a process."""
        asm, metadata = self.kernel()
        with self.assertRaises(hook.Failed) as served:
            self.compile("module { bad }")
        self.assertEqual(hook.report()["served"], 1)
        hook.uninstall()
        hook.install(test_triton.TRITONC, assemble=False, server=False)
        self.number, os.environ["TRITONC_CACHE_DIR"] = 0, str(self.folder / "cache2")
        again, metadata_again = self.kernel()
        self.assertEqual((again["ptx"], metadata_again), (asm["ptx"], metadata))
        with self.assertRaises(hook.Failed) as process:
            self.compile("module { bad }")
        self.assertEqual(str(served.exception).partition(":")[2], str(process.exception).partition(":")[2])

    def test_override(self):
        """A stage that another one overrides, with the metadata beside it."""
        asm, _ = self.kernel()
        again, metadata = self.compile(asm["ttgir"], first="llir", override={"ptx": asm["ptx"]})
        self.assertEqual((metadata["name"], hook.report()["served"]), ("double", hook.report()["configurations"]))

    def test_killed(self):
        """The next kernel starts another one."""
        self.kernel()
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        self.server.process.wait()
        with self.said(""):
            self.kernel()
        self.assertNotEqual(self.pid(), pid)
        self.assertEqual(hook.report()["served"], 2)

    def test_forks(self):
        """Forks of a program whose server has gone start one, and the program ends it."""
        self.kernel()
        os.kill(self.pid(), signal.SIGKILL)
        self.server.process.wait()
        forks = []
        for _ in range(3):
            forks.append(os.fork())
            if not forks[-1]:
                try:
                    for _ in range(2):
                        self.kernel()
                    self.server.stop()  # as its atexit does
                    os._exit(0)
                except BaseException:
                    os._exit(1)
        self.assertEqual([os.waitpid(p, 0)[1] for p in forks], [0] * 3)
        self.assertEqual(hook.report()["served"], 7)
        pid = self.pid()
        hook.uninstall()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.01)
        self.fail("the server has not ended")

    def test_of_the_user(self):
        """One that runs already is used, and stays."""
        hook.uninstall()
        folder = self.folder / "users"
        folder.mkdir(mode=0o700)
        os.environ["TRITONC_SOCKET"] = path = str(folder / "s")
        theirs = subprocess.Popen([test_triton.TRITONC, "serve"], stderr=subprocess.PIPE, text=True)
        self.addCleanup(theirs.stderr.close)
        self.addCleanup(theirs.wait)
        self.addCleanup(theirs.terminate)
        self.assertIn("listening", theirs.stderr.readline())
        own = hook.install(test_triton.TRITONC, assemble=False).compiler.server.own
        self.kernel()
        self.assertEqual(hook.report()["served"], 1)
        self.assertFalse(os.path.exists(own))
        hook.uninstall()
        self.assertIsNone(theirs.poll())
        self.assertTrue(os.path.exists(path))

    def test_threads(self):
        errors = []

        def one(i):
            try:
                self.compile(standin_triton.TTIR.replace("double", f"double{i}"))
            except Exception as e:
                errors.append(e)

        threads = [threading.Thread(target=one, args=(i,)) for i in range(16)]
        with self.said(""):
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual((errors, hook.report()["served"]), ([], 16))


if __name__ == "__main__":
    unittest.main()
