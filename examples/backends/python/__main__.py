"""tritonc-backend-pyvm: a backend and the driver of its one device, in Python."""

import plugin  # isort: skip  It comes first.

import ctypes
import hashlib
import itertools
import json
import sys
import time
from concurrent import futures

import grpc
from google.protobuf import json_format
from tritonc.backend.v1 import backend_pb2 as pb, backend_pb2_grpc
from tritonc.device.v1 import device_pb2 as dev, device_pb2_grpc

import machine

STAGE = "pyasm"
PIECE, MEMORY = 1 << 20, 1 << 30
TARGET = pb.Target(backend="pyvm", arch="v1", warp_size=1)


def program_hash():
    """The program is one file, which holds all that its output depends on but Python."""
    with open(sys.argv[0], "rb") as f:
        return hashlib.sha256(f.read() + sys.version.encode()).hexdigest()


FACTS = pb.Facts(
    name="pyvm", version="1.0", hash=program_hash(), capabilities=["devices"], binary_ending=STAGE,
    targets=[pb.TargetFacts(pattern="pyvm:v1", warp_size=1, doc="a vector machine that is made up")],
    options=[pb.OptionSpec(name="num_warps", type="int", default_json="1", doc="has no effect here")],
)  # fmt: skip


def trouble(message, **more):
    return [pb.Diagnostic(message=message, **more)]


class Backend(backend_pb2_grpc.BackendServicer):
    """The calls that are not here are answered UNIMPLEMENTED."""

    def Describe(self, request, context):
        return pb.DescribeResponse(facts=FACTS)

    def AddStages(self, request, context):
        return pb.AddStagesResponse(stages=[pb.Stage(name=STAGE, ending=STAGE, doc="code of the vector machine, as text")])

    def RunStages(self, requests, context):
        first, start = next(requests), time.monotonic_ns()
        text = b"".join([first.input, *(r.input for r in requests)]).decode(errors="replace")
        try:
            name, code = machine.assemble(text)
        except machine.Refused as refused:
            place = dict(zip(("message", "line", "column", "end_column"), refused.args))
            found = trouble(**place, help="it has loads, stores and arithmetic of i32 and f32, without branches")
            return (yield pb.RunStagesEvent(diagnostics=found, end=True))
        code = code.encode()
        for at in range(0, len(code), PIECE):
            yield pb.RunStagesEvent(artifacts=[pb.ArtifactPiece(stage=STAGE, data=code[at : at + PIECE], size=len(code))])
        took = pb.Timing(stage=STAGE, nanoseconds=time.monotonic_ns() - start)
        metadata = json.loads(first.header.options_json) | {"name": name, "shared": 0, "num_ctas": 1}
        yield pb.RunStagesEvent(timings=[took], metadata=json.dumps(metadata, sort_keys=True).encode(), end=True)


class Wrong(Exception):
    """What keeps a call from being done."""


def answers(response):
    """Makes the diagnostics of a response of what its method raises."""

    def wrap(method):
        def call(self, request, context):
            try:
                return response(**(method(self, request, context) or {}))
            except Wrong as wrong:
                return response(diagnostics=trouble(str(wrong)))

        return call

    return wrap


class Session:
    def __init__(self):
        self.buffers, self.kernels = {}, {}  # by number: (address, bytes), machine.Kernel
        self.numbers, self.next = itertools.count(1), 1 << 16

    def part(self, number, offset, size):
        """Returns a view of a buffer's bytes from offset to offset+size."""
        data = self.buffers[number][1]
        if not 0 <= offset <= offset + size <= len(data):
            raise Wrong(f"bytes {offset} to {offset + size} are outside of a buffer of {len(data)}")
        return memoryview(data)[offset : offset + size]

    def at(self, address):
        for start, data in self.buffers.values():
            if start <= address <= start + len(data) - 4:
                return data, address - start
        raise machine.Fault(f"there is no memory at 0x{address:x}")

    def argument(self, kind, given):
        """Returns the number that a parameter of a kind gets."""
        if kind == "ptr":
            return self.buffers[given.buffer][0] if given.buffer else 0
        number = machine.NUMBER.get(kind)
        if not number or len(given.scalar) != ctypes.sizeof(number):
            raise Wrong(f"a parameter is of type {kind}, and got {len(given.scalar)} bytes")
        return number.from_buffer_copy(given.scalar).value


