"""What every plugin of tritonc does, whatever it compiles for: the handshake, the
services that belong to the process, and an end that leaves nothing.

Import this module before any other of yours: it keeps standard output clean.
"""

import base64
import datetime
import os
import shutil
import sys
import threading

# The handshake goes to the standard output that the host reads, and all else that is
# printed, by C code as well, to standard error.
_handshake = os.dup(1)
os.dup2(2, 1)

import grpc  # noqa: E402

COOKIE = "b1f0c1d4-tritonc-backend"


def end_if_run_by_hand(describe):
    """Ends the program, after what describe returns if asked, unless the host started it."""
    if os.environ.get("TRITONC_BACKEND") == COOKIE:
        return
    if sys.argv[1:] != ["--describe"]:
        sys.exit("this is a backend of tritonc, which starts it; --describe shows what it can do")
    os.write(_handshake, describe().encode() + b"\n")
    sys.exit()


def serve(server):
    """Runs the server with its services until the host wants no more of it."""
    host_certificate, own = os.environ.get("PLUGIN_CLIENT_CERT"), ""
    folder = os.environ["PLUGIN_UNIX_SOCKET_DIR"]
    ended = threading.Event()
    lifeline = os.environ.get("TRITONC_LIFELINE")
    if lifeline:
        threading.Thread(target=_watch, args=(int(lifeline), folder), daemon=True).start()
    serving, empty = b"\x08\x01", b""  # HealthCheckResponse with the status SERVING, plugin.Empty
    health = _bytes_service("grpc.health.v1.Health", "Check", lambda: serving)
    controller = _bytes_service("plugin.GRPCController", "Shutdown", lambda: ended.set() or empty)
    server.add_generic_rpc_handlers((health, controller))
    address = os.path.join(folder, "socket")
    if host_certificate:
        credentials, own = _credentials(host_certificate.encode())
        server.add_secure_port("unix:" + address, credentials)
    else:
        server.add_insecure_port("unix:" + address)
    server.start()
    os.write(_handshake, f"1|1|unix|{address}|grpc|{own}\n".encode())
    os.close(_handshake)
    ended.wait()
    server.stop(grace=1).wait()
    _end(folder)


def _credentials(host_certificate):
    """Returns credentials with a certificate made for this process, for a client that
    has the host's, and the certificate as the handshake gives it."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as missing:
        sys.exit(f"this backend cannot encrypt its connection: {missing} (Debian: python3-cryptography)")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now, day = datetime.datetime.utcnow(), datetime.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + 3650 * day)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    authority = x509.BasicConstraints(ca=True, path_length=None)  # the host takes it as its root
    made = builder.add_extension(names, False).add_extension(authority, True).sign(key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    credentials = grpc.ssl_server_credentials([(private, made.public_bytes(pem))], host_certificate, True)
    return credentials, base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode().rstrip("=")


def _watch(lifeline, folder):
    while os.read(lifeline, 1):  # the end of file is the end of the host
        pass
    _end(folder)


def _end(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _bytes_service(name, method, answer):
    """A service of one call. Without serializers, messages are bytes."""
    handler = grpc.unary_unary_rpc_method_handler(lambda request, context: answer())
    return grpc.method_handlers_generic_handler(name, {method: handler})
