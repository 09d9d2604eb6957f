"""Where the drivers lay a kernel's arguments for a launch, during which the vendor's library copies them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct
from typing import Any

from attrs import field, frozen

from rocmkern.drivers.protocol import Dims

Geometry = tuple[int, Dims, Dims, int, int, bool]  # function, grid, block, dynamic LDS, stream, whether early


@frozen(eq=False)
class ArgumentBlock:
    """An argument block, and the five words that say where it lies: HIP's and CUDA's `extra`.

    Packing by the bindings is avoided: hip-python does not align lists as HIP does, and it costs 2 us more.
    """

    block: ctypes.Array[ctypes.c_ubyte]
    size: ctypes.c_size_t
    words: ctypes.Array[ctypes.c_void_p]

    @staticmethod
    def of(nbytes: int, pointer: int, size: int, end: int) -> ArgumentBlock:
        """A block with the codes that the vendor's library has for its parts."""
        block, length = (ctypes.c_ubyte * nbytes)(), ctypes.c_size_t(nbytes)
        words = (ctypes.c_void_p * 5)(pointer, ctypes.addressof(block), size, ctypes.addressof(length), end)
        return ArgumentBlock(block, length, words)

    @staticmethod
    def holding(arguments: bytes, pointer: int, size: int, end: int) -> ArgumentBlock:
        """One with these bytes."""
        made = ArgumentBlock.of(len(arguments), pointer, size, end)
        memoryview(made.block).cast("B")[:] = arguments
        return made

    @property
    def extra(self) -> int | None:
        """The address of the words; None of a block without arguments."""
        return ctypes.addressof(self.words) if len(self.block) else None


@frozen(eq=False)
class Launch:
    """All that the library's call is passed. One thread at a time has it, from writing the block until the call ends:
    it is taken from a list, and goes back there. List operations are atomic in CPython, so no lock is needed.
    """

    passed: tuple[Any, ...]
    arguments: ArgumentBlock
    kept: Any = None  # what else lives as long
    view: memoryview = field(init=False)  # of the block

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "view", memoryview(self.arguments.block).cast("B"))

    def addresses(self, places: Sequence[int]) -> Callable[..., None]:
        """What writes addresses to these bytes of the block."""
        row = _row(places)
        return partial(row.pack_into, self.view, places[0]) if row is not None else _scattering(self.view, places)


def with_addresses(block: bytes, places: Sequence[int]) -> Callable[[Sequence[int]], bytes]:
    """What makes the block with addresses at these bytes of it."""
    row = _row(places)
    if row is not None:
        packed, before, behind = row.pack, block[: places[0]], block[places[0] + row.size :]
        return lambda addresses: before + packed(*addresses) + behind
    order = sorted(range(len(places)), key=places.__getitem__)
    starts = [places[number] for number in order]
    ends = [start + 8 for start in starts]
    parts: list[Any] = [block[a:b] for a, b in zip([0, *ends], [*starts, len(block)], strict=True)]
    pack = Struct("=" + "Q".join(f"{len(part)}s" for part in parts)).pack
    items = [item for part in parts for item in (part, 0)][:-1]
    is_ordered = order == list(range(len(places)))

    def laid(addresses: Sequence[int]) -> bytes:
        laying = items.copy()
        laying[1::2] = addresses if is_ordered else [addresses[number] for number in order]
        return pack(*laying)

    return laid


def _row(places: Sequence[int]) -> Struct | None:
    """Addresses side by side; None where they are not."""
    row = places and list(places) == list(range(places[0], places[0] + 8 * len(places), 8))
    return Struct(f"={len(places)}Q") if row else None


def _scattering(block: memoryview, places: Sequence[int]) -> Callable[..., None]:
    words, at = block[: len(block) // 8 * 8].cast("Q"), [place // 8 for place in places]
    if len(at) == 2:  # an operand and the result, around a number: most
        first, second = at

        def pair(one: int, other: int) -> None:
            words[first] = one
            words[second] = other

        return pair

    def scatter(*addresses: int) -> None:
        for number, place in enumerate(at):  # zip with its check takes longer than all the rest
            words[place] = addresses[number]

    return scatter
