"""What is tuned: problems of each operation with their operands, their right answers, their work, read from a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol

import ml_dtypes
import numpy as np
from attrs import NOTHING, AttrsInstance, asdict, fields, frozen

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.errors import ConfigError
from rocmkern.kernels import families
from rocmkern.kernels.block_formats import BY_NAME
from rocmkern.kernels.csv_table import read_csv
from rocmkern.kernels.plans_conv import windows
from rocmkern.ops import conv, linear, reduction
from rocmkern.ops.creation import asarray
from rocmkern.quant.qtensor import quantize
from rocmkern.runtime import Device
from rocmkern.tensor import Tensor

Array = np.ndarray[Any, Any]
Run = Callable[[], Tensor]
_EXTREME: Final = 8  # integers up to this size: sums of their products are exact in float32 up to 2¹⁸ of them


class Problem(AttrsInstance, Protocol):
    """One problem: its key in tuned tables, its work, operands on a device, and the right answer.

    `prepare` gives the call, the answer, and the scale of each element that `tolerance` is relative to; a tolerance of
    0 wants the answer rounded once, bit for bit.
    """

    op: str
    dtype: str
    tolerance: ClassVar[float]

    @property
    def key(self) -> tuple[int, int, int]: ...  # M, N, K
    @property
    def operations(self) -> float: ...
    @property
    def nbytes(self) -> float: ...
    def prepare(self, device: Device) -> tuple[Run, Array, Array]: ...


def _numbers(shape: tuple[int, ...], dtype: DType) -> Array:
    low = 0 if dtype.kind == "unsigned" else -_EXTREME
    return np.random.default_rng(shape).integers(low, _EXTREME + 1, shape).astype(dtype.numpy)


def _wide(values: Array) -> Array:
    return values.astype(np.float64)


def _item_bytes(dtype: str, elements: int) -> float:
    return float(dtypes.BY_SHORT[dtype].itemsize * elements)


@frozen
class _Matrices:
    """m × n results, each a sum of k products."""

    op: str
    dtype: str
    m: int
    n: int
    k: int

    @property
    def key(self) -> tuple[int, int, int]:
        return self.m, self.n, self.k

    @property
    def operations(self) -> float:
        return 2.0 * prod(self.key)


@frozen
class Product(_Matrices):
    """(m, k) · (k, n) of small integers, whose sums are exact."""

    tolerance: ClassVar[float] = 0.0

    @property
    def nbytes(self) -> float:
        return _item_bytes(self.dtype, self.m * self.k + self.k * self.n + self.m * self.n)

    def prepare(self, device: Device) -> tuple[Run, Array, Array]:
        dtype = dtypes.BY_SHORT[self.dtype]
        x, y = _numbers((self.m, self.k), dtype), _numbers((self.k, self.n), dtype)
        left, right = asarray(x, device=device), asarray(y, device=device)
        wanted = _wide(x) @ _wide(y)
        return partial(linear.matmul, left, right), wanted, wanted


@frozen
class VectorProduct(_Matrices):
    """m vectors of k by a quantized matrix (n, k). The vectors are exact as 8-bit blocks: each holds its extreme."""

    tolerance: ClassVar[float] = 1e-5

    @property
    def nbytes(self) -> float:
        format_ = BY_NAME[self.dtype]
        return float(self.n * self.k // format_.values * format_.nbytes + 4 * self.m * (self.k + self.n))

    def prepare(self, device: Device) -> tuple[Run, Array, Array]:
        random = np.random.default_rng((self.n, self.k))
        vectors = random.integers(-127, 128, (self.m, self.k)).astype(np.float32)
        vectors[:, ::32] = 127
        values = random.standard_normal((self.n, self.k), dtype=np.float32)
        weight = quantize(asarray(values, device=device), self.dtype)
        held = _wide(weight.dequantize().numpy())
        x = asarray(vectors, device=device)
        wide = _wide(vectors)
        return partial(weight.matmul, x), wide @ held.T, np.abs(wide) @ np.abs(held).T


@frozen
class Reduction:
    """m rows of k elements, each to one value."""

    op: str
    dtype: str
    m: int
    k: int
    tolerance: ClassVar[float] = 4.0  # of the result's rounding; sums are exact

    @property
    def key(self) -> tuple[int, int, int]:
        return self.m, 1, self.k

    @property
    def operations(self) -> float:
        return float(self.m * self.k)

    @property
    def nbytes(self) -> float:
        return _item_bytes(self.dtype, self.m * self.k)

    def prepare(self, device: Device) -> tuple[Run, Array, Array]:
        dtype = dtypes.BY_SHORT[self.dtype]
        x = _numbers((self.m, self.k), dtype)
        if self.op == "prod":
            x = np.where(x > 0, 1, 1 if dtype.kind == "unsigned" else -1).astype(dtype.numpy)
        options: dict[str, Any] = {"dtype": dtype} if self.op in ("sum", "prod") else {}
        wide = x if dtype.is_integer else _wide(x)
        wanted = _ANSWERS[self.op](wide, dtype)
        call = partial(getattr(reduction, self.op), asarray(x, device=device), axis=1, **options)
        return call, wanted, _rounding(dtype) * np.abs(_wide(wanted))


def _rounding(dtype: DType) -> float:
    return float(ml_dtypes.finfo(dtype.numpy).eps) if dtype.is_float else 0.0


def _log_sum(x: Array, _: DType) -> Array:
    largest = x.max(1, keepdims=True)
    answer: Array = (largest + np.log(np.exp(x - largest).sum(1, keepdims=True)))[:, 0]
    return answer


_ANSWERS: Final[dict[str, Callable[[Array, DType], Array]]] = {
    "sum": lambda x, t: x.sum(1, dtype=t.numpy if t.is_integer else None),
    "prod": lambda x, t: x.prod(1, dtype=t.numpy if t.is_integer else None),
    "mean": lambda x, _: x.mean(1), "min": lambda x, _: x.min(1), "max": lambda x, _: x.max(1),
    "argmin": lambda x, _: x.argmin(1), "argmax": lambda x, _: x.argmax(1),
    "any": lambda x, _: np.any(x, axis=(1,)), "all": lambda x, _: np.all(x, axis=(1,)), "logsumexp": _log_sum,
}  # fmt: skip


@frozen
class Convolution:
    """Images (b, c, h, w) with `o` kernels (c / groups, kh, kw) of small integers."""

    op: str
    dtype: str
    b: int
    c: int
    h: int
    w: int
    o: int
    kh: int
    kw: int
    stride: int = 1
    padding: int = 0
    groups: int = 1
    tolerance: ClassVar[float] = 0.0

    @property
    def _out(self) -> tuple[int, int]:
        return windows(self.h, self.kh, self.stride, self.padding), windows(self.w, self.kw, self.stride, self.padding)

    @property
    def key(self) -> tuple[int, int, int]:
        return self.o, self.b * prod(self._out), self.c // self.groups * self.kh * self.kw

    @property
    def operations(self) -> float:
        return 2.0 * prod(self.key)

    @property
    def nbytes(self) -> float:
        m, n, k = self.key
        return _item_bytes(self.dtype, self.b * self.c * self.h * self.w + m * k + m * n)

    def prepare(self, device: Device) -> tuple[Run, Array, Array]:
        dtype = dtypes.BY_SHORT[self.dtype]
        x = _numbers((self.b, self.c, self.h, self.w), dtype)
        w = _numbers((self.o, self.c // self.groups, self.kh, self.kw), dtype)
        call = partial(
            conv.conv2d, asarray(x, device=device), asarray(w, device=device),
            stride=self.stride, padding=self.padding, groups=self.groups,
        )  # fmt: skip
        wanted = self._answer(_wide(x), _wide(w))
        return call, wanted, wanted

    def _answer(self, x: Array, w: Array) -> Array:
        """Image by image and group by group, as a product with the windows."""
        p = self.padding
        padded = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.kh, self.kw), (2, 3))
        windows = windows[:, :, :: self.stride, :: self.stride]
        per_in, per_out = self.c // self.groups, self.o // self.groups
        out = np.empty((self.b, self.o, *windows.shape[2:4]))
        for image in range(self.b):
            for group in range(self.groups):
                taken = windows[image, group * per_in : (group + 1) * per_in]
                columns = taken.transpose(0, 3, 4, 1, 2).reshape(per_in * self.kh * self.kw, -1)
                rows = slice(group * per_out, (group + 1) * per_out)
                out[image, rows] = (w[rows].reshape(per_out, -1) @ columns).reshape(per_out, *windows.shape[2:4])
        return out


_KINDS: Final[dict[str, type[Any]]] = {
    "matmul": Product, "mat_vec": VectorProduct, "conv2d": Convolution, **dict.fromkeys(_ANSWERS, Reduction)
}  # fmt: skip


def make(op: str, **values: Any) -> Problem:
    """The problem of an operation with these sizes."""
    problem: Problem = _KINDS[op](op=op, **values)
    return problem


def as_dict(problem: Problem) -> dict[str, Any]:
    """What `make` takes."""
    return asdict(problem)


def columns(op: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns of a table of shapes that must be there, and those that may."""
    rows = [field for field in fields(_KINDS[op]) if field.name not in ("op", "dtype")]
    needed = tuple(f.name.upper() if len(f.name) < 3 else f.name for f in rows if f.default is NOTHING)
    return needed, ("dtype", *(f.name for f in rows if f.default is not NOTHING))


