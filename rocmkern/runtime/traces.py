"""What one wave of a saved launch does, as text: each instruction with its line, and the registers that it wrote."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from attrs import frozen

from rocmkern.errors import ConfigError, RocmkernError
from rocmkern.runtime.device import Device
from rocmkern.runtime.replays import Replay

if TYPE_CHECKING:
    from rocmkern.checking.reproducer import Reproducer
    from rocmkern.emulator.isa.model import Inst
    from rocmkern.emulator.meaning.api import Row
    from rocmkern.emulator.observers.steps import Log, Step

SHOWN: Final = 4  # lanes of a vector register
LEAST, MOST = 1e-6, 1e9  # of numbers that are shown as floats too
_FORM: Final = re.compile(r"wg=(\d{1,9}),wave=(\d{1,9})(?:,lane=(\d{1,2}))?$")


@frozen
class Place:
    """A wave of a launch, or one of its lanes."""

    group: int
    wave: int
    lane: int | None = None


def place(text: str) -> Place:
    """`wg=0,wave=1` or `wg=0,wave=1,lane=5`. Raises ConfigError."""
    form = _FORM.match(text)
    if form is None:
        raise ConfigError(f"trace: {text!r} names no wave; write wg=0,wave=1 or wg=0,wave=1,lane=5")
    group, wave, lane = form.groups()
    return Place(int(group), int(wave), None if lane is None else int(lane))


def trace(saved: Reproducer, of: Place, device: Device) -> Iterator[str]:
    """Lines of text, one for each instruction; what the launch raises, if it does, at the end.

    Raises ConfigError where the launch has no such wave or lane, or the device is no emulated one.
    """
    from rocmkern.drivers.emulator import EmulatorDriver
    from rocmkern.emulator.observers.steps import Log, Steps

    driver, wave_size = device.driver, device.info.wave_size
    if not isinstance(driver, EmulatorDriver):
        raise ConfigError(f"trace: {device.name} keeps no registers; give an emulated device")
    replay, fault = Replay(device, saved.code), None
    with driver.watched(Steps(of.group, of.wave)) as (log,):
        try:
            replay.run(saved)
        except RocmkernError as error:
            fault = error
    assert isinstance(log, Log)
    if log.start is None or (of.lane or 0) >= wave_size:
        raise ConfigError(
            f"trace: {saved.kernel} on {device.name} has no such wave or lane; the grid is {saved.grid} of blocks "
            f"{saved.block}, a wave has {wave_size} lanes"
        )
    yield from _lines(log, of, log.start.kernel.wave_size)
    if log.lost:
        yield f"… {log.lost:,} more instructions"
    if fault is not None:
        raise fault


def _lines(log: Log, of: Place, wave_size: int) -> Iterator[str]:
    from rocmkern.codeobject.lines import Lines
    from rocmkern.emulator.isa.text import instruction_text

    start = log.start
    assert start is not None
    lines, isa = Lines.of(start.code.image), start.text.isa
    before, everything = "", (1 << wave_size) - 1
    for step, row, inst in log.steps():
        source = lines.source(start.kernel.entry_address + step.place - start.first)
        if source and source != before:
            yield f"; {source}"
        before = source or before
        lanes = "" if step.lanes == everything else f"  [lanes {step.lanes:#x}]"
        yield f"  {step.place - start.first:#06x}  {instruction_text(isa, inst)}{lanes}"
        for name, value in _written(isa, step, row, inst, wave_size, of.lane):
            yield f"            {name} = {value}"


def _written(isa: str, step: Step, row: Row, inst: Inst, wave_size: int, lane: int | None) -> Iterator[tuple[str, str]]:
    """Names and values of what an instruction wrote; of vector registers only where a lane that is followed is on."""
    from attrs import evolve

    from rocmkern.emulator.isa.text import register_text
    from rocmkern.emulator.observers.steps import written
    from rocmkern.emulator.wave import extent

    values = iter(step.values)
    lanes = [n for n in range(wave_size) if step.lanes >> n & 1 and lane in (None, n)]
    for operand in inst.dst:
        if not extent(operand, wave_size):
            continue
        words = _words(next(values, b""))
        if operand.kind == "s":
            yield register_text(isa, operand), _number(words[: operand.count])
            continue
        for register in range(operand.count if lanes else 0):
            shown = [_number((words[register * wave_size + n],)) for n in lanes]
            yield register_text(isa, evolve(operand, value=operand.value + register, count=1)), _together(shown)
    for name, _ in written(row, inst):
        words = _words(next(values, b""))
        if words:
            yield name, _number(words)


def _words(value: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(value) // 4}I", value)


def _together(values: Sequence[str]) -> str:
    """The values of lanes, once where they are the same."""
    if len(values) > 1 and len(set(values)) == 1:
        return f"{values[0]} in all {len(values)} lanes"
    more = f" … {len(values)} lanes" if len(values) > SHOWN else ""
    return "  ".join(values[:SHOWN]) + more


def _number(words: Sequence[int]) -> str:
    number = sum(word << 32 * i for i, word in enumerate(words))
    if len(words) == 1:
        (as_float,) = struct.unpack("<f", struct.pack("<I", number))
        if LEAST < abs(as_float) < MOST:
            return f"{number:#x} ({as_float:.6g})"
    return f"{number:#x}" if number > 9 else str(number)
