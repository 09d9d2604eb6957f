"""Tensors of block formats: weights that stay quantized in device memory and are multiplied as they are."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from attrs import define, field

from rocmkern import dtypes
from rocmkern.dtypes import DType
from rocmkern.dtypes import dtype as as_dtype
from rocmkern.errors import DTypeError, FormatNotFound, KernelIndexError, ShapeError
from rocmkern.kernels import quantized_plans as plans
from rocmkern.kernels.block_formats import BY_NAME, FORMATS, Q8_1, BlockFormat
from rocmkern.kernels.families.quantized import (
    COUNTS_VALUES,
    KINDS,
    MAX_VECTORS,
    QUANTIZES,
    SLAB_BYTES,
    SLAB_VALUES,
    VECTOR_COUNTS,
)
from rocmkern.kernels.plans import LaunchPlan
from rocmkern.layout import Shape, normal_shape
from rocmkern.ops import tuned
from rocmkern.ops.creation import upload, zeros
from rocmkern.ops.elementwise import as_tensor
from rocmkern.ops.launch import context, empty
from rocmkern.runtime import Device, DeviceMemory
from rocmkern.runtime.device import DeviceLike, open_device
from rocmkern.targets import is_ptx
from rocmkern.tensor import Tensor

_FLOATS: Final = (dtypes.float32, dtypes.float16, dtypes.bfloat16)
Ids: TypeAlias = Tensor | np.ndarray[Any, Any] | list[int] | list[list[int]]
_LARGEST: Final = (1 << 31) - 1  # Candle's argument lists count in int32


@define(eq=False, repr=False)
class QTensor:
    """Values of `shape` in blocks of `format` along the last axis, each row padded with zeros to whole blocks."""

    memory: DeviceMemory
    format: BlockFormat
    shape: Shape
    device: Device

    rows: int = field(init=False)
    columns: int = field(init=False)
    padded_columns: int = field(init=False)  # of a stored row: whole blocks
    row_bytes: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        blocks = -(-self.shape[-1] // self.format.values)
        self.rows, self.columns = math.prod(self.shape[:-1]), self.shape[-1]
        self.padded_columns, self.row_bytes = blocks * self.format.values, blocks * self.format.nbytes

    @property
    def nbytes(self) -> int:
        return self.rows * self.row_bytes

    def blocks(self) -> np.ndarray[Any, Any]:
        """The bytes on the host, row by row."""
        return self.memory.copy_to_host()[: self.nbytes].reshape(self.rows, self.row_bytes)

    def dequantize(self, dtype: DType = dtypes.float32) -> Tensor:
        """The values as a tensor of float32, float16 or bfloat16; the float32 values rounded once.

        Raises DTypeError for another dtype.
        """
        wanted = _float("dequantize", as_dtype(dtype))
        out = empty((self.rows, self.padded_columns), wanted, self.device)
        blocks = out.size // self.format.values
        if blocks:
            counts = () if self.format.values == 256 else (out.size if self.format.symbol in COUNTS_VALUES else blocks,)
            _require_counts("dequantize", *counts)
            symbol = f"dequantize_block_{self.format.symbol}_{wanted.short}"
            sizes = (blocks, self.format)
            _launch(self.device, symbol, plans.dequantize, sizes, self.memory.address, out.address, *counts)
        return self._unpadded(out, self.shape)

    def embedding(self, ids: Ids) -> Tensor:
        """Row ids[…] of a matrix for each id, float32; a negative id counts from the end.

        Raises KernelIndexError (an IndexError) for an id outside the rows, DTypeError for ids that are no integers.
        """
        return self.rows_at(self._uploaded(_numbers("embedding", ids, self.rows)))

    def rows_at(self, ids: Tensor) -> Tensor:
        """What `embedding` gives for ids of int32 on the device that are known to be rows: nothing looks at them."""
        self._require_matmul("embedding")
        out = empty((ids.size, self.padded_columns), dtypes.float32, self.device)
        if out.size:
            sizes = (ids.size, self.padded_columns)
            arguments = (self.memory.address, ids.address, out.address, self.padded_columns, self.row_bytes)
            _launch(self.device, f"get_rows_{self.format.symbol}", plans.rows, sizes, *arguments)
        return self._unpadded(out, (*ids.shape, self.columns))

    def matmul(self, x: Tensor) -> Tensor:
        """`x @ W.T` for this matrix W: the last axis of `x` becomes the rows of W. The result has `x`'s dtype.

        `x` is quantized to 8 bits in blocks of 32 first, which gives errors of about 0.6 % of the products' size.
        Raises ShapeError where the columns differ, DTypeError for an `x` that is not float32, float16 or bfloat16.
        """
        if len(self.shape) != 2:
            raise ShapeError(f"matmul: a quantized tensor of shape {self.shape}; it takes a matrix")
        self._require_vectors("matmul", x)
        if not self.columns:
            return zeros((*x.shape[:-1], self.rows), dtype=x.dtype, device=self.device)
        count = x.size // self.columns
        _require_counts("matmul", self.rows, count, self.padded_columns)
        if count > MAX_VECTORS:
            return self._matmul_many(x, count)
        out = empty((*x.shape[:-1], self.rows), x.dtype, self.device)
        if out.size:
            self._matmul_few(x if x.is_contiguous else x.copy(), count, out)
        return out

    def __matmul__(self, x: Tensor) -> Tensor:
        """`W @ x`, by `matmul`: x is a vector, or has the columns of W as its last axis but one."""
        if not isinstance(x, Tensor):
            return NotImplemented
        return self.matmul(x) if x.ndim < 2 else self.matmul(x.mT).mT

    def __rmatmul__(self, x: Tensor) -> Tensor:
        """`x @ W`, whose last axis becomes the columns of W. The blocks lie along these, so W is dequantized first."""
        return x @ self.dequantize(x.dtype) if isinstance(x, Tensor) else NotImplemented

    def _matmul_few(self, x: Tensor, count: int, out: Tensor) -> None:
        most = next(n for n in VECTOR_COUNTS if n >= count)
        symbol, instance = f"multiply_vectors_{self.format.symbol}_{most}", None
        if tuned.tables is not None:
            instance = tuned.chosen("mat_vec", self.device, self.format.name, count, self.rows, self.padded_columns)
        if instance is not None:
            symbol = instance.kernels[VECTOR_COUNTS.index(most)].symbol
        here = context(self.device)
        kernel, kind = here.kernel(self.device, symbol), KINDS[x.dtype]
        plan = here.plan(plans.vectors, self.rows, most, self.format.name, tuned=instance)
        sizes = (self.padded_columns, self.rows, count)
        if most > QUANTIZES:
            slabs = -(-self.padded_columns // SLAB_VALUES)
            y = self.device.alloc(slabs * SLAB_BYTES)
            prepare = here.kernel(self.device, "prepare_vectors").run
            prepare(here.plan(plans.slabs, slabs), x.address, y.address, self.columns, count, slabs, kind)
            if is_ptx(self.device.info.target):
                plan = here.plan(plans.bands, self.rows, slabs)
            kernel.run(plan, self.memory.address, y.address, out.address, *sizes, kind)
        else:
            kernel.run(plan, self.memory.address, x.address, out.address, *sizes, self.columns, kind)

    def _matmul_many(self, x: Tensor, count: int) -> Tensor:
        out = empty((*x.shape[:-1], self.rows), dtypes.float32, self.device)
        if out.size:
            y = quantized_activations(x, self.padded_columns)
            addresses = (self.memory.address, y.address, out.address)
            sizes = (self.padded_columns, self.rows, count, self.padded_columns, self.rows)
            symbol = f"mul_mat_{self.format.symbol}"
            _launch(self.device, symbol, plans.matrices, (self.rows, count), *addresses, *sizes)
        return out if x.dtype is dtypes.float32 else out.astype(x.dtype)

    def matmul_experts(self, x: Tensor, ids: Ids) -> Tensor:
        """`x @ W[id].T` for each id of a token, this tensor W being (experts, rows, columns).

        `ids` is (tokens, slots), `x` (tokens, columns), or (tokens, slots, columns) with a vector for each slot; the
        result is (tokens, slots, rows). Errors as those of matmul and embedding.
        """
        if len(self.shape) != 3:
            raise ShapeError(
                f"matmul_experts: a quantized tensor of shape {self.shape}; it takes experts, rows, columns"
            )
        return self.matmul_chosen(x, self._uploaded(_numbers("matmul_experts", ids, self.shape[0])))

    def matmul_chosen(self, x: Tensor, ids: Tensor) -> Tensor:
        """What `matmul_experts` gives for ids of int32 on the device that are known to be experts: nothing looks at
        them.
        """
        self._require_vectors("matmul_experts", x)
        if ids.ndim != 2 or x.shape[:-1] not in (ids.shape, ids.shape[:1]):
            raise ShapeError(f"matmul_experts: {x.shape} for ids of shape {ids.shape}; use (tokens, slots)")
        tokens, slots = ids.shape
        rows = self.shape[1]
        if not self.columns:
            return zeros((tokens, slots, rows), dtype=x.dtype, device=self.device)
        out = empty((tokens, slots, rows), x.dtype, self.device)
        if out.size:
            _require_counts("matmul_experts", rows, tokens, self.padded_columns)
            x = x if x.is_contiguous else x.copy()
            addresses = (self.memory.address, x.address, ids.address, out.address)
            per_token = 1 if x.ndim == 2 else slots
            sizes = (rows, self.padded_columns, tokens, slots, per_token, self.columns, KINDS[x.dtype])
            symbol = f"multiply_experts_{self.format.symbol}"
            _launch(self.device, symbol, plans.experts, (rows, tokens, slots), *addresses, *sizes)
        return out

    def _uploaded(self, numbers: np.ndarray[Any, Any]) -> Tensor:
        """Ids as the kernels take them."""
        return upload(numbers.astype(np.int32), self.device)

    def _require_vectors(self, operation: str, x: Tensor) -> None:
        self._require_matmul(operation)
        if not x.shape or x.shape[-1] != self.columns:
            raise ShapeError(f"{operation}: {x.shape} and {self.shape}; the last axes must be equal")
        if x.device.driver is not self.device.driver:
            raise ShapeError(f"{operation}: tensors on {x.device.name} and {self.device.name}; move one with to()")
        _float(operation, x.dtype)

    def _unpadded(self, out: Tensor, shape: Shape) -> Tensor:
        if self.padded_columns != self.columns:
            out = out.view(out.layout.narrow(1, 0, self.columns))
        return out.reshape(shape)

    def _require_matmul(self, operation: str) -> None:
        if not self.format.has_matmul:
            raise FormatNotFound(f"{operation}: no kernel for {self.format.name}; dequantize it first")

    def __repr__(self) -> str:
        return f"QTensor({self.format.name}, shape={self.shape}, {self.nbytes} bytes, device={self.device.name})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same to IPython and hypothesis, which print all attributes of a class that attrs made."""
        printer.text(repr(self))


