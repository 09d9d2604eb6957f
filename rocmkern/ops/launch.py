"""From tensors to a launch: kernels by symbol, packed arguments, and layouts that stay on the device.

What a user passes is checked where it enters an operation; from here on only addresses and sizes go to the driver.
"""

from __future__ import annotations

import atexit
from array import array
from collections.abc import Callable, Sequence
from struct import error as PackingError  # noqa: N812 - it is a class
from threading import local
from typing import Any, Final, TypeVar

from attrs import define, field

from rocmkern.drivers.protocol import DeviceInfo, Driver
from rocmkern.dtypes import DType
from rocmkern.engine import draft
from rocmkern.errors import ArgumentRangeError
from rocmkern.kernels import plans
from rocmkern.kernels.cache import get_kernel
from rocmkern.kernels.families import spec
from rocmkern.kernels.families.unary import LONG
from rocmkern.kernels.plans import LaunchPlan
from rocmkern.kernels.tunable import Instance
from rocmkern.layout import Shape, collapse, contiguous
from rocmkern.ops import specialized
from rocmkern.rounding import nearest
from rocmkern.runtime import Device, DeviceMemory, Function
from rocmkern.tensor import Tensor

_KEPT: Final = 4096  # plans, layouts
Plan = TypeVar("Plan")


@define(eq=False)
class Kernel:
    """One kernel on one device. Its arguments are addresses, sizes and encoded scalars; nothing is checked."""

    function: Function
    pack: Callable[..., bytes]
    context: Context

    def run(self, plan: LaunchPlan, *arguments: int | float | bytes) -> None:
        """Launch as planned."""
        if plan.grid[0]:
            try:
                packed = self.pack(*arguments)
            except PackingError as error:
                raise ArgumentRangeError(f"{self.function.name}: {error}; a size or a number does not fit") from None
            draft.launch(self.function, packed, plan.grid, plan.block, plan.early)

    def __call__(self, units: int, *arguments: int | float | bytes) -> None:
        """Launch a thread for each unit of work, or as many as a grid can have."""
        self.run(self.units(units), *arguments)

    def units(self, count: int) -> LaunchPlan:
        """A plan with a thread for each unit of work, or as many as a grid can have."""
        return self.context.plan(_a_thread_a_unit, count)


def _a_thread_a_unit(units: int, info: DeviceInfo) -> LaunchPlan:
    return plans.over_units(units, info, variant="units", why="a thread a unit of work")


@define(eq=False)
class Context:
    """What a thread keeps of a device: kernels by symbol, plans by sizes."""

    info: DeviceInfo
    _kernels: dict[str, Kernel] = field(init=False, factory=dict)
    _plans: dict[tuple[Any, ...], Any] = field(init=False, factory=dict)

    def kernel(self, device: Device, symbol: str) -> Kernel:
        """The kernel of that symbol. Raises KernelNotFound, TargetNotBuilt."""
        found = self._kernels.get(symbol)
        if found is None or found.function.module.is_closed:
            function = get_kernel(spec(symbol).family, symbol, device)
            found = self._kernels[symbol] = Kernel(function, function.pack_values, self)
        return found

    def plan(
        self, make: Callable[..., Plan], *sizes: Any, contiguous: bool | None = None, tuned: Instance | None = None
    ) -> Plan:
        """`make(*sizes, device info)`, made once; what is None is not handed on."""
        key = (make, sizes, contiguous, tuned)
        found: Plan | None = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _KEPT:
                self._plans.clear()
            options = {k: v for k, v in (("contiguous", contiguous), ("tuned", tuned)) if v is not None}
            found = self._plans[key] = make(*sizes, self.info, **options)
        return found


class _Contexts(local):
    def __init__(self) -> None:
        self.of: dict[Driver, Context] = {}


_contexts = _Contexts()
_layouts: dict[Driver, dict[Shape, DeviceMemory]] = {}
atexit.register(_layouts.clear)  # memory goes back while the drivers still work


