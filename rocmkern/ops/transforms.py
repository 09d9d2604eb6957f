"""Fourier transforms along one axis: passes as planned, and the tables that they multiply by, which are kept."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from math import prod
from typing import Final, Literal

from attrs import evolve, frozen

from rocmkern import default_dtypes
from rocmkern.drivers.protocol import Driver
from rocmkern.dtypes import DType, complex64, complex128, float32, float64, part_of
from rocmkern.engine.draft import apart, constant
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import DTypeError
from rocmkern.kernels import plans_fft
from rocmkern.kernels.plans_fft import FftPlan, Place, Rows, Tables
from rocmkern.layout import collapse
from rocmkern.ops.casting import cast, packed
from rocmkern.ops.creation import zeros
from rocmkern.ops.launch import context, elementwise, empty, kernel, layout_info
from rocmkern.ops.manipulation import moveaxis
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

Kind = Literal["complex", "to_half", "from_half"]  # "half": the first half and one of a Hermitian row

FEW_TERMS: Final = 4096  # of all sums that define a transform
_AXES: Final = 3  # that these run along
_LONGEST: Final = 255
_MOST_KEPT: Final = 1 << 28  # bytes of tables a device
_tables: dict[Driver, dict[tuple[object, ...], Tensor]] = {}
atexit.register(_tables.clear)  # memory goes back while the drivers still work


def as_spectrum(operation: str, x: Tensor) -> Tensor:
    """The tensor in float32, float64 or a complex dtype. Raises DTypeError for other floats."""
    if x.dtype.is_complex or x.dtype in (float32, float64):
        return x
    if x.dtype.is_float:
        raise DTypeError(f"{operation}: dtype {x.dtype}; it takes float32 and wider, cast it first")
    return cast(x, default_dtypes.wide_floating())


def complex_of(dtype: DType) -> DType:
    """The complex dtype of that precision."""
    return complex128 if dtype in (float64, complex128) else complex64


@frozen
class Along:
    """The transforms of n elements along an axis, times a number; missing elements are zeros."""

    axis: int
    n: int
    kind: Kind
    inverse: bool
    scale: float

    @property
    def wanted(self) -> int:
        """Elements of the result."""
        return self.n // 2 + 1 if self.kind == "to_half" else self.n

    def given(self, x: Tensor) -> int:
        """Elements that there are, and that count."""
        return min(x.shape[self.axis], self.n // 2 + 1 if self.kind == "from_half" else self.n)


def along(x: Tensor, step: Along) -> Tensor:
    """One transform."""
    at, n, kind = step.axis, step.n, step.kind
    dtype = complex_of(x.dtype)
    shape, result = (*x.shape[:at], step.wanted, *x.shape[at + 1 :]), _result(step, dtype)
    if 0 in shape or not x.size:
        return zeros(shape, dtype=result, device=x.device)
    last = x.ndim - 1
    halved = kind != "complex" and plans_fft.halves(n, dtype.itemsize)
    if at != last and not halved and not plans_fft.takes_one_pass(n, dtype.itemsize):
        return moveaxis(along(packed(moveaxis(x, at, -1)), evolve(step, axis=last)), -1, at)
    out = empty(shape, result, x.device)
    around = [(*axes[:at], *axes[at + 1 :]) for axes in (x.shape, x.layout.strides, out.layout.strides)]
    dims, (before, after) = collapse(*around)
    ends = (
        Rows("x", before, x.layout.strides[at], min(x.shape[at], n), not x.dtype.is_complex, kind == "from_half"),
        Rows("y", after, out.layout.strides[at], step.wanted, not result.is_complex),
    )
    plan = context(x.device).plan(plans_fft.transform, n, dtype.itemsize, dims, *ends, step.inverse)
    _run(plan, dtype, x, out, step.scale)
    return out


def _result(last: Along, dtype: DType) -> DType:
    """The dtype of what is transformed along a last axis."""
    return part_of(dtype) if last.kind == "from_half" else dtype


def at_once(x: Tensor, steps: Sequence[Along]) -> Tensor | None:
    """The transforms along different axes, all but the last of which are complex, as one sum over all elements; None
    where that is much to add.
    """
    shape, last, device = list(x.shape), steps[-1], x.device
    for step in steps:
        shape[step.axis] = step.wanted
    size, terms = prod(shape), prod(step.given(x) for step in steps)
    if not 0 < size * terms <= FEW_TERMS or len(steps) > _AXES or any(step.n > _LONGEST for step in steps):
        return None
    dtype = complex_of(x.dtype)
    in_x, places = list(x.strides), [0] * x.ndim
    rest = [(1, 1, 0)] * (_AXES - len(steps))  # of other axes
    for slot, step in enumerate(steps, len(rest)):
        in_x[step.axis], places[step.axis] = 0, 1 << 8 * (_AXES - 1 - slot)
    each = [*rest, *((step.n, step.given(x), x.strides[step.axis]) for step in steps)]
    alone = all(n == 1 for n, *_ in each[:-1])
    flags = (not x.dtype.is_complex) | last.inverse << 1 | (last.kind == "from_half") << 2 | alone << 3
    dims, strides = collapse(tuple(shape), tuple(in_x), tuple(places))
    out = empty(tuple(shape), _result(last, dtype), device)
    kernel(device, f"fft_sums_{dtype.short}")(
        size, size, len(dims), layout_info(device, sum(strides, dims)) if dims else 0,
        layout_info(device, (*sum(each, ()), flags)), prod(step.scale for step in steps), not out.dtype.is_complex,
        *(_roots(device, dtype, n, 1, n).address for n, *_ in each), x.address, out.address,
    )  # fmt: skip
    return out


def _run(plan: FftPlan, dtype: DType, x: Tensor, out: Tensor, scale: float) -> None:
    """Launch the passes; the last one multiplies by `scale`."""
    device = x.device
    places: dict[Place, Tensor] = {"x": x, "y": out}
    for step in plan.passes:
        if step.target not in places:
            places[step.target] = empty((x.size // x.shape[-1] * plan.scratch,), dtype, device)
        chirp = _chirp(device, dtype, plan.n) if step.chirp_in or step.chirp_out else None
        spectrum = _spectrum(device, dtype, plan) if step.between or step.spectrum_out else None
        coarse, fine = _twiddles(device, dtype, step.twiddles)
        tables = [
            _stage_roots(device, dtype, step.n),
            chirp if step.chirp_in else None,
            spectrum if step.between else None,
            chirp if step.chirp_out else spectrum if step.spectrum_out else None,
            _roots(device, dtype, step.n // 2 + 1, 1, plan.n) if step.halved else coarse,
            fine,
        ]
        kernel(device, f"fft_lines_{dtype.short}").run(
            step.launch,
            places[step.source].address,
            places[step.target].address,
            layout_info(device, step.words),
            scale if step is plan.passes[-1] else 1.0,
            *[0 if table is None else table.address for table in tables],
        )


def _twiddles(device: Device, dtype: DType, tables: Tables | None) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """The roots of unity of n: each is one of the first table times one of the second."""
    if tables is None:
        return None, None
    n, shift = tables
    return _roots(device, dtype, -(-n >> shift), 1 << shift, n), _roots(device, dtype, min(n, 1 << shift), 1, n)


def _stage_roots(device: Device, dtype: DType, n: int) -> Tensor:
    """What the stages of a transform of n elements multiply by."""

    def make() -> Tensor:
        table = empty((n - 1,), complex128, device)
        kernel(device, "fft_stage_roots_c128")(n, n - 1, plans_fft.stages(n), table.address)
        return table

    return _kept(device, dtype, ("stages", n), make)


def _roots(device: Device, dtype: DType, count: int, step: int, n: int) -> Tensor:
    """Every `step`-th root of unity of n, clockwise."""

    def make() -> Tensor:
        table = empty((count,), complex128, device)
        kernel(device, "fft_roots_c128")(count, count, step, n, table.address)
        return table

    return _kept(device, dtype, ("roots", count, step, n), make)


def _chirp(device: Device, dtype: DType, n: int) -> Tensor:
    """exp(-πi·k²/n), by which Bluestein's convolution multiplies what goes in and what comes out."""
    return _kept(device, dtype, ("chirp", n), lambda: _chirped(device, n, n))


