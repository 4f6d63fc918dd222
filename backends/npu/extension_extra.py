

class PIPE:
    PIPE_S = "S"
    PIPE_V = "V"
    PIPE_M = "M"
    PIPE_MTE1 = "MTE1"
    PIPE_MTE2 = "MTE2"
    PIPE_MTE3 = "MTE3"
    PIPE_FIX = "FIX"
    PIPE_ALL = "ALL"


class CORE:
    VECTOR = "vector"
    CUBE = "cube"
    CUBE_OR_VECTOR = "cube_or_vector"
    CUBE_AND_VECTOR = "cube_and_vector"


@triton.jit
def sort(ptr, dim=-1, descending: tl.constexpr = False):
    return tl.sort(ptr, dim, descending)


@triton.jit
def flip(ptr, dim=-1):
    return tl.flip(ptr, dim)


@triton.jit
def isfinited(x):
    return tl.abs(x) < float("inf")


@triton.jit
def finitef(x):
    return tl.abs(x) < float("inf")
