"""A client of `tritonc serve`, which compiles without a process for each kernel.

Server finds the server that listens for this user, or else starts one for the session:
its socket lies in the session's folder, so that every process of a program finds it
there. It ends with the program, or when nobody has asked for anything for long. What is
said on the socket is in docs/serve.md.

Nothing here holds a lock, and a call has a connection of its own: forks and threads may
call at once.
"""

import contextlib
import json
import os
import signal
import socket
import stat
import struct
import subprocess
import time

OFF = "off"  # what TRITONC_SOCKET says where no server is wanted

# What a compile reads of the environment. The server keeps a process for each set of
# variables, and ranks and workers differ in others.
VARIABLES = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH", "PLUGIN_UNIX_SOCKET_DIR", "TRITON_PTXAS_PATH",
             "TRITON_PTXAS_BLACKWELL_PATH")
PREFIXES = ("TRITONC_", "XDG_")
OURS = ("TRITONC_SETTINGS", "TRITONC_FLAGS", "TRITONC_FALLBACK", "TRITONC_KEEP", "TRITONC_PROGRAM", "TRITONC_SOCKET")

# Variables of which a path that is relative means another in the server.
PATHS = ("TRITONC_CACHE_DIR", "TRITONC_BACKEND_PATH", "HOME", "TMPDIR")

LOG = "server.log"  # what the server says, in the session's folder
LONGEST = 103  # bytes of a socket's path
START = 10.0  # seconds that a server may take to listen


class NoServer(Exception):
    """Nobody listens."""


class NotServed(Exception):
    """There is a server, and the call is not for it; the text says why."""


class Died(Exception):
    """The server ended in the middle of a call."""


def of_user(env=os.environ):
    """The socket of a server that the user started; None where there is to be none."""
    named = env.get("TRITONC_SOCKET")
    if named:
        return None if named == OFF else named
    for name, under in (("XDG_RUNTIME_DIR", "tritonc"), ("XDG_CACHE_HOME", "tritonc/serve"), ("HOME", ".cache/tritonc/serve")):
        if os.path.isabs(env.get(name) or ""):
            return os.path.join(env[name], under, "serve.sock")
    return None


def wanted(env=os.environ):
    return env.get("TRITONC_SOCKET") != OFF and hasattr(socket, "AF_UNIX") and hasattr(socket, "SO_PEERCRED")


def connect(path):
    """A connection with the server at a path, and the number of its process. Raises NoServer,
    and NotServed where another user may have put there what is."""
    folder = os.path.dirname(path)
    try:
        s = os.stat(folder)
    except OSError:
        raise NoServer from None
    if not os.path.lexists(path):
        raise NoServer
    if s.st_uid != os.geteuid():
        raise NotServed(f"{folder} belongs to another user")
    if stat.S_IMODE(s.st_mode) & 0o077:
        raise NotServed(f"others may enter {folder} (chmod 700 {folder})")
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(path)
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except OSError:
        connection.close()
        raise NoServer from None
    if uid != os.geteuid():
        connection.close()
        raise NotServed(f"the server at {path} is another user's ({uid})")
    return connection, pid


def limits():
    """The limits of this process that a compile may run into, as Go has them."""
    import resource
    names = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE)
    return [resource.getrlimit(n)[0] % (1 << 64) for n in names]  # no limit is the largest number


def seen(folder):
    """What this process sees as the root, a folder, and its namespaces."""
    out = []
    for path in ("/", folder, "/proc/self/ns/mnt", "/proc/self/ns/user"):
        try:
            s = os.stat(path)
        except OSError:
            continue
        out.append({"path": path, "device": s.st_dev, "inode": s.st_ino})
    return out


def environment(env):
    """The part of an environment that a compile reads."""
    return {k: v for k, v in env.items() if k in VARIABLES or k.startswith(PREFIXES) and k not in OURS}


