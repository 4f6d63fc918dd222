

@core.extern
def load(pointer, mask=None, other=None, boundary_check=(), padding_option="", cache_modifier="", eviction_policy="", volatile=False, care_padding=True):
    return core.load(pointer, mask, other, boundary_check, padding_option, cache_modifier, eviction_policy, volatile)


@triton.jit
def to(input, dtype: tl.constexpr, fp_downcast_rounding: tl.constexpr = None, bitcast: tl.constexpr = False, overflow_mode: tl.constexpr = None):
    return cast(input, dtype, fp_downcast_rounding, bitcast, overflow_mode)