def quantize(x: Tensor, format: str, *, pad: bool = False) -> QTensor:
    """`x` (float32, float16 or bfloat16) in blocks of `format` along its last axis, rounded as ggml does.

    Rows must be whole blocks: 32 values, or 256 for the k-formats. `pad=True` fills rows up with zeros instead, which
    products and dequantize() leave out again; the zeros cost memory. Raises ShapeError, FormatNotFound, DTypeError.
    """
    row = _format(format)
    if row is None or not row.can_quantize:
        names = ", ".join(f.name for f in FORMATS if f.can_quantize)
        raise FormatNotFound(f"quantize: no kernel makes blocks of {format!r}; there are {names}")
    _float("quantize", as_tensor("quantize", x).dtype)
    columns = x.shape[-1] if x.shape else 0
    if not x.shape or (columns % row.values and not pad):
        raise ShapeError(
            f"quantize: shape {x.shape} for {row.name}, whose blocks hold {row.values} values of a row; "
            f"choose a format of 32, or pad rows with pad=True"
        )
    result = _allocate(row, x.shape, x.device)
    source = x.reshape((result.rows, columns))
    if result.padded_columns != columns:
        wide = zeros((result.rows, result.padded_columns), dtype=x.dtype, device=x.device)
        wide[:, :columns] = source
        source = wide
    blocks = result.rows * result.padded_columns // row.values
    if blocks:
        source = source if source.is_contiguous else source.copy()
        symbol = f"quantize_block_{row.symbol}_{x.dtype.short}"
        _launch(x.device, symbol, plans.quantize, (blocks, row), source.address, result.memory.address, blocks)
    return result


