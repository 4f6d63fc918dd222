"""What differs between the versions of Triton that tritonc can be put into.

| | 3.4 | 3.5 | 3.6 | 3.7 | 3.8 |
|---|---|---|---|---|---|
| `knobs.runtime.add_stages_inspection_hook` | no | no | yes | yes | yes |
| the hook, called with nothing, gives keys for caches | | | no | yes | yes |
| kernels take a pointer to profile scratch memory | no | yes | yes | yes | yes |
| the launcher reads `cluster_dims` of the metadata | yes | yes | no | no | no |
| GPUs from sm_100 on have a ptxas of their own | no | no | yes | yes | yes |
"""

import dataclasses
import re

from .errors import Unsupported


@dataclasses.dataclass(frozen=True)
class Version:
    name: str
    tried: bool  # with Triton itself on a GPU; else against a stand-in of its API only
    stages_hook: bool
    profile_scratch: bool
    cluster_dims: bool
    ptxas_blackwell: bool


KNOWN = {v.name: v for v in (
    Version("3.4", tried=False, stages_hook=False, profile_scratch=False, cluster_dims=True, ptxas_blackwell=False),
    Version("3.5", tried=False, stages_hook=False, profile_scratch=True, cluster_dims=True, ptxas_blackwell=False),
    Version("3.6", tried=True, stages_hook=True, profile_scratch=True, cluster_dims=False, ptxas_blackwell=True),
    Version("3.7", tried=False, stages_hook=True, profile_scratch=True, cluster_dims=False, ptxas_blackwell=True),
    Version("3.8", tried=False, stages_hook=True, profile_scratch=True, cluster_dims=False, ptxas_blackwell=True),
)}


TESTED = next(v.name for v in KNOWN.values() if v.tried)


def of(text, path=""):
    """The Version of Triton's __version__."""
    m = re.match(r"(\d+)\.(\d+)", str(text))
    known = KNOWN.get(f"{m[1]}.{m[2]}") if m else None
    if known is None:
        at = f" ({path})" if path else ""
        raise Unsupported(f"Triton {text}{at} is not supported: tritonc works with Triton {TESTED}, and is untried with "
                          f"{', '.join(v.name for v in KNOWN.values() if not v.tried)}; install one of these, or run "
                          "without tritonc (unset TRITONC)")
    return known


# Distributions whose package is called triton.
DISTRIBUTIONS = ("triton", "pytorch-triton", "pytorch-triton-rocm", "pytorch-triton-xpu", "triton-nightly",
                 "triton-windows", "triton-rocm", "triton-xpu")


def check_alone(triton_file):
    """Raises Unsupported where two installed distributions wrote the triton that is imported:
    the files are those of one or the other, as they came."""
    import importlib.metadata
    import os
    here, owners = os.path.realpath(triton_file), {}
    for name in DISTRIBUTIONS:
        try:
            d = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if os.path.realpath(str(d.locate_file("triton/__init__.py"))) == here:
            owners[name] = d.version
    if len(owners) > 1:
        both = " and ".join(f"{name} {version}" for name, version in owners.items())
        raise Unsupported(f"there are two Tritons in {os.path.dirname(here)}: {both} were installed over each other; "
                          f"uninstall both (pip uninstall {' '.join(owners)}) and install one again")
