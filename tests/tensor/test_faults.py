"""Wrong indices on a device that answers later: the error comes with the next wait and names its operation."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import rocmkern as rk
from rocmkern.emulator.machine import Machine
from rocmkern.engine import checks
from rocmkern.engine.operation import forget_plans
from rocmkern.errors import DriverError, KernelIndexError, KernelTimeout
from rocmkern.ops import fused
from rocmkern.runtime.deferred import DeferredChecks
from tests.hip_double import Double
from tests.tensor.arrays import opened


def notes(error: BaseException) -> str:
    """What an error tells beside its first message."""
    lines = [*getattr(error, "__notes__", ()), *str(error).split("\n", 1)[1:]]
    return "\n".join(lines)


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Iterator[rk.Device]:
    """The device of these tests, its checks answered as late as a GPU's; the kernels are the real ones."""
    monkeypatch.setattr(checks, "answers_at_once", lambda device: False)
    monkeypatch.setattr(checks, "_answers", {})
    device = rk.Device()
    yield device
    device.settle()


@pytest.mark.parametrize("few", [fused.FEW, 0])
def test_a_write_outside_its_tensor_is_not_done(late: rk.Device, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """What lies before and behind a view stays as it is, and so does the view."""
    monkeypatch.setattr(fused, "FEW", few)
    x = rk.zeros((9,), device=late)
    with pytest.raises(IndexError, match=r"index: index 4 at position 1 on axis 0 of length 3; use -3\.\.2"):
        x[3:6][rk.asarray([1, 4], device=late)] = 5.0
        late.synchronize()
    assert x.tolist() == [0.0] * 9


WAITS: dict[str, Callable[[rk.Tensor, rk.Device], Any]] = {
    "numpy": lambda t, d: t.numpy(),
    "tolist": lambda t, d: t.tolist(),
    "item": lambda t, d: t[0].item(),
    "repr": lambda t, d: repr(t),
    "synchronize": lambda t, d: d.synchronize(),
    "event": lambda t, d: d.create_event().record().synchronize(),
    "stream": lambda t, d: d.create_stream().synchronize(),
    "nonzero": lambda t, d: rk.nonzero(t),
    "copy_to_host": lambda t, d: t.memory.copy_to_host(),
}


@pytest.mark.parametrize("wait", WAITS)
def test_every_wait_raises_it_once(late: rk.Device, wait: str) -> None:
    """The error is that of the wait, names the operation, and is told once."""
    x = rk.asarray([1.0, 2.0, 3.0], device=late)
    taken = rk.take(x, rk.asarray([0, 3], device=late))
    with pytest.raises(KernelIndexError, match=r"take: index 3 at position 1 on axis 0 of length 3; use -3\.\.2"):
        WAITS[wait](x, late)
    WAITS[wait](x, late)
    assert taken.numpy().tolist() == [1.0, 0.0]


def test_one_error_tells_all(late: rk.Device) -> None:
    """That of the first check is raised, its notes tell those of the others; later ones are of the next wait."""
    x = rk.asarray([1.0, 2.0], device=late)
    good, bad, worse = (rk.asarray(i, device=late) for i in ([0, 1], [2], [-7]))
    rk.take(x, good)
    rk.one_hot(bad, 2)
    rk.take(x, worse)
    rk.linalg.inv(rk.ones((2, 2), device=late))
    with pytest.raises(IndexError, match="one_hot: index 2") as caught:
        late.synchronize()
    told = notes(caught.value)
    assert "and KernelIndexError: take: index -7" in told and "and LinAlgError: inv: the matrix" in told
    late.synchronize()
    rk.take(x, worse)
    with pytest.raises(IndexError, match="take: index -7"):
        late.synchronize()


def test_the_slots_may_be_filled_by_what_is_found(late: rk.Device) -> None:
    """Of as many checks as there is room for each is told."""
    x, bad = rk.asarray([1.0], device=late), [rk.asarray([i + 1], device=late) for i in range(256)]
    late.synchronize()
    for ids in bad:
        rk.take(x, ids)
    with pytest.raises(IndexError, match="take: index 1 ") as caught:
        late.synchronize()
    assert all(f"take: index {i + 1} " in notes(caught.value) for i in range(1, 256))


@pytest.mark.parametrize("failing", ["copy_to_host", "fill"])
def test_checks_outlast_a_driver_that_fails(late: rk.Device, monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    """Where their answers can't be read, or cleared, the next wait tells them."""
    x, bad = rk.asarray([1.0], device=late), rk.asarray([3], device=late)
    late.synchronize()
    rk.take(x, bad)

    def fails(*arguments: object) -> None:
        raise DriverError(f"{failing}: it failed")

    with monkeypatch.context() as patch:
        patch.setattr(type(late.driver), failing, fails)
        for _ in range(2):
            with pytest.raises(DriverError, match="it failed"):
                late.synchronize()
    with pytest.raises(IndexError, match="take: index 3"):
        late.synchronize()
    late.synchronize()


@pytest.mark.parametrize("is_closed", [False, True])
def test_checks_outlast_the_memory(late: rk.Device, is_closed: bool) -> None:
    """Of all that the launch read and wrote, on a stream too: freeing it, closed or collected, takes no error away."""
    x, bad, stream = rk.asarray([1.0], device=late), rk.asarray([3], device=late), late.create_stream()
    taken = rk.take(x, bad)
    held = [t.memory for t in (x, bad, taken)]
    for memory in held:
        memory.used_on(stream)
    if is_closed:
        for memory in held:
            memory.close()
        stream.close()
    del x, bad, taken, held, memory, stream
    gc.collect()
    for _ in range(8):
        late.alloc(512)
    late.trim()
    with pytest.raises(IndexError, match="take: index 3"):
        late.synchronize()


def test_a_launch_that_fails_tells_what_its_checks_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the emulator, whose answers are there at once: the error of the launch has them as notes."""
    device = opened("emulator:gfx942")
    x, bad = rk.asarray([1.0], device=device), rk.asarray([3], device=device)
    launch = Machine._begin

    def fails(*arguments: Any) -> None:
        launch(*arguments)
        raise KernelTimeout("launch: it took too long")

    with monkeypatch.context() as patch:
        patch.setattr(Machine, "_begin", fails)
        with pytest.raises(KernelTimeout, match="it took too long") as caught:
            rk.take(x, bad)
    assert "and KernelIndexError: take: index 3" in notes(caught.value)
    rk.take(x, rk.asarray([0], device=device))


def test_nothing_is_written_in_between(late: rk.Device) -> None:
    """Writes and sums skip the index that leads nowhere."""
    x, bad = rk.zeros((3,), device=late), rk.asarray([1, 3], device=late)
    copied = rk.index_copy(x, bad, rk.full((2,), 5.0, device=late))
    added = rk.index_add(copied, bad, rk.ones((2,), device=late))
    with pytest.raises(IndexError, match="index_copy: index 3"):
        late.synchronize()
    assert copied.tolist() == [0.0, 5.0, 0.0] and added.tolist() == [0.0, 6.0, 0.0]


@pytest.mark.parametrize("few", [fused.FEW, 0])
def test_zeros_are_read_in_between(late: rk.Device, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    """An index that leads nowhere reads zeros, also from an axis without elements; the others read what they name."""
    monkeypatch.setattr(fused, "FEW", few)
    x, bad = rk.asarray([[1.0, 2.0], [3.0, 4.0]], device=late), rk.asarray([[1, -3], [2, -1]], device=late)
    forget_plans()
    reads: list[tuple[Callable[[], rk.Tensor], list[list[float]]]] = [
        (lambda: rk.take(x, bad[1], axis=1), [[0.0, 2.0], [0.0, 4.0]]),
        (lambda: rk.take_along_axis(x, bad, axis=1), [[2.0, 0.0], [0.0, 4.0]]),
        (lambda: rk.take(x[:0], bad[0], axis=0), [[0.0, 0.0], [0.0, 0.0]]),
    ]
    for read, expected in reads:
        found = read()
        with pytest.raises(IndexError, match="at position"):
            late.synchronize()
        assert found.tolist() == expected


def test_more_checks_than_slots(late: rk.Device) -> None:
    """The check that finds no room waits for those before it."""
    x, good, bad = rk.asarray([1.0], device=late), rk.asarray([0], device=late), rk.asarray([1], device=late)
    late.synchronize()
    rk.take(x, bad)
    for _ in range(255):
        rk.take(x, good)
    with pytest.raises(IndexError, match="take: index 1"):
        rk.take(x, good)
    for _ in range(600):
        rk.take(x, good)
    late.synchronize()


def test_checks_of_one_launch_keep_their_slots(late: rk.Device) -> None:
    """No wait comes between them, even where one slot is left for the first of two; later checks are told nothing."""
    x, row = rk.asarray([[1.0, 2.0]], device=late), rk.asarray([0], device=late)
    bad, column = rk.asarray([1], device=late), rk.asarray([1], device=late)
    late.synchronize()
    for _ in range(255):
        rk.take(x, row, axis=0)
    x[bad, column]
    answers = checks.answers_of(late)
    assert len(answers._checks) == 2  # those before were waited for
    with pytest.raises(IndexError, match="index: index 1 at position 0 on axis 0 of length 1"):
        late.synchronize()
    for _ in range(260):
        rk.take(x, row, axis=0)
    late.synchronize()


def test_threads_share_the_slots(late: rk.Device) -> None:
    """Of several threads that take and wait, the wrong ones' indices are raised in some of them, and none else."""
    x, good, bad = rk.asarray([1.0], device=late), rk.asarray([0], device=late), rk.asarray([1], device=late)
    raised: list[str] = []

    def once(ids: rk.Tensor) -> None:
        try:
            rk.take(x, ids)
            late.synchronize()
        except IndexError as error:
            raised.append(str(error))

    def work(ids: rk.Tensor) -> None:
        for _ in range(20):
            once(ids)

    threads = [threading.Thread(target=work, args=(ids,)) for ids in (bad, good, good)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(raised) <= 20 and all("take: index 1" in words for words in raised)


def test_the_emulator_answers_at_once() -> None:
    """There the operation itself raises."""
    device = opened("emulator:gfx942")
    with pytest.raises(IndexError, match="take: index 2"):
        rk.take(rk.asarray([1.0], device=device), rk.asarray([2], device=device))


def test_hip_is_not_waited_for(double: Double) -> None:
    """A take on HIP copies nothing to the host; what the kernel answers is raised by numpy()."""
    device = rk.Device("hip:0")
    x, ids = rk.asarray([1.0, 2.0], device=device), rk.asarray([0, 1], device=device)
    rk.take(x, ids)
    double.reset()
    taken = rk.take(x, ids)
    assert not double.log("hipMemcpy") and not double.log("hipDeviceSynchronize")
    answers = checks._answers[device.driver]
    ctypes.memmove(answers.memory.address + 32, np.array([1, 9, 0, 0], np.uint64).tobytes(), 32)
    with pytest.raises(IndexError, match="take: index 9 at position 1"):
        taken.numpy()
    assert taken.numpy().shape == (2,)


def test_checks_are_run_in_order_by_every_wait() -> None:
    """settle() runs all that were added: the first error is raised and tells the others."""
    done: list[str] = []

    def fails(name: str) -> None:
        done.append(name)
        raise IndexError(name)

    checks = DeferredChecks()
    for check in (partial(fails, "first"), partial(done.append, "works"), partial(fails, "second")):
        checks.add(check)
    for _ in range(2):
        with pytest.raises(IndexError, match="first") as caught:
            checks.settle()
        assert notes(caught.value) == "and IndexError: second"
    assert done == ["first", "works", "second"] * 2
