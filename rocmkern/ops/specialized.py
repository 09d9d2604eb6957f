"""Kernels made for one shape (`rocmkern gen-kernels`), used where an operation asks for just that shape.

They are looked for in the folders of ROCMKERN_KERNEL_DIR (several with the system's path separator) and then in
`kernels/` of the user's cache, as `<target>/<name>.hsaco` with a sidecar that says what the file is for. With
ROCMKERN_JIT=1 one that is nowhere is compiled into that cache. With ROCMKERN_RECORD=FILE every operation that
found none, of tensors that a template takes, is noted there as a configuration.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from rocmkern import disk_cache, targets
from rocmkern.engine import draft
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import ConfigError
from rocmkern.kernels import sidecar
from rocmkern.kernels.instance_files import named_folders
from rocmkern.kernels.sidecar import Sidecar, TensorRow
from rocmkern.layout import Shape
from rocmkern.paths import cache_folder
from rocmkern.runtime import Device, Function, Module
from rocmkern.tensor import Tensor

RECORD: Final = "ROCMKERN_RECORD"
JIT: Final = "ROCMKERN_JIT"
DIMENSIONS: Final = 4
COPY: Final = "ggml_op_cont"
OPS: Final[dict[str, str]] = {
    "badd": "ggml_op_add", "bsub": "ggml_op_sub", "bmul": "ggml_op_mul", "bdiv": "ggml_op_div",
    "uabs": "ggml_unary_op_abs", "usign": "ggml_unary_op_sgn", "uneg": "ggml_unary_op_neg",
    "urelu": "ggml_unary_op_relu", "utanh": "ggml_unary_op_tanh", "usigmoid": "ggml_unary_op_sigmoid",
    "ugelu": "ggml_unary_op_gelu", "ugelu_erf": "ggml_unary_op_gelu_erf", "usilu": "ggml_unary_op_silu",
    "uexp": "ggml_unary_op_exp", "ucopy": COPY,
}  # fmt: skip
PRODUCT: Final = "ggml_op_mul_mat"
Key = tuple[Any, ...]

enabled: bool = False
_compiles: bool = False
_recorded: dict[Key, dict[str, Any]] = {}
_tables: dict[str, dict[Key, Path | None]] = {}  # None: it could not be made
_functions: dict[tuple[int, Path], tuple[Function, Sidecar]] = {}


def configure() -> None:
    """Reads the environment again, and forgets what was found before."""
    jit_kernels(os.environ.get(JIT, "") not in ("", "0"))


def jit_kernels(enable: bool = True) -> None:
    """Lets operations compile a kernel for their very shapes where none is found, or no longer.

    Each takes a second or two, once: it is kept in the user's cache. Needs what `compile` needs; without it, and for
    tensors that no template takes, the generic kernel serves as before.
    """
    global enabled, _compiles
    _tables.clear()
    _functions.clear()
    forget_plans()
    _compiles = enable
    found = bool(named_folders() or os.environ.get(RECORD)) or (cache_folder() / "kernels").is_dir()
    enabled = enable or found


def launched(symbol: str, out: Tensor, operands: Sequence[Tensor]) -> bool:
    """Whether a kernel of `symbol`'s operation for these very tensors was there, and ran."""
    op = OPS.get(symbol.removesuffix(f"_{out.dtype.short}"))
    if op is None or out.ndim > DIMENSIONS or not out.size:
        return False
    rows = [_row(tensor.shape, tensor.strides, tensor) for tensor in operands]
    return _run(op, rows, _row(out.shape, out.strides, out), out, operands)


def product(out: Tensor, x1: Tensor, x2: Tensor) -> bool:
    """The same for x1 @ x2: ggml's product has x2's columns first, and k innermost in both."""
    if out.ndim > DIMENSIONS or not out.size:
        return False
    columns = _row(_swapped(x2.shape), _swapped(x2.strides), x2)
    rows = _row(x1.shape, x1.strides, x1)
    return _run(PRODUCT, [columns, rows], _row(out.shape, out.strides, out), out, (x2, x1))


def _swapped(values: Shape) -> Shape:
    return (*values[:-2], values[-1], values[-2])


def _row(shape: Shape, strides: Shape, tensor: Tensor) -> TensorRow:
    """Innermost first, four dims; a dim that repeats one element is a dim of one."""
    pairs = [(1 if stride == 0 else n, stride) for n, stride in zip(shape, strides, strict=True)]
    pairs = [(n, stride if n > 1 else 0) for n, stride in pairs][::-1]
    pairs += [(1, 0)] * (DIMENSIONS - len(pairs))
    (n0, s0), (n1, s1), (n2, s2), (n3, s3) = pairs
    return TensorRow(tensor.dtype.short, (n0, n1, n2, n3), (s0, s1, s2, s3))


