"""Saves launches to files, and runs them again anywhere."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from attrs import define, field, frozen

from rocmkern.errors import BarrierDeadlock
from rocmkern.runtime.checks import check
from rocmkern.runtime.device import Device
from rocmkern.runtime.memory import DeviceMemory
from rocmkern.runtime.module import Module

if TYPE_CHECKING:
    from rocmkern.checking.findings import Finding
    from rocmkern.checking.reproducer import Block, Reproducer
    from rocmkern.checking.saving import Saver

POINTER_BYTES: Final = 8
_WORD: Final = (1 << 64) - 1


@contextmanager
def save_reproducer(path: str | PathLike[str], *, kernel: str | None = None) -> Iterator[Saver]:
    """Saves the first launch on an emulated device that does something wrong meanwhile: code object, kernel, geometry,
    arguments and the memory that they lead to, as `rocmkern replay` takes them. Of `kernel`, a name or a pattern, it
    saves the first launch whether it is wrong or not.

    Launches go on after a fault, as those that `check` looks at. Where nothing was saved, the object has `saved` None.
    Raises OSError, ReproducerError for a launch that reaches more allocations than a file holds.
    """
    from rocmkern.checking.saving import Saver
    from rocmkern.emulator.faults import collected

    saver = Saver(Path(path), kernel)
    with collected(saver):
        yield saver


@frozen
class Result:
    """What a launch did to one block of memory."""

    nbytes: int
    changed: int  # bytes that are others than before
    checksum: int  # of what it holds, addresses as zeros


@define(eq=False)
class Replay:
    """Runs saved launches of one code object on a device."""

    device: Device
    code: bytes
    _module: Module = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._module = Module.load_data(self.code, self.device, name="reproducer")

    def run(self, saved: Reproducer) -> Ran:
        """Launch it, and wait. Raises what the launch raises."""
        function = self._module.get_function(saved.kernel)
        memory = [self.device.alloc(block.nbytes) for block in saved.blocks]
        addresses = [one.address for one in memory]
        for one, block in zip(memory, saved.blocks, strict=True):
            if block.is_freed:
                one.close()
        contents = [_filled(block) for block in saved.blocks]
        arguments = bytearray(saved.arguments)
        for link in saved.links:
            word = addresses[link.target] + link.delta & _WORD
            held = arguments if link.block < 0 else contents[link.block]
            held[link.offset : link.offset + POINTER_BYTES] = word.to_bytes(POINTER_BYTES, "little")
        for one, block, content in zip(memory, saved.blocks, contents, strict=True):
            for first, count in block.written:
                one.copy_from_host(content[first : first + count], offset_bytes=first)
        function.launch_packed(bytes(arguments), grid=saved.grid, block=saved.block, shared_bytes=saved.shared_bytes)
        self.device.synchronize()
        return Ran(saved, memory, contents)


def _filled(block: Block) -> bytearray:
    content = bytearray(0 if block.is_freed else block.nbytes)
    for first, part in block.parts():
        content[first : first + len(part)] = part
    return content


@frozen
class Ran:
    """A launch that has ended."""

    saved: Reproducer
    memory: list[DeviceMemory]
    contents: list[bytearray]  # before it

    def results(self) -> list[Result]:
        return [self._result(number) for number in range(len(self.memory))]

    def _result(self, number: int) -> Result:
        block = self.saved.blocks[number]
        if block.is_freed:
            return Result(block.nbytes, 0, 0)
        after, before = self.memory[number].copy_to_host(), np.frombuffer(self.contents[number], np.uint8)
        changed = int(np.count_nonzero(after != before))
        for link in self.saved.links:
            if link.block == number:
                after[link.offset : link.offset + POINTER_BYTES] = 0
        return Result(block.nbytes, changed, zlib.crc32(after.data))


def checked_errors(replay: Replay, saved: Reproducer) -> tuple[Finding, ...]:
    """What a launch does wrong; the device has to be a checked one for all of it."""
    with check() as findings, suppress(BarrierDeadlock):
        replay.run(saved)
    return findings.errors
