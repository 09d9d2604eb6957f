"""NumPy's functions of tensors: ours of the same name on the device, else NumPy's on the host, as a warning tells."""

from __future__ import annotations

import inspect
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

import rocmkern
from rocmkern.errors import ArgumentError, DTypeError

if TYPE_CHECKING:
    from rocmkern.tensor import Tensor

Fallback = Literal["warn", "raise", "allow"]


class HostFallback(UserWarning):
    """A function of NumPy's took tensors to the host, as none of ours does what was asked."""


class _Chosen(threading.local):
    mode: Fallback = "warn"


_chosen: Final = _Chosen()
_told: Final[set[str]] = set()


class numpy_fallback:  # noqa: N801 - it reads as a function and is used in `with`
    """What becomes of NumPy's functions that have none of ours, in this thread from here on, or within `with`: "warn"
    once of each, "raise" DTypeError, or "allow" them to run on the host.
    """

    def __init__(self, mode: Fallback) -> None:
        if mode not in get_args(Fallback):
            raise ArgumentError(f"numpy_fallback: mode {mode!r}; use one of {', '.join(get_args(Fallback))}")
        self._before, _chosen.mode = _chosen.mode, mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _chosen.mode = self._before


_MODULES: Final[Mapping[str, str]] = {"numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft"}
_REDUCTIONS: Final = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_SCANS: Final = {"add": "cumsum", "multiply": "cumprod"}
# Functions whose place is the host: they write text or files, or ask for a kind.
_OF_THE_HOST: Final = frozenset(
    ("array_repr", "array_str", "array2string", "savetxt", "savez_compressed", "min_scalar_type", "iscomplexobj",
     "isrealobj", "isscalar")
)  # fmt: skip
# Functions that change an argument, by the name that it has.
_FILLS: Final[Mapping[str, str]] = {"copyto": "dst", "put": "a", "place": "arr", "putmask": "a"}
# Of these an array is a shape, a width or an axis, which ours take as it is.
_TAKE_NUMBERS: Final = frozenset(("reshape", "broadcast_to", "tile", "pad", "roll", "split", "array_split", "moveaxis"))
_QUESTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "shape": lambda x: x.shape,
    "ndim": lambda x: x.ndim,
    "size": lambda x, axis=None: x.size if axis is None else x.shape[axis],
    "round": lambda x, decimals=0, out=None: x.round(decimals, out),
    "sort": lambda x, axis=-1: _sorted("sort", x, axis),
    "argsort": lambda x, axis=-1: _sorted("argsort", x, axis),
    "take": lambda x, indices, axis=None: x.take(indices, axis),
    "copy": lambda x: x.copy(),
    **{
        f"{name}_like": lambda x, dtype=None, order="K", subok=True, shape=None, name=name: _like(name, x, dtype, shape)
        for name in ("empty", "zeros", "ones")
    },
    "full_like": lambda x, fill_value, dtype=None, order="K", subok=True, shape=None: _like(
        "full", x, dtype, shape, fill_value
    ),
    "broadcast_arrays": lambda *arrays: _broadcast(arrays),
    "result_type": lambda *given: np.result_type(*(_as_numpy_dtype(g) for g in given)),
    "can_cast": lambda given, to, **options: np.can_cast(_as_numpy_dtype(given), to, **options),
    "may_share_memory": lambda a, b, **options: np.may_share_memory(_as_it_lies(a), _as_it_lies(b), **options),
    "shares_memory": lambda a, b, **options: np.shares_memory(_as_it_lies(a), _as_it_lies(b), **options),
}


def _broadcast(arrays: tuple[Any, ...]) -> Any:
    """Tensors beside arrays and nested lists, on the device; on the host beside what holds no numbers."""
    x = next(a for a in arrays if isinstance(a, rocmkern.Tensor))
    held = [a if isinstance(a, rocmkern.Tensor) else np.asarray(a) for a in arrays]
    if any(isinstance(a, np.ndarray) and a.dtype.kind not in "biufc" for a in held):
        return np.broadcast_arrays(*(np.asarray(a) for a in held))
    return rocmkern.broadcast_arrays(*(rocmkern.asarray(a, device=x.device) for a in held))


def _like(name: str, x: Tensor, dtype: Any, shape: Any, *fill_value: Any) -> Tensor:
    """A new tensor on the device of another, with its shape and dtype where none is given."""
    made: Tensor = getattr(rocmkern, name)(
        x.shape if shape is None else shape,
        *fill_value,
        dtype=x.dtype if dtype is None else rocmkern.dtype(dtype),
        device=x.device,
    )
    return made


def _sorted(name: str, x: Tensor, axis: int | None) -> Any:
    return getattr(rocmkern, name)(x.ravel() if axis is None else x, axis=-1 if axis is None else axis)


def _as_numpy_dtype(given: Any) -> Any:
    return given.dtype.numpy if isinstance(given, rocmkern.Tensor) else given


