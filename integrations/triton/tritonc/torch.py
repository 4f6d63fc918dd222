"""What torch.compile needs besides: its caches, and the processes that compile for it.

Nothing here imports torch: what is not loaded yet reads the environment when it is.

- Inductor's cache of graphs keeps compiled kernels, and its keys do not have the hash of
  Triton's backend. They do have TORCH_COMPILE_CACHE_KEY_TAG.
- Workers that were started before the hook was there would compile with Triton. They are
  shut down; Inductor starts others when it has something to compile.
"""

import os
import sys

TAG = "TORCH_COMPILE_CACHE_KEY_TAG"


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


def enter(identity, workers=True):
    _set_tag(identity, True)
    if workers:
        _restart_workers()


def leave(identity):
    _set_tag(identity, False)
    _restart_workers()
