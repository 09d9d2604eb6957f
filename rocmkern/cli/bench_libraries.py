"""What `rocmkern bench` times: the operations, and each library's form of them with the clock that fits it."""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from attrs import field, frozen

from rocmkern.emulator.program import settle

if TYPE_CHECKING:
    import rocmkern as rk

Call = Callable[[], Any]
Clock = Callable[[Call, float], float]  # (call, seconds to spend) → seconds a call
Unit = Literal["GB/s", "GFLOP/s"]
_BATCH_SECONDS: Final = 1e-3  # between two events, so that the host keeps ahead of the device
_LEAST, _MOST = 3, 50  # timings of one operation
_PLACES: Final = 64  # between which it interpolates
_WARM: Final = 12  # budgets, at most, until the emulator has compiled an operation's kernels


@frozen
class Operation:
    """One operation, and what a call moves (bytes, each read or written once) or computes (operations)."""

    family: str
    name: str
    work: float
    unit: Unit = "GB/s"


@frozen
class Library:
    """A library's calls by the name of the operation, and how they are timed."""

    name: str
    calls: dict[str, Call]
    seconds: Clock


@frozen
class Data:
    """The operands on the host: about `n` float32 elements in a row and in a square matrix."""

    n: int
    product_side: int
    flat: np.ndarray[Any, Any] = field(init=False)
    square: np.ndarray[Any, Any] = field(init=False)
    factor: np.ndarray[Any, Any] = field(init=False)
    ids: np.ndarray[Any, Any] = field(init=False)

    def __attrs_post_init__(self) -> None:
        rng, side = np.random.default_rng(0), max(32, int(self.n**0.5) // 32 * 32)
        for name, value in (
            ("flat", rng.standard_normal(self.n, dtype=np.float32)),
            ("square", rng.standard_normal((side, side), dtype=np.float32)),
            ("factor", rng.standard_normal((self.product_side, self.product_side), dtype=np.float32)),
            ("ids", rng.integers(0, side, side)),
        ):
            object.__setattr__(self, name, value)

    @property
    def eigen_side(self) -> int:
        """Of the matrix whose eigenvalues are found, which one workgroup does."""
        return min(self.product_side, 256)

    def operations(self) -> tuple[Operation, ...]:
        """At least one of every kernel family."""
        row, grid = 4.0 * self.n, 4.0 * self.square.size
        return (
            Operation("affine", "2x + 1", 2 * row),
            Operation("fill", "full", row),
            Operation("binary", "x + x", 3 * row),
            Operation("unary", "exp", 2 * row),
            Operation("special", "numbers for NaN", 2 * row),
            Operation("complex", "z × z", 6 * grid),
            Operation("fft", "fft of rows", 4 * grid),
            Operation("ternary", "where", 3 * row + self.n),
            Operation("cast", "f32 to f16", 1.5 * row),
            Operation("indexing", "take rows", 2 * grid),
            Operation("fused", "lower triangle", 2 * grid),
            Operation("reduce", "sum of rows", grid),
            Operation("reduce", "softmax", 2 * grid),
            Operation("sort", "argsort of rows", 3 * grid),
            Operation("array", "write every other column", grid),
            Operation("matmul", "matrix product", 2.0 * self.product_side**3, "GFLOP/s"),
            Operation("linalg", "inverse", 2.0 * self.product_side**3, "GFLOP/s"),
            Operation("small", "inverse of 8 × 8", 2.0 * 8**3, "GFLOP/s"),
            Operation("eigen", "eigenvalues", 4 / 3 * self.eigen_side**3, "GFLOP/s"),
            Operation("random", "normal numbers", row),
            Operation("statistics", "variance past NaN", row),
            Operation("series", "interpolation", 2 * row),
            Operation("conv", "3 × 3", 18.0 * self.square.size, "GFLOP/s"),
            Operation("quantized", "q8_0 mat-vec, others f32", 2.0 * self.square.size, "GFLOP/s"),
        )


def ours(device: rk.Device, data: Data) -> Library:
    """This library: events on a GPU, the host's clock on the emulator."""
    import rocmkern as rk

    x, s, m, ids = (rk.asarray(a, device=device) for a in (data.flat, data.square, data.factor, data.ids))
    mask, half, target = x > 0, s[:, ::2], rk.empty_like(s)
    image, kernel = s[None, None], rk.ones((1, 1, 3, 3), device=device)
    z = rk.asarray(data.square.astype(np.complex64), device=device)
    far = m + m.T + rk.eye(len(data.factor), device=device) * 100.0  # from being singular
    few = far[: data.eigen_side, : data.eigen_side]
    random = rk.random.default_rng(0, device=device)
    weight, vector = rk.quantize(s, "q8_0"), rk.ones((s.shape[1],), device=device)
    places = rk.linspace(-3, 3, _PLACES, device=device)
    calls: dict[str, Call] = {
        "2x + 1": lambda: x * 2.0 + 1.0,
        "full": lambda: rk.full((data.n,), 2.0, device=device),
        "x + x": lambda: x + x,
        "exp": lambda: rk.exp(x),
        "numbers for NaN": lambda: rk.nan_to_num(x),
        "z × z": lambda: z * z,
        "fft of rows": lambda: rk.fft.fft(z),
        "where": lambda: rk.where(mask, x, x),
        "f32 to f16": lambda: x.astype(rk.float16),
        "take rows": lambda: rk.take(s, ids, axis=0),
        "lower triangle": lambda: rk.tril(s),
        "sum of rows": lambda: rk.sum(s, axis=1),
        "softmax": lambda: rk.softmax(s),
        "argsort of rows": lambda: rk.argsort(s),
        "write every other column": lambda: rk.set_item(target, (slice(None), slice(None, None, 2)), half),
        "matrix product": lambda: m @ m,
        "inverse": lambda: rk.linalg.inv(far),
        "inverse of 8 × 8": lambda: rk.linalg.inv(far[:8, :8]),
        "eigenvalues": lambda: rk.linalg.eigvalsh(few),
        "normal numbers": lambda: random.standard_normal(data.n),
        "variance past NaN": lambda: rk.nanvar(x),
        "interpolation": lambda: rk.interp(x, places, places),
        "3 × 3": lambda: rk.conv2d(image, kernel),
        "q8_0 mat-vec, others f32": lambda: weight.matmul(vector),
    }
    if device.info.unified:
        return Library("rocmkern", calls, _by_host_once_compiled)
    return Library("rocmkern", calls, _by_events(lambda: device.create_event().record(), _our_seconds))


def peers(device: rk.Device, data: Data) -> list[Library]:
    """NumPy, and what is installed of PyTorch and CuPy, on the same device: on the CPU beside the emulator."""
    found = [Library("numpy", _array_calls(np, data), _by_host)]
    if importlib.util.find_spec("torch") is not None:
        found += _torch(device, data)
    if importlib.util.find_spec("cupy") is not None and not device.info.unified:
        found += _cupy(device, data)
    return found


def _array_calls(xp: Any, data: Data) -> dict[str, Call]:
    """NumPy's forms, which CuPy shares."""
    x, s, m, ids = (xp.asarray(a) for a in (data.flat, data.square, data.factor, data.ids))
    mask, half, target = x > 0, s[:, ::2], xp.empty_like(s)
    windows, kernel = xp.lib.stride_tricks.sliding_window_view(s, (3, 3)), xp.ones((3, 3), xp.float32)
    vector, z = xp.ones(s.shape[1], xp.float32), s.astype(xp.complex64)
    far = m + m.T + xp.eye(len(m), dtype=xp.float32) * 100
    few = far[: data.eigen_side, : data.eigen_side]
    random, places = xp.random.default_rng(0), xp.linspace(-3, 3, _PLACES, dtype=xp.float32)

    def softmax() -> Any:
        e = xp.exp(s - s.max(-1, keepdims=True))
        return e / e.sum(-1, keepdims=True)

    def write() -> None:
        target[:, ::2] = half

    return {
        "2x + 1": lambda: x * 2 + 1,
        "full": lambda: xp.full(data.n, 2.0, xp.float32),
        "x + x": lambda: x + x,
        "exp": lambda: xp.exp(x),
        "numbers for NaN": lambda: xp.nan_to_num(x),
        "z × z": lambda: z * z,
        "fft of rows": lambda: xp.fft.fft(z),
        "where": lambda: xp.where(mask, x, x),
        "f32 to f16": lambda: x.astype(xp.float16),
        "take rows": lambda: s[ids],
        "lower triangle": lambda: xp.tril(s),
        "sum of rows": lambda: s.sum(1),
        "softmax": softmax,
        "argsort of rows": lambda: s.argsort(1),
        "write every other column": write,
        "matrix product": lambda: m @ m,
        "inverse": lambda: xp.linalg.inv(far),
        "inverse of 8 × 8": lambda: xp.linalg.inv(far[:8, :8]),
        "eigenvalues": lambda: xp.linalg.eigvalsh(few),
        "normal numbers": lambda: random.standard_normal(data.n, dtype=xp.float32),
        "variance past NaN": lambda: xp.nanvar(x),
        "interpolation": lambda: xp.interp(x, places, places),
        "3 × 3": lambda: xp.einsum("ijkl,kl->ij", windows, kernel),
        "q8_0 mat-vec, others f32": lambda: s @ vector,
    }


def _torch(device: rk.Device, data: Data) -> list[Library]:
    import torch

    kind, _, ordinal = device.info.name.partition(":")
    is_gpu = not device.info.unified
    if is_gpu and not (torch.cuda.is_available() and (kind == "hip") == (torch.version.hip is not None)):
        return []
    torch.backends.cudnn.allow_tf32 = False  # the others multiply in float32
    on = torch.device(f"cuda:{ordinal}" if is_gpu else "cpu")
    x, s, m, ids = (torch.from_numpy(a).to(on) for a in (data.flat, data.square, data.factor, data.ids))
    mask, half, target = x > 0, s[:, ::2], torch.empty_like(s)
    image, kernel = s[None, None], torch.ones((1, 1, 3, 3), device=on)
    vector, z = torch.ones(s.shape[1], device=on), s.to(torch.complex64)
    far = m + m.T + torch.eye(len(m), device=on) * 100
    few = far[: data.eigen_side, : data.eigen_side]

    places = torch.linspace(-3, 3, _PLACES, device=on)

    def variance() -> Any:
        mean = torch.nanmean(x)
        return torch.nanmean((x - mean) ** 2)

    def between() -> Any:
        at = torch.searchsorted(places, x, right=True).clamp(1, _PLACES - 1)
        low, high = places[at - 1], places[at]
        return torch.lerp(low, high, ((x - low) / (high - low)).clamp(0, 1))

    def mark() -> Any:
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(on))
        return event

    def elapsed(start: Any, stop: Any) -> float:
        stop.synchronize()
        return float(start.elapsed_time(stop)) / 1e3

    calls: dict[str, Call] = {
        "2x + 1": lambda: x * 2 + 1,
        "full": lambda: torch.full((data.n,), 2.0, device=on),
        "x + x": lambda: x + x,
        "exp": lambda: torch.exp(x),
        "numbers for NaN": lambda: torch.nan_to_num(x),
        "z × z": lambda: z * z,
        "fft of rows": lambda: torch.fft.fft(z),
        "where": lambda: torch.where(mask, x, x),
        "f32 to f16": lambda: x.half(),
        "take rows": lambda: s.index_select(0, ids),
        "lower triangle": lambda: torch.tril(s),
        "sum of rows": lambda: s.sum(1),
        "softmax": lambda: s.softmax(-1),
        "argsort of rows": lambda: s.argsort(1),
        "write every other column": lambda: target[:, ::2].copy_(half),
        "matrix product": lambda: m @ m,
        "inverse": lambda: torch.linalg.inv(far),
        "inverse of 8 × 8": lambda: torch.linalg.inv(far[:8, :8]),
        "eigenvalues": lambda: torch.linalg.eigvalsh(few),
        "normal numbers": lambda: torch.randn(data.n, device=on),
        "variance past NaN": variance,
        "interpolation": between,
        "3 × 3": lambda: torch.nn.functional.conv2d(image, kernel),
        "q8_0 mat-vec, others f32": lambda: s @ vector,
    }
    return [Library("torch", calls, _by_events(mark, elapsed) if is_gpu else _by_host)]