class _Lying:
    """A tensor's place in memory as NumPy's array interface has it, for questions that read no element."""

    def __init__(self, x: Tensor) -> None:
        size = x.dtype.itemsize
        self.__array_interface__ = {
            "shape": x.shape,
            "typestr": f"|V{size}",
            "data": (x.address, False),
            "strides": tuple(s * size for s in x.strides),
            "version": 3,
        }


def _as_it_lies(given: Any) -> Any:
    if not isinstance(given, rocmkern.Tensor):
        return given
    return np.asarray(_Lying(given)) if given.size else np.empty(0)


def array_ufunc(x: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's `__array_ufunc__`: arrays among the operands are copied to the device."""
    name, given = ufunc.__name__, dict(options)
    out = given.pop("out", None)
    dtype = given.pop("dtype", None) if method == "__call__" else None
    function = _of_ufunc(name, method)
    if function is None or (out is not None and len(out) > 1) or not _takes(function, inputs, given):
        return _on_host(f"numpy.{name}", getattr(ufunc, method), inputs, options)
    operands = [_placed(value, x) for value in inputs]
    if dtype is not None:
        operands = [o.astype(rocmkern.dtype(dtype)) if isinstance(o, rocmkern.Tensor) else o for o in operands]
    if out is None:
        return function(*operands, **given)
    (target,) = out
    found = function(*operands, **given)
    if isinstance(target, np.ndarray):
        target[...] = found.numpy()
    else:
        target[...] = found
    return target


def _of_ufunc(name: str, method: str) -> Callable[..., Any] | None:
    if method == "__call__":
        return _ours(name)
    if method == "reduce" and name in _REDUCTIONS:
        reduce = _ours(_REDUCTIONS[name])
        return None if reduce is None else lambda x, axis=0, **options: reduce(x, axis=axis, **options)
    if method == "accumulate" and name in _SCANS:
        scan = _ours(_SCANS[name])
        return None if scan is None else lambda x, axis=0, **options: scan(x, axis=axis, **options)
    if method == "outer" and (function := _ours(name)) is not None:
        return lambda a, b: function(a.reshape(*a.shape, *[1] * b.ndim), b)
    return None


def array_function(
    x: Tensor, function: Callable[..., Any], types: Any, args: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """NumPy's `__array_function__`."""
    name, module = function.__name__, function.__module__ or ""
    if not all(issubclass(kind, rocmkern.Tensor | np.ndarray | np.generic) for kind in types):
        return NotImplemented
    if module == "numpy" and name in _QUESTIONS and _takes(_QUESTIONS[name], args, options):
        return _QUESTIONS[name](*args, **options)
    if module == "numpy" and name in _FILLS:
        return _filled(function, _FILLS[name], args, options)
    ours = _ours(name, _MODULES[module]) if module in _MODULES and name not in _OF_THE_HOST else None
    if ours is None or not _takes(ours, args, options):
        return _on_host(f"{module}.{name}", function, args, options)
    if name in _TAKE_NUMBERS:
        return ours(*args, **options)
    return ours(*(_placed(a, x) for a in args), **{key: _placed(value, x) for key, value in options.items()})


@cache
def _ours(name: str, part: str = "") -> Callable[..., Any] | None:
    """Our function of a name, in the namespace or an extension of it."""
    home = getattr(rocmkern, part) if part else rocmkern
    found = getattr(home, name, None)
    return found if name in home.__all__ and callable(found) else None


@cache
def _signature(function: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(function)


def _takes(function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Whether a function has parameters for what was given."""
    try:
        _signature(function).bind(*args, **options)
    except TypeError:
        return False
    return True


def _placed(value: Any, beside: Tensor) -> Any:
    """An array as a tensor beside another; in lists too."""
    if isinstance(value, np.ndarray):
        return rocmkern.asarray(value, device=beside.device)
    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
        return [_placed(v, beside) for v in value]
    return value


def _on_host(name: str, function: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    if name.rpartition(".")[2] not in _OF_THE_HOST:
        if _chosen.mode == "raise":
            raise DTypeError(f"{name}: none of ours takes what was given; call it with tensors' numpy()")
        if _chosen.mode == "warn" and name not in _told:
            _told.add(name)
            warnings.warn(f"{name} copies tensors to the host: none of ours does this", HostFallback, stacklevel=4)
    return function(*(_host(a) for a in args), **{key: _host(value) for key, value in options.items()})


def _filled(function: Callable[..., Any], name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
    """What a function does to an array on the host, done to a tensor in that array's place too."""
    target, *rest = args or (options[name],)
    on_host = _host(target)
    found = function(on_host, *map(_host, rest), **{key: _host(value) for key, value in options.items() if key != name})
    if isinstance(target, rocmkern.Tensor):
        target[...] = on_host
    return found


def _host(value: Any) -> Any:
    if isinstance(value, rocmkern.Tensor):
        return value.numpy()
    if isinstance(value, list | tuple):
        return type(value)([_host(v) for v in value]) if type(value) in (list, tuple) else value
    return value
