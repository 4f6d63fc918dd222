"""tritonc-backend-pyvm: a backend and the driver of its one device, in Python."""

import plugin  # isort: skip  It comes first.

import hashlib
import itertools
import json
import sys
import time
from concurrent import futures

import grpc
import numpy
from tritonc.backend.v1 import backend_pb2 as pb, backend_pb2_grpc
from tritonc.device.v1 import device_pb2 as dev, device_pb2_grpc

import machine

with open(sys.argv[0], "rb") as program:  # one file, which holds what the output depends on but Python
    HASH = hashlib.sha256(program.read() + sys.version.encode()).hexdigest()
FACTS = pb.Facts(
    name="pyvm", version="1.0", hash=HASH, capabilities=["devices"], binary_ending="pyasm",
    targets=[pb.TargetFacts(pattern="pyvm:v1", warp_size=1, doc="a vector machine that is made up")],
    options=[pb.OptionSpec(name="num_warps", type="int", default_json="1", doc="has no effect here")],
)  # fmt: skip
STAGE = pb.Stage(name="pyasm", ending="pyasm", doc="code of the vector machine, as text")
DEVICE = dev.DeviceInfo(name="Python VM", target=pb.Target(backend="pyvm", arch="v1", warp_size=1), memory=1 << 30)
PROPERTIES = dev.Properties(name=DEVICE.name, stage=STAGE.name, warp_size=1, multiprocessors=1, max_threads=1, memory=DEVICE.memory)


def pieces(data):
    return (bytes(data[at : at + (1 << 20)]) for at in range(0, len(data), 1 << 20))  # a message has a mebibyte at most


class Backend(backend_pb2_grpc.BackendServicer):
    """The calls that are not here are answered UNIMPLEMENTED."""

    def Describe(self, request, context):
        return pb.DescribeResponse(facts=FACTS)

    def AddStages(self, request, context):
        return pb.AddStagesResponse(stages=[STAGE])

    def RunStages(self, requests, context):
        first = next(requests)
        last = pb.RunStagesEvent(end=True)
        try:
            kernel = machine.Kernel(b"".join([first.input, *(r.input for r in requests)]).decode(errors="replace"))
            for piece in pieces(kernel.text.encode()):
                yield pb.RunStagesEvent(artifacts=[pb.ArtifactPiece(stage=STAGE.name, data=piece)])
            last.metadata = json.dumps(json.loads(first.header.options_json) | {"name": kernel.name}).encode()
        except machine.Refused as refused:
            last.diagnostics.add(**refused.args[0], help="it has loads, stores and arithmetic of i32 and f32, without branches")
        yield last


class Devices(device_pb2_grpc.DevicesServicer):
    """A mistake of the host is an exception, and so an error of gRPC; one of the user a diagnostic."""

    def __init__(self):
        self.memories, self.kernels, self.numbers = {}, {}, itertools.count(1)  # the first two by session

    def Describe(self, request, context):
        return dev.DescribeResponse(name="pyvm", version="1.0", devices=[DEVICE])

    def Open(self, request, context):
        if request.number != 0:
            raise IndexError("there is one device")
        number = next(self.numbers)
        self.memories[number], self.kernels[number] = machine.Memory(DEVICE.memory), {}
        return dev.OpenResponse(session=number, properties=PROPERTIES)

    def Close(self, request, context):
        del self.memories[request.session], self.kernels[request.session]
        return dev.CloseResponse()

    def Alloc(self, request, context):
        try:
            address = self.memories[request.session].allocate(request.size)
        except MemoryError as fault:
            return dev.AllocResponse(diagnostics=[pb.Diagnostic(message=f"{request.name}: {fault}")])
        return dev.AllocResponse(buffer=address, address=address)

    def Free(self, request, context):
        self.memories[request.session].free(request.buffer)
        return dev.FreeResponse()

    def Write(self, requests, context):
        first = next(requests)
        head, data = first.header, b"".join([first.data, *(r.data for r in requests)])
        self.memories[head.session].part(head.buffer, head.offset, head.size)[:] = data  # fails if that has another size
        return dev.WriteResponse()

    def Read(self, request, context):
        part = self.memories[request.session].part(request.buffer, request.offset, request.size)
        return (dev.ReadResponse(data=piece) for piece in pieces(part))

    def Load(self, request, context):
        number = next(self.numbers)
        try:
            self.kernels[request.session][number] = machine.Kernel(request.code.decode(errors="replace"))
        except machine.Refused as refused:
            return dev.LoadResponse(diagnostics=[pb.Diagnostic(message=f"{request.name}: {refused.args[0]['message']}")])
        return dev.LoadResponse(kernel=number)

    def Launch(self, request, context):
        kernel, memory = self.kernels[request.session][request.kernel], self.memories[request.session]
        arguments = []
        for (name, kind), given in zip(kernel.parameters, request.arguments, strict=True):
            if given.buffer not in {0, *memory.buffers}:
                raise KeyError(f"{name}: there is no such buffer")
            number = given.scalar or given.buffer.to_bytes(8, "little")
            arguments.append(numpy.frombuffer(number, machine.TYPES[kind]).reshape(1))
        start, (x, y, z) = time.monotonic_ns(), map(range, request.grid)
        try:
            for place in itertools.takewhile(lambda _: context.is_active(), itertools.product(x, y, z)):
                kernel.run(place, arguments, memory)
        except MemoryError as fault:
            return dev.LaunchResponse(fault=[pb.Diagnostic(message=str(fault))])
        return dev.LaunchResponse(nanoseconds=time.monotonic_ns() - start)


server = grpc.server(futures.ThreadPoolExecutor(32), options=[("grpc.max_receive_message_length", -1)])
backend_pb2_grpc.add_BackendServicer_to_server(Backend(), server)
device_pb2_grpc.add_DevicesServicer_to_server(Devices(), server)
plugin.serve(server)