def _canonical(row: TensorRow) -> TensorRow:
    a, b, c, d = (s if n > 1 else 0 for n, s in zip(row.shape, row.strides, strict=True))
    return TensorRow(row.dtype, row.shape, (a, b, c, d))


def _run(op: str, rows: list[TensorRow], output: TensorRow, out: Tensor, operands: Sequence[Tensor]) -> bool:
    device = out.device
    key = (op, tuple(rows), output)
    table = _table(device)
    path = table.get(key)
    found = None if path is None else _function(device, path)
    if found is None:
        if os.environ.get(RECORD):
            _note(op, rows, output, device)
        if not _compiles or (path is None and key in table):
            return False
        path = table[key] = _compiled(_entry(op, rows, output, device))
        found = None if path is None else _function(device, path)
        if found is None:
            return False
    function, row = found
    addresses = [tensor.address for tensor in (*operands, out)]
    packed = function.pack_values(*addresses)
    draft.launch(function, packed, (row.grid, 1, 1), (row.block, 1, 1))
    return True


def _table(device: Device) -> dict[Key, Path | None]:
    """What there is for a device, by operation and tensors; earlier folders and exact targets win."""
    arch = device.info.arch
    found = _tables.get(arch)
    if found is None:
        found = _tables[arch] = {}
        for path in _files(arch):
            try:
                row = sidecar.read(path)
            except ConfigError:
                continue
            key = (row.op, tuple(map(_canonical, row.inputs)), _canonical(row.output))
            found.setdefault(key, path)
    return found


def _files(arch: str) -> Iterator[Path]:
    for folder in [*named_folders(), cache_folder() / "kernels"]:
        for target in targets.candidates(arch):
            yield from sorted((folder / target).glob(targets.file_name("*", arch)))


def _function(device: Device, path: Path) -> tuple[Function, Sidecar] | None:
    """The kernel of a file; None where the file is gone, or not what its sidecar says."""
    key = (id(device.driver), path)
    found = _functions.get(key)
    if found is None:
        try:
            row, code = sidecar.read_both(path)
        except ConfigError:
            return None
        if path.is_relative_to(cache_folder()):
            disk_cache.use(path)
        found = _functions[key] = Module.load_data(code, device).get_function(row.symbol), row
    return found


def _note(op: str, rows: list[TensorRow], output: TensorRow, device: Device) -> None:
    target = targets.strip_features(device.info.arch)
    key = (op, tuple(rows), output, target)
    if key in _recorded:
        return
    entry = _entry(op, rows, output, device)
    if not import_module("rocmkern.specialize.config").is_possible(entry):
        return
    if not _recorded:
        atexit.register(_write_record)
    _recorded[key] = entry


def _entry(op: str, rows: list[TensorRow], output: TensorRow, device: Device) -> dict[str, Any]:
    """What a configuration says of a kernel; its name is the same whenever it is asked for."""
    tensors = [_descriptor(row) for row in (*rows, output)]
    sizes = "x".join(str(n) for n in output.shape)
    digest = hashlib.sha256(" ".join(tensors).encode()).hexdigest()[:8]
    return {
        "kernel_name": op,
        "kernel_source": _source(op),
        "arch": targets.strip_features(device.info.arch),
        "input_tensors": tensors[:-1],
        "output_tensor": tensors[-1],
        "exported_name": f"{op.removeprefix('ggml_')}_{output.dtype}_{sizes}_{digest}",
    }


def _compiled(entry: dict[str, Any]) -> Path | None:
    """Through the compilers' layer, which lies above this one and is needed by those only who asked for it."""
    made: Path | None = import_module("rocmkern.specialize.jit").make(entry)
    return made


def _source(op: str) -> str:
    if op == PRODUCT:
        return "mul_mat.hip"
    return "unary_ops.hip" if op.startswith("ggml_unary") or op == COPY else "binary_ops.hip"


def _descriptor(row: TensorRow) -> str:
    dense, expected = True, 1
    for n, stride in zip(row.shape, row.strides, strict=True):
        dense = dense and (n == 1 or stride == expected)
        expected *= n
    shape, strides = (f"({','.join(map(str, values))})" for values in (row.shape, row.strides))
    return f"{shape}/{row.dtype}" if dense else f"{shape}/{row.dtype}/{strides}"


def _write_record() -> None:
    path = os.environ.get(RECORD)
    if path:
        Path(path).write_text(json.dumps({"kernels": list(_recorded.values())}, indent=1) + "\n")


configure()
