"""Read by each Python that is started with this folder on its PYTHONPATH; see children.py.

Another sitecustomize that this one hides is run first, as if this were not here.
"""

import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [p for p in sys.path if os.path.abspath(p or ".") != _here])
if _spec is not None and _spec.loader is not None:
    _module = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(_module)

if os.environ.get("TRITONC_SETTINGS"):
    _package = os.path.dirname(_here)
    _spec = importlib.util.spec_from_file_location("tritonc", os.path.join(_package, "__init__.py"),
                                                   submodule_search_locations=[_package])
    if "tritonc" not in sys.modules:
        sys.modules["tritonc"] = importlib.util.module_from_spec(_spec)
        _spec.loader.exec_module(sys.modules["tritonc"])
    import tritonc.autoload  # noqa: F401
