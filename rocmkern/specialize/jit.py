"""Specialised kernels made when an operation first asks for them: the last step of the search, if it is wanted."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from rocmkern.build.jit import compiler_for
from rocmkern.disk_cache import DiskCache
from rocmkern.errors import BuildError, ConfigError
from rocmkern.specialize import config
from rocmkern.specialize.generate import generate, output_path


def make(entry: dict[str, Any]) -> Path | None:
    """The kernel of an entry of a configuration, in the user's cache; None for tensors that no template takes.

    A compiler that is missing or fails is a RuntimeWarning, and None.
    """
    try:
        (request,) = config.requests({"kernels": [entry]})
    except ConfigError:
        return None
    cache, errors = DiskCache.named("kernels"), []
    try:
        compiler = compiler_for(request.target)
        generate([request], cache.folder, compiler, report=lambda _, what, error: errors.append((what, error)))
    except BuildError as error:
        errors.append(("failed", error))
    what, why = errors[-1]
    if what == "failed":
        warnings.warn(
            f"compile {request.exported_name}: {why}; the generic kernel serves", RuntimeWarning, stacklevel=2
        )
        return None
    path = output_path(cache.folder, request)
    if what == "generated":
        cache.bound(path.stat().st_size)
    return path
