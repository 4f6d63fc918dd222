"""What every plugin of tritonc does: the handshake, with TLS or without, and an end that leaves
nothing. Import this module before any other of yours: it keeps standard output clean."""

import os
import shutil
import subprocess
import sys
import threading

if os.environ.get("TRITONC_BACKEND") != "b1f0c1d4-tritonc-backend":
    sys.exit("this is a backend of tritonc, which starts it: tritonc backend describe shows what it can do")

# The handshake goes to the standard output that the host reads, and all else that is
# printed, by C code as well, to standard error.
_handshake = os.dup(1)
os.dup2(2, 1)

import grpc  # noqa: E402


def serve(server):
    """Runs the server with its services until the host wants no more of it."""
    folder, ended = os.environ["PLUGIN_UNIX_SOCKET_DIR"], threading.Event()
    if lifeline := os.environ.get("TRITONC_LIFELINE"):
        threading.Thread(target=_watch, args=(int(lifeline), folder), daemon=True).start()
    # Without serializers, messages are bytes: plugin.Empty has none.
    shutdown = grpc.unary_unary_rpc_method_handler(lambda request, context: ended.set() or b"")
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": shutdown})])
    address, certificate = f"unix:{folder}/socket", ""
    if host := os.environ.get("PLUGIN_CLIENT_CERT"):
        credentials, certificate = _credentials(host.encode())
        server.add_secure_port(address, credentials)
    else:
        server.add_insecure_port(address)
    server.start()
    os.write(_handshake, f"1|1|unix|{folder}/socket|grpc|{certificate}\n".encode())
    ended.wait()
    server.stop(grace=1).wait()
    _end(folder)


def _credentials(host):
    """Makes a certificate for this process. Returns credentials with it, for a client
    that has the host's, and the certificate as the handshake gives it."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout - -subj /CN=localhost"
    made = subprocess.check_output([*command.split(), "-addext", "subjectAltName=DNS:localhost"])
    key, certificate = made[: made.index(b"-----BEGIN CERT")], made[made.index(b"-----BEGIN CERT") :]
    body = b"".join(certificate.split(b"\n")[1:-2]).decode().rstrip("=")
    return grpc.ssl_server_credentials([(key, certificate)], host, True), body


def _watch(lifeline, folder):
    os.read(lifeline, 1)  # the host writes nothing: this is its end
    _end(folder)


def _end(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)