def context(device: Device) -> Context:
    """The calling thread's context of a device."""
    driver = device.driver
    found = _contexts.of.get(driver)
    if found is None:
        found = _contexts.of.setdefault(driver, Context(driver.info))
    return found


def kernel(device: Device, symbol: str) -> Kernel:
    """The kernel of that symbol on a device. Raises KernelNotFound, TargetNotBuilt."""
    return context(device).kernel(device, symbol)


def layout_info(device: Device, words: Shape) -> int:
    """The address of dims and strides in device memory; each layout is uploaded once and kept."""
    table = _layouts.get(device.driver)
    if table is None:
        table = _layouts.setdefault(device.driver, {})
    found = table.get(words)
    if found is None:
        if len(table) >= _KEPT:
            table.clear()
        found = device.alloc(8 * len(words))
        found.copy_from_host(array("q", words))
        table[words] = found
    draft.constant(found)
    return found.live_address


def encode(value: bool | int | float, dtype: DType) -> bool | int | float | bytes:
    """A number as the packer takes it: rounded to the dtype."""
    if not dtype.is_float:
        return int(value)
    rounded = nearest(value, dtype)
    return rounded.tobytes() if dtype.short in ("bf16", "f8_e4m3") else float(rounded)


def word(stride: int) -> int:
    """A stride as the kernels' unsigned 64-bit word; a negative one wraps to the right address."""
    return stride & 0xFFFF_FFFF_FFFF_FFFF


def empty(shape: Shape, dtype: DType, device: Device) -> Tensor:
    """A contiguous tensor of uninitialised memory."""
    layout = contiguous(shape)
    return Tensor(draft.memory(device, layout.size * dtype.itemsize), dtype, layout, device)


def strided(shape: Shape, *tensors: Tensor) -> tuple[int, int]:
    """`num_dims` and `info` of the elementwise kernels for tensors of one shape; 0, 0 where all are contiguous."""
    if all(t.layout.is_contiguous for t in tensors):
        return 0, 0
    dims, strides = merged(shape, *tensors)
    return len(dims), layout_info(tensors[0].device, sum(strides, dims))


def merged(shape: Shape, *tensors: Tensor) -> tuple[Shape, tuple[Shape, ...]]:
    """Axes, merged where every tensor runs through them in one step, and each one's strides; one axis at least."""
    dims, strides = collapse(shape, *[t.layout.strides for t in tensors])
    return (dims, strides) if dims else ((1,), tuple((1,) for _ in tensors))


def elementwise(
    symbol: str,
    out: Tensor,
    inputs: Sequence[Tensor],
    *scalars: int | float | bytes,
    after: tuple[int | float | bytes, ...] = (),
) -> Tensor:
    """Run `out[i] = f(scalars…, inputs[0][i], …)`; the inputs have `out`'s shape, `out` is contiguous.

    The scalars stand before the pointers in the kernel's arguments, those of `after` behind them.
    """
    size = out.layout.size
    if size:
        if specialized.enabled and not scalars and specialized.launched(symbol, out, inputs):
            return out
        here = context(out.device)
        itemsizes = (out.dtype.itemsize, *[t.dtype.itemsize for t in inputs])
        if all(t.layout.is_contiguous for t in inputs):
            num_dims = info = 0
            plan = here.plan(plans.long_elementwise if symbol in LONG else plans.elementwise, size, itemsizes)
        else:
            dims, strides = merged(out.layout.shape, *inputs)
            num_dims, info = len(dims), layout_info(out.device, sum(strides, dims))
            plan = here.plan(plans.strided, dims, strides, itemsizes)
        addresses = [t.address for t in inputs]
        kernel = here.kernel(out.device, symbol)
        kernel.run(plan, size, num_dims, info, *scalars, *addresses, out.address, *after)
    return out
