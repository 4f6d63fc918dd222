# Random numbers: Philox, a counter-based generator.
import triton.language as tl
from triton import jit
