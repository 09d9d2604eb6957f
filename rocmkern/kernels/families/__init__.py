"""The families by name, each declared in a module of its own and read when first asked for."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from rocmkern.errors import KernelNotFound, ModuleNotShipped
from rocmkern.kernels.catalogue import FAMILY_NAMES, Family, KernelSpec


@cache
def names() -> tuple[str, ...]:
    """The families that are declared, in the catalogue's order."""
    return tuple(name for name in FAMILY_NAMES if find_spec(f"{__name__}.{name}"))


@cache
def family(name: str) -> Family:
    """The family of that name. Raises ModuleNotShipped (a LookupError)."""
    if name not in names():
        raise ModuleNotShipped(f"family: no kernel family {name!r}; there are {', '.join(names())}")
    declared = import_module(f"{__name__}.{name}").FAMILY
    assert isinstance(declared, Family)
    return declared


def families() -> tuple[Family, ...]:
    return tuple(family(name) for name in names())


@cache
def _symbols() -> dict[str, KernelSpec]:
    return {kernel.symbol: kernel for each in families() for kernel in each.kernels}


def spec(symbol: str) -> KernelSpec:
    """What the catalogue says of one symbol. Raises KernelNotFound (a LookupError) with near matches."""
    found = _symbols().get(symbol)
    if found is None:
        near = ", ".join(difflib.get_close_matches(symbol, _symbols(), 4)) or "nothing alike"
        raise KernelNotFound(f"spec: no kernel {symbol!r} in the catalogue; near: {near}")
    return found