def _cupy(device: rk.Device, data: Data) -> list[Library]:
    cupy: Any = importlib.import_module("cupy")  # no stubs, and rarely there
    kind, _, ordinal = device.info.name.partition(":")
    if not cupy.is_available() or (kind == "hip") != bool(cupy.cuda.runtime.is_hip):
        return []
    cupy.cuda.Device(int(ordinal)).use()

    def mark() -> Any:
        event = cupy.cuda.Event()
        event.record()
        return event

    def elapsed(start: Any, stop: Any) -> float:
        stop.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, stop)) / 1e3

    return [Library("cupy", _array_calls(cupy, data), _by_events(mark, elapsed))]


def _our_seconds(start: rk.Event, stop: rk.Event) -> float:
    stop.synchronize()
    return (stop - start) / 1e3


def _by_host(call: Call, budget: float) -> float:
    """The median time of calls that are done on return, after one to warm up."""
    _seconds(call)
    return _median(lambda: _seconds(call), budget)


def _by_host_once_compiled(call: Call, budget: float) -> float:
    """The same on the emulator, which compiles what runs often: called until that made it twice as fast."""
    _seconds(call)
    slow, end = _seconds(call), time.perf_counter() + _WARM * budget
    while time.perf_counter() < end and _seconds(call) > slow / 2:
        pass
    settle()
    return _by_host(call, budget)


def _seconds(call: Call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _by_events(mark: Call, elapsed: Callable[[Any, Any], float]) -> Clock:
    """A clock that divides the time between two events by the calls between them, so many that they take 1 ms."""

    def batch(call: Call, calls: int) -> float:
        start = mark()
        for _ in range(calls):
            call()
        return elapsed(start, mark()) / calls

    def seconds(call: Call, budget: float) -> float:
        batch(call, 2)
        calls = max(1, min(100, int(_BATCH_SECONDS / batch(call, 1))))
        return _median(lambda: batch(call, calls), budget)

    return seconds


def _median(sample: Callable[[], float], budget: float) -> float:
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < _LEAST or (time.perf_counter() < end and len(times) < _MOST):
        times.append(sample())
    return statistics.median(times)
