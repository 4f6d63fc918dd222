"""What torch.compile needs besides: its caches, and the processes that compile for it.

Nothing here imports torch: what is not loaded yet reads the environment when it is.

- Inductor's cache of graphs keeps compiled kernels, and its keys do not have the hash of
  Triton's backend. They do have TORCH_COMPILE_CACHE_KEY_TAG.
- Workers that were started before the hook was there would compile with Triton. They are
  shut down; Inductor starts others when it has something to compile.
- Workers take the ptxas that torch brings along, unless TRITON_PTXAS_PATH names one, and the
  program's own process takes Triton's. Keys of Triton's cache have the version of ptxas, so that
  what the workers compiled for an autotuner would be compiled again, one by one, where it is
  measured. So the variable names the program's ptxas while the hook is there.
"""

import os
import sys

TAG = "TORCH_COMPILE_CACHE_KEY_TAG"
PTXAS = "TRITON_PTXAS_PATH"


def _tags(text, identity, there):
    kept = [t for t in (text or "").split(",") if t and t != identity]
    return ",".join(kept + [identity] if there else kept)


def _set_tag(identity, there):
    tag = _tags(os.environ.get(TAG), identity, there)
    if tag:
        os.environ[TAG] = tag
    else:
        os.environ.pop(TAG, None)
    config = sys.modules.get("torch.compiler.config")
    if config is not None and hasattr(config, "cache_key_tag"):
        config.cache_key_tag = _tags(config.cache_key_tag, identity, there)


def _restart_workers():
    compiling = sys.modules.get("torch._inductor.async_compile")
    if compiling is not None and getattr(compiling, "_pool_set", None):
        compiling.shutdown_compile_workers()


def enter(identity, ptxas, workers=True):
    """ptxas is the program's, or None. Returns whether the environment did not name one."""
    _set_tag(identity, True)
    named = bool(ptxas and not os.environ.get(PTXAS))
    if named:
        os.environ[PTXAS] = ptxas
    if workers:
        _restart_workers()
    return named


def leave(identity, named):
    """named is what enter() returned."""
    _set_tag(identity, False)
    if named:
        os.environ.pop(PTXAS, None)
    _restart_workers()
