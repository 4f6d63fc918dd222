"""A vector machine that is made up. Its code is ttir of which it knows each operation, without
locations. A register holds a vector, under the name of ttir's value."""

import json
import re

import numpy

LOCATION = re.compile(r" loc\([^()]*(\([^()]*\))?\)")
FUNCTION = re.compile(r"tt\.func public @(\w+)\((.*)")
PARAMETER = re.compile(r"(%\w+): (?:!tt\.(?=ptr))?(\w+)")
OPERATION = re.compile(r"(?:(%[^=]*) = )?([a-z]+\.\w+.*)")
TYPES = {"i1": numpy.bool_, "i32": numpy.int32, "f32": numpy.float32, "ptr": numpy.int64}
COMPUTE = {
    "add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "div": numpy.divide, "maxnum": numpy.fmax,
    "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater, "ge": numpy.greater_equal,
}  # fmt: skip


class Refused(Exception):
    """Text that is not code of the machine: what is wrong as fields of a diagnostic."""


class Memory:
    """Memory of a device. A kernel can access what is in a buffer, whose number is its address."""

    def __init__(self, size):
        self.bytes, self.end, self.buffers = numpy.zeros(size, numpy.uint8), 1 << 16, {}
        self.words, self.live = self.bytes.view(numpy.uint32), numpy.zeros(size // 4, bool)

    def allocate(self, size):
        if not 0 <= size < len(self.bytes) - self.end - 256:
            raise MemoryError(f"the device has no {size} bytes left")
        address, self.end = self.end, self.end + (size // 256 + 1) * 256
        self.buffers[address] = self.bytes[address : address + size].data
        self.live[address // 4 : (address + size) // 4] = True
        return address

    def free(self, address):
        self.live[address // 4 : (address + len(self.buffers.pop(address))) // 4] = False

    def part(self, address, offset, size):
        """The bytes of a buffer from an offset."""
        if not 0 <= offset <= offset + size <= len(self.buffers[address]):
            raise IndexError(f"{size} bytes from {offset} are outside of the buffer")
        return self.buffers[address][offset : offset + size]

    def at(self, addresses):
        """The indices of words. The first and the last one are never allocated."""
        wrong = ~self.live[addresses.clip(0, len(self.bytes) - 1) // 4]
        if wrong.any():
            raise MemoryError(f"there is no memory at 0x{addresses[wrong][0]:x}")
        return addresses // 4

    def load(self, addresses, mask, other, kind):
        vector = numpy.full(len(addresses), 0 if other is None else other, TYPES[kind])
        mask = numpy.full(len(addresses), True if mask is None else mask)
        vector[mask] = self.words[self.at(addresses[mask])].view(TYPES[kind])
        return vector

    def store(self, addresses, vector, mask):
        mask = numpy.full(len(addresses), True if mask is None else mask)
        self.words[self.at(addresses[mask])] = vector[mask].view(numpy.uint32)


# What an operation does with the memory and the groups of its pattern, of which those with names of
# registers are what these hold. V is a value, T the type of a number, or of a vector of numbers.
OPERATIONS = [
    (re.compile(pattern.replace("V", r"(%\w+)").replace("T", r"(?:tensor<\d+x)?[if]32>?")), compute)
    for pattern, compute in [
        (r"arith\.constant (?:dense<)?(?!0x)([\w.+-]+)>? : (?:tensor<(\d+)x)?(i1|i32|f32)>?",
         lambda _, number, length, kind: numpy.full(int(length or 1), json.loads(number), TYPES[kind])),
        (r"arith\.(add|sub|mul|div|maxnum)[if] V, V : T", lambda _, op, a, b: COMPUTE[op](a, b)),
        (r"arith\.cmp[if] [so](lt|le|gt|ge), V, V : T", lambda _, op, a, b: COMPUTE[op](a, b)),
        (r"arith\.andi V, V : (?:tensor<\d+x)?i1>?", lambda _, a, b: a & b),
        (r"tt\.get_program_id ([xyz]) : i32", lambda _, place: place),
        (r"tt\.make_range \{end = (\d+) : i32, start = (\d+) : i32\} : .*", lambda _, end, start: numpy.arange(int(start), int(end), dtype="i4")),
        (r"tt\.splat V : .* -> tensor<(\d+)x[!if].*", lambda _, value, length: value.repeat(int(length))),
        (r"tt\.addptr V, V : .*!tt\.ptr<[if]32>>?, T", lambda _, address, n: address + 4 * n.astype(numpy.int64)),
        (r"tt\.load V(?:, V)?(?:, V)? : .*!tt\.ptr<([if]32)>>?", Memory.load),
        (r"tt\.store V, V(?:, V)? : .*!tt\.ptr<[if]32>>?", Memory.store),
        (r"tt\.return", lambda _: None),
    ]
]  # fmt: skip


class Kernel:
    """A kernel that is ready to run. Its text makes the same one again."""

    def __init__(self, ttir):
        self.name, self.text, self.parameters, self.code = "", "", [], []
        for number, text in enumerate(ttir.split("\n"), 1):
            line = LOCATION.sub("", text.strip())
            if function := FUNCTION.match(line):
                self.name, self.parameters, self.text = function[1], PARAMETER.findall(function[2]), line + "\n"
            elif operation := OPERATION.fullmatch(line):
                found = [(m.groups(), compute) for pattern, compute in OPERATIONS if (m := pattern.fullmatch(operation[2]))]
                if not found:
                    column = len(text) - len(text.lstrip()) + 1
                    raise Refused(dict(message=f"this machine has no {line}", line=number, column=column, end_column=len(text.encode()) + 1))
                self.code.append((line, operation[1], *found[0]))
                self.text += line + "\n"
        if not self.name:
            raise Refused(dict(message="the text has no kernel", line=1, column=1))

    def run(self, place, arguments, memory):
        """Runs the program at a place in the grid."""
        registers = {axis: numpy.array([n], numpy.int32) for axis, n in zip("xyz", place)}
        registers |= {name: vector for (name, _), vector in zip(self.parameters, arguments)}
        for line, result, groups, compute in self.code:
            try:
                with numpy.errstate(all="ignore"):
                    registers[result] = compute(memory, *(registers.get(group, group) for group in groups))
            except MemoryError as fault:
                raise MemoryError(f"program {place}: {line}: {fault}") from None
