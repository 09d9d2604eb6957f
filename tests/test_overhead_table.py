"""The table of what operations on few elements cost has every public function that launches kernels."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import rocmkern as rk
from tests import hip_double

# Views, questions of dtypes and shapes, and what has another spelling in the table.
LEFT_OUT = {
    "__array_namespace_info__", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "empty",
    "empty_cache", "empty_like", "expand_dims", "explain_tuned", "finfo", "flip", "get_item", "iinfo", "isdtype",
    "jit_kernels", "linalg.diagonal", "linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot",
    "matrix_transpose", "memory_statistics", "moveaxis", "permute_dims", "ravel", "reshape", "result_type",
    "set_item", "sliding_window_view", "split", "squeeze", "swapaxes", "unstack", "use_tuned",
}  # fmt: skip


def table() -> Any:
    path = Path(__file__).parents[1] / "benchmarks" / "bench_overhead.py"
    spec = importlib.util.spec_from_file_location("bench_overhead", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_function_that_launches_has_a_row() -> None:
    """Rows begin with the function's name."""
    device = rk.Device("emulator:gfx942")
    rows = {label.split("(")[0].split(",")[0] for group in table().GROUPS for label in group(device)}
    functions = {
        f"{prefix}{name}"
        for prefix, module in (("", rk), ("linalg.", rk.linalg), ("fft.", rk.fft))
        for name in module.__all__
        if inspect.isfunction(f := getattr(module, name)) and f.__module__.startswith("rocmkern.ops")
    }
    assert functions - rows - LEFT_OUT == set()
    assert LEFT_OUT - functions == LEFT_OUT & rows == set()


def test_rows_run_on_a_device_that_does_not_compute() -> None:
    """As `--device double` times them."""
    module = table()
    with hip_double.present(1):
        for group in module.GROUPS:
            for name, call in group(rk.Device("hip:0")).items():
                if not name.startswith(module.BY_VALUE):
                    call()