def read(op: str, path: Path) -> list[Problem]:
    """The problems of a CSV file. Raises ConfigError naming line and column of what can't be."""
    if op not in families.tunables():
        raise ConfigError(f"tune: {op!r} is no operation with instances; there are {', '.join(families.tunables())}")
    return list(dict.fromkeys(_problems(op, path)))


def _problems(op: str, path: Path) -> Iterator[Problem]:
    header, lines = read_csv(path)
    needed, optional = columns(op)
    missing = [name for name in needed if name not in header]
    unknown = [name for name in header if name not in (*needed, *optional)]
    if missing or unknown:
        what = f"no column {', '.join(missing)}" if missing else f"{len(unknown)} columns that are unknown"
        raise ConfigError(
            f"tune {op}: {path.name} has {what}; it takes {', '.join(needed)} and may have {', '.join(optional)}"
        )
    there = families.tunables()[op].dtypes
    for line, cells in lines:
        values: dict[str, Any] = {name.lower(): cell for name, cell in cells.items() if cell is not None}
        dtype = str(values.pop("dtype", "f32" if "f32" in there else there[0]))
        if dtype not in there:
            raise ConfigError(f"tune {op}: {path.name}, line {line}: dtype {dtype}; there are {', '.join(there)}")
        wrong = [f"{k} {v}" for k, v in values.items() if not isinstance(v, int) or v < (k != "padding")]
        absent = [name for name in needed if name.lower() not in values]
        if wrong or absent:
            what = f"{', '.join(wrong)} is no size" if wrong else f"{', '.join(absent)} is empty"
            raise ConfigError(f"tune {op}: {path.name}, line {line}: {what}; sizes are whole numbers from 1")
        yield make(op, dtype=dtype, **values)
