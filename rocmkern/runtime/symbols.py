"""Memory that is not there yet: what a plan is made with.

An operation is planned by running its Python on tensors whose memory is a `Symbol`. Symbols have addresses that no
device has, far apart, so that arguments are packed as for a launch, and each pointer among them tells whose memory it
leads to and how far into it.
"""

from __future__ import annotations

from typing import Final

from attrs import define, field

FIRST: Final = 1 << 62  # addresses from here on are symbols'; user space ends far below
_ROOM_BITS: Final = 46  # of addresses each symbol has around its own
_ROOM: Final = (1 << _ROOM_BITS) - 1
MOST_BYTES: Final = 1 << (_ROOM_BITS - 1)  # on either side, as views may run backwards
MOST: Final = 1 << (62 - _ROOM_BITS)

Place = tuple[int, int]  # a symbol's number, bytes behind where it begins


class UnknownValues(Exception):
    """Somebody asks for values that a plan finds only as it runs."""


@define(eq=False)
class Symbol:
    """Memory of one plan: an operand's, what the plan makes, or where a check answers."""

    number: int
    nbytes: int
    live_address: int = field(init=False)  # where it begins, as far as the plan is concerned

    def __attrs_post_init__(self) -> None:
        self.live_address = FIRST + (self.number << _ROOM_BITS) + MOST_BYTES

    @property
    def address(self) -> int:
        return self.live_address


def place(address: int) -> Place:
    """What an address from FIRST on leads to."""
    apart = address - FIRST
    return apart >> _ROOM_BITS, (apart & _ROOM) - MOST_BYTES


def require_values(memory: object) -> None:
    """Raises UnknownValues for memory that is not there yet."""
    if memory.__class__ is Symbol:
        raise UnknownValues