def _spectrum(device: Device, dtype: DType, plan: FftPlan) -> Tensor:
    """The transform of the conjugate chirp, by which it multiplies between; its own inverse's scale is in it."""

    def make() -> Tensor:
        wave = _chirped(device, plan.padded, plan.n)
        conjugate = elementwise("uconj_c128", empty(wave.shape, complex128, device), (wave,))
        return along(conjugate, Along(0, plan.padded, "complex", False, 1 / plan.padded))

    return _kept(device, dtype, ("spectrum", plan.n, plan.padded), make)


def _chirped(device: Device, count: int, n: int) -> Tensor:
    table = empty((count,), complex128, device)
    kernel(device, "fft_chirp_c128")(count, count, n, table.address)
    return table


def _kept(device: Device, dtype: DType, key: tuple[object, ...], make: Callable[[], Tensor]) -> Tensor:
    """A table in a dtype, made in complex128 when first asked for."""
    tables = _tables.get(device.driver)
    if tables is None:
        tables = _tables.setdefault(device.driver, {})
    key = (dtype, *key)
    found = tables.get(key)
    if found is None:
        with apart():
            made = cast(make(), dtype)
        if sum(table.nbytes for table in tables.values()) + made.nbytes > _MOST_KEPT:
            tables.clear()
            forget_plans()  # planned transforms keep their tables
        found = tables[key] = made
    constant(found.memory)
    return found