def frame(header, body=b""):
    try:
        head = json.dumps(header, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise NotServed("a name is not UTF-8") from None
    return struct.pack(">II", len(head), len(body)) + head + body


def receive(stream):
    """Yields (header, body) of the frames that come; raises Died where they end too early."""
    while True:
        try:
            start = stream.read(8)
            if len(start) < 8:
                raise Died
            head, body = struct.unpack(">II", start)
            data = stream.read(head + body)
        except OSError:
            raise Died from None
        if len(data) < head + body:
            raise Died
        yield json.loads(data[:head]), data[head:]


def call(connection, build, arguments, source, env):
    """Has a server run a command line whose standard input is source: (exit code, {name: bytes}
    of the files that it writes, standard error)."""
    try:
        folder = os.getcwd()
    except OSError as e:
        raise NotServed(str(e)) from None
    for name in PATHS:
        if any(p and not os.path.isabs(p) for p in env.get(name, "").split(os.pathsep)):
            raise NotServed(f"{name} has a path that is relative to the folder")
    header = {"build": build, "arguments": arguments, "directory": folder, "seen": seen(folder), "limits": limits(),
              "environment": [f"{k}={v}" for k, v in sorted(environment(env).items())]}
    files, said, name = {}, [], None
    data = frame(header, source)
    try:
        connection.sendall(data)
    except OSError:
        raise Died from None
    with connection.makefile("rb") as stream:
        for event, body in receive(stream):
            if "exit" in event:
                return event["exit"], files, b"".join(said).decode(errors="replace")
            if "refused" in event:
                raise NotServed(event["refused"])
            if "file" in event:
                name = event["file"] or name
                files[name] = files.get(name, b"") + body
            elif event.get("stream") == "stderr":
                said.append(body)


class Server:
    """The server of a session. folder is the session's; tell says something once."""

    def __init__(self, program, build, folder, tell):
        self.program, self.build, self.folder, self.tell = str(program), build, folder, tell
        self.own = os.path.join(folder, "s")
        self.user = of_user()  # None once it has refused
        self.process = None  # of a server that the process pid started
        self.pid = self.owner = os.getpid()
        self.works = True

    def call(self, arguments, source, env):
        """What call() returns, of the server that there is. Raises NotServed, or Died."""
        if self.user:
            try:
                return self.ask(self.user, arguments, source, env)
            except NoServer:
                pass  # it may come
            except NotServed as e:
                self.user = None
                if "another user" in str(e) or "may enter" in str(e):
                    self.tell(f"the server of the user is not used: {e}")
        if not self.works:
            raise NotServed("it could not be started")
        try:
            return self.ask(self.own, arguments, source, env)
        except NoServer:
            self.begin()
        try:
            return self.ask(self.own, arguments, source, env)
        except NoServer:
            raise Died from None

    def ask(self, path, arguments, source, env):
        connection, _ = connect(path)
        with connection:
            return call(connection, self.build, arguments, source, env)

    def alive(self):
        """Whether a server runs that this process started."""
        return self.process is not None and self.pid == os.getpid() and self.process.poll() is None

    def prepare(self):
        """Starts the session's server, where the user has none, and does not wait for it."""
        try:
            if self.user:
                connect(self.user)[0].close()
                return
        except (NoServer, NotServed):
            pass
        with contextlib.suppress(NotServed):  # which was told
            self.start()

    def begin(self):
        """Waits until the session's server listens, which it starts if need be. Of several
        processes that start one, the system lets one through; the others' end at once."""
        deadline, tries = time.monotonic() + START, 5
        while time.monotonic() < deadline:
            try:
                connect(self.own)[0].close()
                return
            except NoServer:
                pass
            if not self.alive():
                if not tries:
                    break
                tries -= 1
                self.start()
            time.sleep(0.002)
        try:
            with open(os.path.join(self.folder, LOG), errors="replace") as log:
                said = (log.read().strip().splitlines() or ["it says nothing"])[-1]
        except OSError:
            said = "the session is over"
        self.fail(said.removeprefix("tritonc: "))

    def start(self):
        """Starts a server."""
        if not os.path.isdir(self.folder):  # the program that began the session has ended
            self.works = False
            raise NotServed("the session is over")
        if len(os.fsencode(self.own)) > LONGEST:
            self.fail(f"the path {self.own} is too long for a socket; set TMPDIR to a shorter one")
        env = {k: v for k, v in os.environ.items() if k not in OURS}
        try:
            with open(os.path.join(self.folder, LOG), "ab") as log:
                self.process = subprocess.Popen([self.program, "serve", "--socket", self.own], stdin=subprocess.DEVNULL, stdout=log,
                                                stderr=log, cwd="/", env=env, start_new_session=True)
        except OSError as e:
            self.fail(str(e))
        self.pid = os.getpid()

    def fail(self, why):
        self.works = False
        self.tell(f"there is no server, and each kernel starts a process: {why}")
        raise NotServed(why)

    def stop(self):
        """Ends the session's server, whichever process started it."""
        if os.getpid() != self.owner:  # a fork
            return
        if self.process and self.pid == os.getpid():
            self.process.terminate()
            self.process.wait()
            self.process = None
        try:
            connection, pid = connect(self.own)
        except (NoServer, NotServed):
            return
        connection.close()
        if pid > 0:
            os.kill(pid, signal.SIGTERM)
