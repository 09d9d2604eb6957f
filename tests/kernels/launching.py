"""Launching one kernel on NumPy arrays, with the checks that every launch deserves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from rocmkern.dtypes import REAL, DType
from rocmkern.kernels import families, plans
from rocmkern.kernels.cache import get_kernel
from rocmkern.kernels.catalogue import KernelSpec, Parameter
from rocmkern.runtime import Device
from rocmkern.runtime.dim3 import DimLike
from rocmkern.runtime.memory import Pointer

Array = npt.NDArray[Any]
GUARD: Final = 64  # bytes around an array that no kernel may touch
CANARY: Final = 0xA5
_ALIGNED: Final = 16  # bytes, as much as the widest access of a thread: a slice lies between them as on the host
NAMES: Final = [d.short for d in REAL]


class Guarded:
    """Device memory for one array between guards, all of it set to a canary; `offset_bytes` displaces the array."""

    def __init__(self, device: Device, shape: tuple[int, ...], dtype: npt.DTypeLike, offset_bytes: int = 0) -> None:
        self.shape, self.dtype, self.start = shape, np.dtype(dtype), GUARD + offset_bytes
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * self.dtype.itemsize
        self.memory = device.alloc(self.start + self.nbytes + GUARD)
        self.memory.fill(CANARY)

    @staticmethod
    def holding(device: Device, array: Array, offset_bytes: int = 0) -> Guarded:
        held = Guarded(device, array.shape, array.dtype, offset_bytes)
        held.set(array)
        return held

    def at(self, offset_bytes: int) -> Pointer:
        return self.memory.at(self.start + offset_bytes)

    @property
    def pointer(self) -> Pointer:
        return self.at(0)

    def set(self, values: Array) -> None:
        if self.nbytes:
            self.memory.copy_from_host(np.ascontiguousarray(values), offset_bytes=self.start)

    def array(self, name: str = "a kernel") -> Array:
        """What the array holds; fails if something was written around it."""
        held = self.memory.copy_to_host()
        end = self.start + self.nbytes
        assert (held[: self.start] == CANARY).all(), f"{name} was written to before its beginning"
        assert (held[end:] == CANARY).all(), f"{name} was written to behind its end"
        values: Array = held[self.start : end].copy().view(self.dtype).reshape(self.shape)
        return values


def root(view: Array) -> Array:
    """The array that owns the memory of a view."""
    while isinstance(view.base, np.ndarray):
        view = view.base
    return view


def distance(owner: Array, view: Array) -> int:
    """The bytes from the beginning of an array to the first element of a view."""
    first: int = view.__array_interface__["data"][0]
    return first - int(owner.__array_interface__["data"][0])


def upload(device: Device, view: Array) -> tuple[Array, Guarded, Pointer]:
    """An array, or all that a view with gaps looks at: on the host, on the device, and where its first element lies."""
    base = root(view)
    owner = view if view.flags.c_contiguous else base
    assert owner.flags.c_contiguous
    held = Guarded.holding(device, owner, distance(base, owner) % _ALIGNED)
    return owner, held, held.at(distance(owner, view))


def least_elements(spec: KernelSpec, parameter: Parameter, args: Sequence[Any]) -> int:
    """How many elements an array has that a kernel writes, as the catalogue has it; 0 where it does not say."""
    if parameter.role == "in" or not parameter.counts:
        return 0
    numbers = {p.name: value for p, value in zip(spec.parameters, args, strict=True)}
    return math.prod(int(numbers[name]) for name in parameter.counts)


def run(device: Device, symbol: str, *args: Any, grid: DimLike, block: DimLike = 256, shared_bytes: int = 0) -> None:
    """Launches `symbol` with arrays of any strides for pointers; those that it writes are updated in place.

    Asserts that nothing but what the catalogue calls out or inout changes, inside the arrays and around them.
    """
    spec = families.spec(symbol)
    passed: list[Any] = []
    arrays = []
    for parameter, value in zip(spec.parameters, args, strict=True):
        if not isinstance(value, np.ndarray):
            passed.append(value)
            continue
        assert value.dtype == parameter.dtype.numpy, (parameter, value.dtype)
        assert value.size >= least_elements(spec, parameter, args), (symbol, parameter)
        owner, held, pointer = upload(device, value)
        passed.append(pointer)
        arrays.append((parameter, owner, held))
    get_kernel(spec.family, symbol, device)(*passed, grid=grid, block=block, shared_bytes=shared_bytes)
    device.synchronize()
    for parameter, owner, held in arrays:
        result = held.array(f"{symbol}'s {parameter.name}")
        if parameter.role == "in":
            assert result.tobytes() == owner.tobytes(), f"{symbol} writes to its input {parameter.name}"
        else:
            owner[...] = result


def elementwise(
    device: Device,
    symbol: str,
    inputs: Sequence[Array],
    *,
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    geometry: tuple[int, int] | None = None,
    offset_bytes: int = 0,
) -> Array:
    """The result of a kernel of numel, num_dims, info, `before`, inputs, out, `after`, launched as its plan has it."""
    spec = families.spec(symbol)
    out = next(parameter.dtype.numpy for parameter in spec.parameters if parameter.role == "out")
    shape = inputs[0].shape
    result = Guarded(device, shape, out, offset_bytes)
    numel = int(np.prod(shape, dtype=np.int64))
    contiguous = all(v.flags.c_contiguous for v in inputs)
    if contiguous:
        sizes = (*(v.itemsize for v in inputs), result.dtype.itemsize)
        plan = plans.elementwise(max(numel, 1), sizes, device.info)
    else:
        plan = plans.over_units(max(numel, 1), device.info, variant="elements", why="")
    grid, block = geometry or (plan.grid, plan.block)
    info = None if contiguous else layout(*inputs)
    run(device, symbol, numel, len(shape), info, *before, *inputs, result.pointer, *after, grid=grid, block=block)
    return result.array(f"{symbol}'s result")


def layout(array: Array, *others: Array) -> Array:
    """Candle's info: dims, then the strides of each array in elements, negative ones wrapped."""
    strides = [s // a.itemsize for a in (array, *others) for s in a.strides]
    return np.array([*array.shape, *strides], np.int64).view(np.uint64)


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Array:
    """A view of that shape, its axes in any order in memory, each stepped, reversed or broadcast, at any offset."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, 1, 2, -1, 0])) for _ in shape]
    start = draw(st.integers(0, 2))
    stored = tuple(1 if steps[axis] == 0 else shape[axis] * abs(steps[axis]) for axis in order)
    owner = (np.arange(start + int(np.prod(stored))) % 251).astype(dtype)
    view = owner[start:].reshape(stored).transpose(np.argsort(order))
    view = view[tuple(slice(None, None, step or 1) for step in steps)]
    return np.broadcast_to(view, shape)


@np.errstate(invalid="ignore")  # ml_dtypes warns of signalling NaNs
def unequal(left: Array, right: Array) -> list[int]:
    """Where two arrays differ in their bits; any NaN equals any other."""
    assert (left.dtype, left.shape) == (right.dtype, right.shape)
    unsigned = np.dtype(f"u{left.dtype.itemsize}")
    left, right = np.ascontiguousarray(left).reshape(-1), np.ascontiguousarray(right).reshape(-1)
    differ = left.view(unsigned) != right.view(unsigned)
    if left.dtype.kind not in "biu":
        differ &= (left == left) | (right == right)
    found: list[int] = np.flatnonzero(differ).tolist()
    return found


def same_bits(left: Array, right: Array) -> bool:
    return not unequal(left, right)


def bits(rng: np.random.Generator, dtype: DType, shape: int | tuple[int, ...]) -> Array:
    """Random bit patterns: for floats NaNs, infinities and subnormals are among them."""
    if dtype.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    count = int(np.prod(shape))
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype.numpy).copy().reshape(shape)


def small_numbers(rng: np.random.Generator, dtype: DType, shape: int | tuple[int, ...]) -> Array:
    """Numbers of which many are equal, NaN, -0.0 and infinities among the floats."""
    values = rng.integers(0 if dtype.kind in ("bool", "unsigned") else -4, 5, shape).astype(dtype.numpy)
    if dtype.is_float:
        special = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf], dtype.numpy)
        chosen = rng.random(shape) < 0.3
        values = np.where(chosen, rng.choice(special, shape), values)
    return values
