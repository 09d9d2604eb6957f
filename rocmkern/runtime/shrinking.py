"""Makes a saved launch small: fewer workgroups and threads, less memory, smaller numbers, and the same fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from attrs import define, evolve, field

from rocmkern.errors import ArgumentError, LaunchError
from rocmkern.runtime.device import Device
from rocmkern.runtime.replays import POINTER_BYTES, Replay, checked_errors

if TYPE_CHECKING:
    from rocmkern.checking.findings import Finding
    from rocmkern.checking.reproducer import Block, Dims, Reproducer

MOST_LAUNCHES: Final = 400
WORD_BYTES: Final = 4
_DISTANCE: Final = re.compile(r"it is (\d+ bytes (?:past|before))")
_Key = tuple[str, int, int | None, str]


def shrink(saved: Reproducer, device: Device) -> Reproducer:
    """The smallest launch found that has the first fault of this one and no other; itself where it has none.

    `device` has to be a checked one. A fault is the same with its kind, its instruction, that which it races with, and
    how far behind an allocation it lies.
    """
    return _Shrinker(Replay(device, saved.code), saved).smallest()


def _keys(errors: tuple[Finding, ...]) -> list[_Key]:
    found = list[_Key]()
    for one in errors:
        place = _DISTANCE.search(one.access.place) if one.access is not None else None
        found.append((one.kind, one.at.pc, None if one.after is None else one.after.pc, place[1] if place else ""))
    return found


@define(eq=False)
class _Shrinker:
    replay: Replay
    best: Reproducer
    _left: int = MOST_LAUNCHES
    _known: list[_Key] = field(init=False)  # faults of the whole launch

    def __attrs_post_init__(self) -> None:
        self._known = self._faults(self.best)

    def smallest(self) -> Reproducer:
        goes_on = bool(self._known)
        while goes_on:
            goes_on = False
            for candidate in _smaller(self.best):
                if self._left and self._fails(candidate):
                    self.best, goes_on = candidate, True
                    break
        return self.best

    def _faults(self, saved: Reproducer) -> list[_Key]:
        self._left -= 1
        return _keys(checked_errors(self.replay, saved))

    def _fails(self, candidate: Reproducer) -> bool:
        try:
            found = self._faults(candidate)
        except (LaunchError, ArgumentError):  # of a geometry that the kernel does not take
            return False
        return self._known[0] in found and set(found) <= set(self._known)


def _less(number: int, least: int = 1) -> Iterator[int]:
    """Numbers to try instead, the smallest first."""
    yield from sorted({least, number // 2, number * 3 // 4, number - 1} & set(range(least, number)))


def _axes(dims: Dims) -> Iterator[Dims]:
    x, y, z = dims
    yield from ((n, y, z) for n in _less(x))
    yield from ((x, n, z) for n in _less(y))
    yield from ((x, y, n) for n in _less(z))


def _smaller(saved: Reproducer) -> Iterator[Reproducer]:
    """Launches that are smaller in one respect."""
    yield from (evolve(saved, grid=grid) for grid in _axes(saved.grid))
    yield from _scaled(saved)
    yield from (evolve(saved, block=block) for block in _axes(saved.block))
    yield from (evolve(saved, shared_bytes=n) for n in _less(saved.shared_bytes, 0))
    for number, block in enumerate(saved.blocks):
        yield from (_cut(saved, {number: n}) for n in _less(block.nbytes))


def _scaled(saved: Reproducer) -> Iterator[Reproducer]:
    """A number among the arguments made smaller, and with it the blocks that have a multiple of it in bytes."""
    addresses = {
        place
        for link in saved.links
        if link.block < 0
        for place in range(link.offset, link.offset + POINTER_BYTES, WORD_BYTES)
    }
    for place in range(0, len(saved.arguments) - WORD_BYTES + 1, WORD_BYTES):
        count = int.from_bytes(saved.arguments[place : place + WORD_BYTES], "little")
        if place in addresses or not 1 < count <= max((b.nbytes for b in saved.blocks), default=0):
            continue
        for fewer in _less(count):
            arguments = bytearray(saved.arguments)
            arguments[place : place + WORD_BYTES] = fewer.to_bytes(WORD_BYTES, "little")
            sizes = {
                number: block.nbytes // count * fewer
                for number, block in enumerate(saved.blocks)
                if block.nbytes % count == 0 and block.nbytes
            }
            yield _cut(evolve(saved, arguments=bytes(arguments)), sizes)


def _cut(saved: Reproducer, sizes: dict[int, int]) -> Reproducer:
    """The launch with less of some blocks."""
    blocks = tuple(_first(block, sizes.get(number, block.nbytes)) for number, block in enumerate(saved.blocks))
    links = tuple(k for k in saved.links if k.block < 0 or k.offset + POINTER_BYTES <= blocks[k.block].nbytes)
    return evolve(saved, blocks=blocks, links=links)


def _first(block: Block, nbytes: int) -> Block:
    parts = [(first, data[: nbytes - first]) for first, data in block.parts() if first < nbytes]
    return evolve(
        block, nbytes=nbytes, written=tuple((first, len(data)) for first, data in parts),
        data=b"".join(data for _, data in parts),
    )  # fmt: skip