def from_blocks(
    blocks: np.ndarray[Any, Any] | bytes, format: str | BlockFormat, shape: Shape, device: DeviceLike = None
) -> QTensor:
    """Host bytes in blocks of `format` as a tensor of `shape` on a device.

    Raises ShapeError unless rows are whole blocks and the bytes are as many as the shape takes.
    """
    row = format if isinstance(format, BlockFormat) else _format(format)
    if row is None:
        raise FormatNotFound(f"from_blocks: no block format {format!r}; there are {', '.join(BY_NAME)}")
    shape = normal_shape(shape, "from_blocks")
    if not shape or shape[-1] % row.values:
        raise ShapeError(f"from_blocks: shape {shape}; rows of {row.name} must be multiples of {row.values}")
    result = _allocate(row, shape, open_device(device))
    host = np.frombuffer(blocks, np.uint8) if isinstance(blocks, bytes | bytearray) else np.asarray(blocks)
    if host.nbytes != result.nbytes:
        raise ShapeError(f"from_blocks: {host.nbytes} bytes for shape {shape} of {row.name}; it takes {result.nbytes}")
    if result.nbytes:
        result.memory.copy_from_host(np.ascontiguousarray(host))
    return result


def quantized_activations(x: Tensor, padded: int) -> DeviceMemory:
    """The rows of `x` as q8_1 blocks, each padded with zeros to `padded` values."""
    columns = x.shape[-1]
    source = x if x.is_contiguous else x.copy()
    rows = x.size // columns
    memory = x.device.alloc(rows * padded // Q8_1.values * Q8_1.nbytes)
    if padded == columns and x.size <= _LARGEST:
        rows, columns, padded = 1, x.size, x.size
    row_bytes = padded // Q8_1.values * Q8_1.nbytes
    symbol = "quantize_q8_1" if x.dtype is dtypes.float32 else f"quantize_q8_1_{x.dtype.short}"
    here = context(x.device)
    run = here.kernel(x.device, symbol).run
    for part in here.plan(plans.activations, rows, padded):
        values = source.address + part.first * columns * x.dtype.itemsize
        run(part.plan, values, memory.address + part.first * row_bytes, columns, padded)
    return memory


def _allocate(row: BlockFormat, shape: Shape, device: Device) -> QTensor:
    columns = -(-shape[-1] // row.values)
    return QTensor(device.alloc(math.prod(shape[:-1]) * columns * row.nbytes), row, tuple(shape), device)


def _format(name: object) -> BlockFormat | None:
    return BY_NAME.get(name.lower()) if isinstance(name, str) else None


def _float(operation: str, dtype: DType) -> DType:
    if dtype not in _FLOATS:
        raise DTypeError(f"{operation}: {dtype}; it takes {', '.join(d.name for d in _FLOATS)}")
    return dtype


def _numbers(operation: str, ids: Ids, bound: int) -> np.ndarray[Any, Any]:
    """Ids on the host, all in 0…bound - 1; a negative one counted from the end."""
    host = ids.numpy() if isinstance(ids, Tensor) else np.asarray(ids)
    if host.dtype.kind not in "iu" and host.size:
        raise DTypeError(f"{operation}: ids of {host.dtype}; they must be integers")
    outside = host[(host < -bound) | (host >= bound)] if host.size else host
    if outside.size:
        raise KernelIndexError(
            f"{operation}: id {outside.flat[0]} of a table with {bound} rows; use {-bound}..{bound - 1}"
        )
    numbers = host.astype(np.int64)
    return np.where(numbers < 0, numbers + bound, numbers)


def _require_counts(operation: str, *counts: int) -> None:
    if max(counts, default=0) > _LARGEST:
        raise ShapeError(f"{operation}: a size of {max(counts)}; the kernels count to {_LARGEST}, split the tensor")


def _launch(
    device: Device, symbol: str, plan: Callable[..., LaunchPlan], sizes: tuple[object, ...], *arguments: int
) -> None:
    """Run a kernel with `plan(*sizes, device info)`."""
    here = context(device)
    here.kernel(device, symbol).run(here.plan(plan, *sizes), *arguments)
