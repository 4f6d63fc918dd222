"""Imported when a Python starts (tritonc.pth, site/): has the hook installed when triton
is imported, if the environment asks for it."""

import importlib.abc
import importlib.util
import os
import sys
import threading

YES = ("1", "on", "true", "yes", "y")


def wanted():
    return bool(os.environ.get("TRITONC_SETTINGS")) or os.environ.get("TRITONC", "").lower() in YES


class _Loader(importlib.abc.Loader):
    """Loads triton as its own loader does, and installs the hook then."""

    def __init__(self, real):
        self.real = real

    def create_module(self, spec):
        return self.real.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self.real
        self.real.exec_module(module)
        disarm()
        from . import triton
        triton.install_from_environment()

    def __getattr__(self, name):
        return getattr(self.real, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds triton as the other finders do. It stays until triton is loaded: programs look
    for the package's spec alone, to know whether there is one."""

    def __init__(self):
        self.within = threading.local()

    def find_spec(self, name, path=None, target=None):
        if name != "triton" or getattr(self.within, "looking", False):
            return None
        self.within.looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.within.looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


_finder = _Finder()


def arm():
    if "triton" in sys.modules:
        from . import triton
        triton.install_from_environment()
    elif _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def disarm():
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


if wanted():
    arm()
