"""Arrays of Triton's types as bytes, and as .npy files, without NumPy.

Data is what a GPU's memory holds; values() are its elements as Python numbers.
NumPy has no bf16 and no fp8: tritonc reads and writes these as float32.
"""

import ast
import math
import struct

# Type: (struct's code, NumPy's) of the elements; "" where they are decoded here.
CODES = {"fp64": ("d", "<f8"), "fp32": ("f", "<f4"), "fp16": ("e", "<f2"), "i8": ("b", "|i1"), "u8": ("B", "|u1"),
         "i16": ("h", "<i2"), "u16": ("H", "<u2"), "i32": ("i", "<i4"), "u32": ("I", "<u4"), "i64": ("q", "<i8"),
         "u64": ("Q", "<u8"), "bf16": ("", "<f4"), "fp8e5": ("", "<f4"), "fp8e4nv": ("", "<f4")}
SIZES = {"bf16": 2, "fp8e5": 1, "fp8e4nv": 1}


def fp8(bits, exponent_bits, mantissa_bits, finite_only):
    """The value of an fp8 number: with finite_only all exponents are numbers but for one NaN."""
    sign = -1.0 if bits & 0x80 else 1.0
    exponent, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    top, bias = (1 << exponent_bits) - 1, (1 << exponent_bits - 1) - 1
    if exponent == top and (mantissa == (1 << mantissa_bits) - 1 if finite_only else mantissa):
        return math.nan
    if exponent == top and not finite_only:
        return sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * math.ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits)


FP8 = {"fp8e5": [fp8(b, 5, 2, False) for b in range(256)], "fp8e4nv": [fp8(b, 4, 3, True) for b in range(256)]}
FP8_BITS = {ty: {v: b for b, v in enumerate(values)} for ty, values in FP8.items()}


def fp8_bits(ty, v):
    """The bits of a value that an fp8 type holds."""
    if v != v:
        return 0x7F
    if v == 0:  # -0.0 equals 0.0
        return 0x80 if math.copysign(1, v) < 0 else 0
    return FP8_BITS[ty][v]


class Data:
    def __init__(self, ty, raw):
        self.type, self.raw = ty, bytes(raw)

    @classmethod
    def of(cls, ty, values):
        """Values that the type holds exactly, but for fp16 and fp32, which round."""
        values = list(values)
        if ty == "bf16":
            bits = [struct.unpack("<I", struct.pack("<f", v))[0] for v in values]
            return cls(ty, struct.pack(f"<{len(bits)}H", *(b >> 16 for b in bits)))
        if ty in FP8:
            return cls(ty, bytes(fp8_bits(ty, v) for v in values))
        return cls(ty, struct.pack(f"<{len(values)}{CODES[ty][0]}", *values))

    def __len__(self):
        return len(self.raw) // (SIZES.get(self.type) or struct.calcsize(CODES[self.type][0]))

    def values(self):
        n = len(self)
        if self.type == "bf16":
            wide = [b << 16 for b in struct.unpack(f"<{n}H", self.raw)]
            return list(struct.unpack(f"<{n}f", struct.pack(f"<{n}I", *wide)))
        if self.type in FP8:
            return [FP8[self.type][b] for b in self.raw]
        return list(struct.unpack(f"<{n}{CODES[self.type][0]}", self.raw))

    def save(self, path):
        """A .npy file; returns how tritonc's --arg names it."""
        code, numpy = CODES[self.type]
        raw = self.raw if code else struct.pack(f"<{len(self)}f", *self.values())
        head = f"{{'descr': '{numpy}', 'fortran_order': False, 'shape': ({len(self)},), }}"
        head += " " * (-(len(head) + 11) % 64) + "\n"
        with open(path, "wb") as f:
            f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + raw)
        return f"@{path}" + ("" if code else f":{self.type}")

    @classmethod
    def load(cls, ty, path):
        """What tritonc's --save wrote of an array of the type."""
        with open(path, "rb") as f:
            text = f.read()
        wide = text[6] > 1
        size = struct.unpack("<I" if wide else "<H", text[8:12 if wide else 10])[0]
        start = (12 if wide else 10) + size
        head = ast.literal_eval(text[12 if wide else 10:start].decode())
        if head["descr"] != CODES[ty][1]:
            raise ValueError(f"{path} holds {head['descr']}, and {ty} is wanted")
        if CODES[ty][0]:
            return cls(ty, text[start:])
        return cls.of(ty, struct.unpack(f"<{(len(text) - start) // 4}f", text[start:]))
