"""How the hook reaches processes that this one starts: the workers of torch.compile, and
every other Python of this environment.

The environment holds the settings (TRITONC_SETTINGS), and something in the child reads
them when it starts: tritonc.pth, where the package was installed from its wheel, or else
the folder site/, which is put on PYTHONPATH and into sys.path, of which torch makes its
workers' PYTHONPATH. Either sees to it that the hook is installed when triton is imported,
and not before: a process that does not import it pays a few milliseconds.
"""

import json
import os
import pathlib
import sys

SETTINGS = "TRITONC_SETTINGS"
SITE = str(pathlib.Path(__file__).resolve().parent / "site")


def read():
    """The settings that the process which started this one left; None without any."""
    text = os.environ.get(SETTINGS)
    if not text:
        return None
    try:
        settings = json.loads(text)
    except ValueError:
        settings = None
    if not isinstance(settings, dict):
        raise SystemExit(f"tritonc: {SETTINGS} is not what install() left there; unset it")
    return settings


def wheel_installed():
    """Whether this Python reads our tritonc.pth when it starts."""
    import site
    here = pathlib.Path(__file__).resolve().parents[1]
    if not (here / "tritonc.pth").exists():
        return False
    folders = list(getattr(site, "getsitepackages", list)())
    if getattr(site, "ENABLE_USER_SITE", False):
        folders.append(site.getusersitepackages())
    return any(os.path.realpath(f) == str(here) for f in folders)


def enter(settings):
    os.environ[SETTINGS] = json.dumps(settings)
    if wheel_installed():
        return
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != SITE]
    os.environ["PYTHONPATH"] = os.pathsep.join([SITE, *paths])
    if SITE not in sys.path:
        sys.path.insert(min(1, len(sys.path)), SITE)  # after the program's own folder


def leave():
    os.environ.pop(SETTINGS, None)
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != SITE]
    if paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    else:
        os.environ.pop("PYTHONPATH", None)
    if SITE in sys.path:
        sys.path.remove(SITE)