class Devices(device_pb2_grpc.DevicesServicer):
    def __init__(self):
        self.sessions, self.numbers = {}, itertools.count(1)

    @answers(dev.DescribeResponse)
    def Describe(self, request, context):
        device = dev.DeviceInfo(name="Python VM", target=TARGET, memory=MEMORY)
        return dict(name="pyvm", version="1.0", devices=[device])

    @answers(dev.OpenResponse)
    def Open(self, request, context):
        if request.number != 0:
            raise Wrong(f"there is no device {request.number}, only 0")
        number = next(self.numbers)
        self.sessions[number] = Session()
        has = dev.Properties(name="Python VM", stage=STAGE, warp_size=1, multiprocessors=1, max_threads=1, memory=MEMORY)
        return dict(session=number, properties=has)

    @answers(dev.CloseResponse)
    def Close(self, request, context):
        del self.sessions[request.session]

    @answers(dev.AllocResponse)
    def Alloc(self, request, context):
        session = self.sessions[request.session]
        number, address = next(session.numbers), session.next
        if not 0 <= request.size <= MEMORY - address:
            raise Wrong(f"{request.name}: the device has no {request.size} bytes left")
        session.buffers[number] = address, bytearray(request.size)
        session.next += (request.size // 4096 + 2) * 4096  # no access reaches another buffer by mistake
        return dict(buffer=number, address=address)

    @answers(dev.FreeResponse)
    def Free(self, request, context):
        del self.sessions[request.session].buffers[request.buffer]

    @answers(dev.WriteResponse)
    def Write(self, requests, context):
        first = next(requests)
        header, data = first.header, b"".join([first.data, *(r.data for r in requests)])
        if len(data) != header.size:
            raise Wrong(f"{len(data)} bytes came where {header.size} were announced")
        self.sessions[header.session].part(header.buffer, header.offset, header.size)[:] = data

    def Read(self, request, context):
        try:
            data = self.sessions[request.session].part(request.buffer, request.offset, request.size)
            for at in range(0, len(data), PIECE):
                yield dev.ReadResponse(data=bytes(data[at : at + PIECE]))
        except Wrong as wrong:
            yield dev.ReadResponse(diagnostics=trouble(str(wrong)))

    @answers(dev.LoadResponse)
    def Load(self, request, context):
        session = self.sessions[request.session]
        number = next(session.numbers)
        try:
            session.kernels[number] = machine.Kernel(request.code.decode(errors="replace"))
        except ValueError as error:
            raise Wrong(f"{request.name} is no code of pyvm:v1: {error}") from None
        return dict(kernel=number)

    @answers(dev.LaunchResponse)
    def Launch(self, request, context):
        session, start, fault = self.sessions[request.session], time.monotonic_ns(), []
        kernel = session.kernels[request.kernel]
        if len(request.arguments) != len(kernel.parameters):
            raise Wrong(f"the kernel has {len(kernel.parameters)} parameters, not {len(request.arguments)}")
        if len(request.grid) != 3:
            raise Wrong(f"a grid has three dimensions, not {len(request.grid)}")
        arguments = list(map(session.argument, kernel.parameters, request.arguments))
        try:
            for program in itertools.product(*map(range, request.grid)):
                if context.is_active():
                    kernel.run(program, arguments, session.at)
        except machine.Fault as found:
            fault = trouble(str(found))
        return dict(nanoseconds=time.monotonic_ns() - start, fault=fault)


plugin.end_if_run_by_hand(lambda: json_format.MessageToJson(FACTS, preserving_proto_field_name=True))
server = grpc.server(futures.ThreadPoolExecutor(32), options=[("grpc.max_receive_message_length", -1)])
backend_pb2_grpc.add_BackendServicer_to_server(Backend(), server)
device_pb2_grpc.add_DevicesServicer_to_server(Devices(), server)
plugin.serve(server)
