"""The table of what operations on few elements cost has every public function that launches kernels."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rocmkern as rk
from tests import hip_double

# Views, questions of dtypes and shapes, and what has another spelling in the table.
LEFT_OUT = {
    "__array_namespace_info__", "broadcast_arrays", "broadcast_shapes", "broadcast_to", "can_cast", "ediff1d", "empty",
    "empty_cache", "empty_like", "expand_dims", "explain_tuned", "finfo", "flip", "get_item", "iinfo", "isdtype",
    "jit_kernels", "linalg.diagonal", "linalg.matmul", "linalg.matrix_transpose", "linalg.tensordot", "linalg.vecdot",
    "matrix_transpose", "memory_statistics", "moveaxis", "permute_dims", "ptp", "ravel", "reshape", "result_type",
    "set_item", "sliding_window_view", "split", "squeeze", "swapaxes", "unstack", "use_tuned",
}  # fmt: skip


NAMESPACES = (("", rk), ("linalg.", rk.linalg), ("fft.", rk.fft))


# NumPy's other names: each is made of functions that have rows.
COMPOSED = {
    f"rocmkern.ops.{name}"
    for name in (
        "choosing", "elementary", "files", "grids", "numpy_names", "numpy_sets", "passing_nan", "polynomials",
        "quantiles", "stacking", "windows",
    )
}  # fmt: skip


def functions(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """The public functions of a namespace that make tensors."""
    things = {name: getattr(module, name) for name in module.__all__}
    return {n: f for n, f in things.items() if inspect.isfunction(f) and f.__module__.startswith("rocmkern.ops")}


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
    public = {f"{prefix}{name}" for prefix, module in NAMESPACES for name in functions(module)}
    others = {name for name, f in functions(rk).items() if f.__module__ in COMPOSED or f.__name__ != name}
    assert public - rows - LEFT_OUT - others == set()
    assert LEFT_OUT - public == LEFT_OUT & rows == set()


Call = tuple[Callable[..., Any], inspect.BoundArguments]
WRONG = (None, object(), "nonsense", {}, 1j, 1 << 70, [None])
EXPECTED = (TypeError, ValueError, ArithmeticError, MemoryError, RuntimeError, LookupError)
OURS = (KeyError, AssertionError, NameError, NotImplementedError, RecursionError)  # what a fault of ours would raise


def noted(monkeypatch: pytest.MonkeyPatch) -> dict[str, Call]:
    """The calls that functions of the namespace get from now on, the first of each."""
    found: dict[str, Call] = {}

    def noting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if name not in found:
                found[name] = function, inspect.signature(function).bind(*args, **options)
            return function(*args, **options)

        return call

    for prefix, module in NAMESPACES:
        for name, function in functions(module).items():
            monkeypatch.setattr(module, name, noting(f"{prefix}{name}", function))
    return found


def complaint(function: Callable[..., Any], call: inspect.BoundArguments, name: str, wrong: object) -> str | None:
    """What is the matter with the error of a call with a wrong argument; None where nothing is."""
    several = call.signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
    arguments = OrderedDict(call.arguments, **{name: (wrong,) if several else wrong})
    changed = inspect.BoundArguments(call.signature, arguments)
    try:
        function(*changed.args, **changed.kwargs)
    except Exception as error:
        if not isinstance(error, EXPECTED) or isinstance(error, OURS) or not re.match(r"[\w. ,]+: ", str(error)):
            return f"{function.__name__}({name}={wrong!r}): {type(error).__name__} {error}"
    return None


def test_rows_run_on_a_device_that_does_not_compute(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `--device double` times them; and with each argument wrong in turn, each error has our words and a mistake's
    class, not that of a fault.
    """
    module, found = table(), noted(monkeypatch)
    with hip_double.present(1):
        for group in module.GROUPS:
            for name, call in group(rk.Device("hip:0")).items():
                if not name.startswith(module.BY_VALUE):
                    call()
        assert len(found) > 200
        complaints = [
            complaint(function, call, name, wrong)
            for function, call in found.values()
            for name in call.signature.parameters
            for wrong in WRONG
        ]
    assert [c for c in complaints if c is not None] == []
