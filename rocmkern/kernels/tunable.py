"""Kernels with settings that change the time and not the result: tile sizes, rows a wave, threads a block.

A row beside the kernel's family lists the settings, the default one first. What a setting needs besides the shipped
kernels is a kernel of its own, which is built where somebody tunes.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from rocmkern.kernels.catalogue import KernelSpec

Values = tuple[int, ...]


@frozen(eq=False)
class Tunable:
    """An operation with settings; `parameters` name the values of each, the first of which is the default.

    `kernels(dtype, values)` are the kernels that a setting launches, in an order that the launch plan knows; dtypes are
    short names, or those of block formats.
    """

    op: str
    family: str
    dtypes: tuple[str, ...]
    parameters: tuple[str, ...]
    settings: tuple[Values, ...]
    kernels: Callable[[str, Values], tuple[KernelSpec, ...]]


@frozen(eq=False)
class Instance:
    """One setting for one dtype. `number` and `name` are kernelId and kernelName of tuned tables."""

    op: str
    dtype: str
    number: int
    name: str
    values: dict[str, int]
    kernels: tuple[KernelSpec, ...]
    unshipped: tuple[KernelSpec, ...]  # those of `kernels` that have to be built

    @property
    def is_default(self) -> bool:
        return self.number == 0

    @property
    def splits(self) -> int:
        """Into how many parts the inner axis is split; 0 for operations that do not say."""
        return self.values.get("splits", 0)

    def __getitem__(self, parameter: str) -> int:
        return self.values[parameter]


def setting_name(values: Values) -> str:
    """`128x64x16`, as it ends the names of instances and of their kernels."""
    return "x".join(map(str, values))
