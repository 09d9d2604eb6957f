"""The families by name, each declared in a module of its own and read when first asked for."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from rocmkern.errors import KernelNotFound, ModuleNotShipped
from rocmkern.kernels.catalogue import FAMILY_NAMES, Family, KernelSpec
from rocmkern.kernels.tunable import Instance, Tunable, Values, setting_name
from rocmkern.near import near


@cache
def names() -> tuple[str, ...]:
    """The families that are declared, in the catalogue's order."""
    return tuple(name for name in FAMILY_NAMES if find_spec(f"{__name__}.{name}"))


@cache
def family(name: str) -> Family:
    """The family of that name. Raises ModuleNotShipped (a LookupError)."""
    if name not in names():
        raise ModuleNotShipped(f"family: no kernel family {name!r}; there are {near(name, names())}")
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
    found = _symbols().get(symbol) or unshipped().get(symbol)
    if found is None:
        alike = ", ".join(difflib.get_close_matches(symbol, _symbols(), 4)) or "nothing alike"
        raise KernelNotFound(f"spec: no kernel {symbol!r} in the catalogue; near: {alike}")
    return found


@cache
def tunables() -> dict[str, Tunable]:
    """The operations with settings, by name."""
    modules = (import_module(f"{__name__}.{name}") for name in names())
    return {row.op: row for module in modules for row in getattr(module, "TUNABLES", ())}


@cache
def instances(op: str, dtype: str) -> tuple[Instance, ...]:
    """The settings of an operation for a dtype, the default first. Raises KernelNotFound (a LookupError)."""
    row = tunables().get(op)
    if row is None:
        raise KernelNotFound(f"instances: {op!r} has no settings; there are {near(op, tunables())}")
    if dtype not in row.dtypes:
        raise KernelNotFound(f"instances: {op} of {dtype} has no settings; there are {', '.join(row.dtypes)}")
    return tuple(_instance(row, dtype, number, values) for number, values in enumerate(row.settings))


def _instance(row: Tunable, dtype: str, number: int, values: Values) -> Instance:
    kernels, shipped = row.kernels(dtype, values), family(row.family).by_symbol
    return Instance(
        op=row.op,
        dtype=dtype,
        number=number,
        name=f"{row.op}_{dtype}_{setting_name(values)}",
        values=dict(zip(row.parameters, values, strict=True)),
        kernels=kernels,
        unshipped=tuple(kernel for kernel in kernels if kernel.symbol not in shipped),
    )


@cache
def instances_by_name() -> dict[str, Instance]:
    """Every setting of every operation and dtype, by kernelName."""
    return {i.name: i for op, row in tunables().items() for dtype in row.dtypes for i in instances(op, dtype)}


@cache
def unshipped() -> dict[str, KernelSpec]:
    """The kernels of settings that do not ship, by symbol."""
    return {kernel.symbol: kernel for i in instances_by_name().values() for kernel in i.unshipped}
