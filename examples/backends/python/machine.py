"""A vector machine that is made up: its assembler takes ttir, and its code is text.

A register holds a vector of numbers, r0 and up the parameters. An instruction has
its result first:

    .kernel vector_add ptr ptr ptr i32
    program r4 x
    const r5 1024 1
    mul.i32 r6 r4 r5
"""

import ctypes
import itertools
import math
import operator
import re

LOCATION = re.compile(r" loc\([^()]*(\([^()]*\))?\)")
FUNCTION = re.compile(r"tt\.func public @(\w+)\((.*)")
OPERATION = re.compile(r"(?:(%\w+) = )?([a-z]+\.\w+) ?(.*)")
PARAMETER = re.compile(r"(%\w+): (!?[\w.]+)")
CONSTANT = re.compile(r"(?:dense<)?(?!0x)([\w.+-]+)>? : (?:tensor<(\d+)x)?(?:i1|i32|f32)>?$")
RANGE = re.compile(r"\{end = (\d+) : i32, start = (\d+) : i32\}")
LENGTH = re.compile(r"-> tensor<(\d+)x[!if]")
KIND = re.compile(r"(i1|i32|f32)>*$")
SIMPLE = {
    "arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.andi": "and", "arith.addf": "add",
    "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "div", "arith.maxnumf": "max",
    "tt.addptr": "addptr", "tt.load": "load", "tt.store": "store",
}  # fmt: skip
COMPARE = {"slt": "lt", "sle": "le", "sgt": "gt", "sge": "ge", "olt": "lt", "ogt": "gt", "eq": "eq"}


class Refused(Exception):
    """An operation that the machine lacks: message, line, column and end, from 1."""


def assemble(ttir):
    """Returns a kernel's name and its code."""
    name, code, registers = "", [], {}

    def register(value):
        return registers.setdefault(value, f"r{len(registers)}")

    for number, text in enumerate(ttir.split("\n"), 1):
        line = LOCATION.sub("", text.strip())
        if function := FUNCTION.match(line):
            name = function[1]
            code.append(f".kernel {name}")
            for parameter, kind in PARAMETER.findall(function[2]):
                register(parameter)
                code[-1] += " ptr" if kind == "!tt.ptr" else f" {kind}"
        elif (operation := OPERATION.match(line)) and operation[2] != "tt.return":
            result, op, rest = operation.groups()
            if not (words := instruction(op, rest)):
                column = len(text.encode()) - len(text.lstrip().encode()) + 1
                raise Refused(f"this machine has no {line}", number, column, len(text.encode()) + 1)
            words[1:1] = [result] if result else []
            code.append(" ".join(register(w) if w[0] == "%" else w for w in words))
    if not name:
        raise Refused("the text has no kernel", 1, 1, 0)
    return name, "\n".join(code) + "\n"


def instruction(op, rest):
    """Returns the words of an instruction without its result, or None."""
    operands = re.findall(r"%\w+", rest.partition(" : ")[0])
    first = re.match(r"\w*", rest)[0]
    kind = KIND.search(rest)
    if op == "arith.constant":
        c = CONSTANT.match(rest)
        return c and ["const", {"true": "1", "false": "0"}.get(c[1], c[1]), c[2] or "1"]
    elif op == "tt.make_range":
        return (bounds := RANGE.match(rest)) and ["range", bounds[2], bounds[1]]
    elif op == "tt.splat":
        return (length := LENGTH.search(rest)) and ["splat", *operands, length[1]]
    elif op == "tt.get_program_id":
        return first in ("x", "y", "z") and ["program", first]
    elif op in ("arith.cmpi", "arith.cmpf"):
        return kind and first in COMPARE and [f"{COMPARE[first]}.{kind[1]}", *operands]
    elif op in SIMPLE:
        return kind and [f"{SIMPLE[op]}.{kind[1]}", *operands]
    return None


class Fault(Exception):
    """What a kernel did wrong."""


def divide(a, b):
    if b != 0:
        return a / b
    return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)


COMPUTE = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "div": divide,
    "max": lambda a, b: b if a != a or b > a else a,  # a NaN loses
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "eq": operator.eq,
}  # fmt: skip
NUMBER = {"f32": ctypes.c_float, "i32": ctypes.c_int32, "i1": ctypes.c_bool}
ONES, ZEROS = itertools.repeat(1), itertools.repeat(0)


class Kernel:
    """Code that is ready to run. Any that the assembler did not make is a ValueError."""

    def __init__(self, code):
        head, *self.code = [line.split() for line in code.splitlines()] or [[]]
        if head[:1] != [".kernel"]:
            raise ValueError("it does not begin with .kernel")
        self.parameters = head[2:]

    def run(self, program, arguments, memory):
        """Runs the program at (x, y, z). An argument is a number; memory(address) returns
        the bytearray and the offset of four bytes, or raises a Fault."""
        registers = {f"r{i}": [a] for i, a in enumerate(arguments)}
        for words in self.code:
            try:
                self.step(words, registers, program, memory)
            except Fault as fault:
                raise Fault(f"program {program}: {' '.join(words)}: {fault}") from None

    def step(self, words, registers, program, memory):
        op, _, kind = words[0].partition(".")
        at = kind and NUMBER[kind].from_buffer
        values = [registers[w] for w in words[1 if op == "store" else 2 :] if w in registers]
        if op == "program":
            result = [program["xyz".index(words[2])]]
        elif op == "const":
            result = [int(words[2]) if words[2].lstrip("-").isdigit() else float(words[2])] * int(words[3])
        elif op == "range":
            result = range(int(words[2]), int(words[3]))
        elif op == "splat":
            result = values[0] * int(words[3])
        elif op == "addptr":
            result = [address + 4 * n for address, n in zip(*values)]
        elif op == "load":
            pointers, mask, other = (values + [ONES, ZEROS][len(values) - 1 :])[:3]
            result = [at(*memory(p)).value if m else o for p, m, o in zip(pointers, mask, other)]
        elif op == "store":
            for p, v, _ in filter(lambda row: row[2], zip(*values, *[ONES][len(values) - 2 :])):
                at(*memory(p)).value = v
            return
        else:
            round_ = NUMBER["i1" if op in ("lt", "le", "gt", "ge", "eq") else kind]
            result = [round_(COMPUTE[op](a, b)).value for a, b in zip(*values)]
        registers[words[1]] = result
