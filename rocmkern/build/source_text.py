"""A C++ source as code, comments and literals, for what reads or rewrites sources by their words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attrs import frozen

_PIECE: Final = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|(?P<raw>R"(?P<mark>[^\s()\\]{0,16})\(.*?(?:\)(?P=mark)"|\Z))"""
    r"""|(?P<literal>"(?:\\.|[^"\\\n])*"?|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'?)""",
    re.DOTALL,
)
_INCLUDE: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"[^"\n]*"', re.MULTILINE)


@frozen
class Piece:
    """A comment or a literal, and where it is."""

    kind: str  # "comment" or "literal"
    start: int
    end: int


def pieces(text: str) -> Iterator[Piece]:
    """Comments and literals, in order; the name in an #include is neither."""
    names = {found.end() for found in _INCLUDE.finditer(text)}
    for found in _PIECE.finditer(text):
        if found.end() not in names:
            yield Piece("comment" if found["comment"] is not None else "literal", found.start(), found.end())


def code(text: str) -> str:
    """The text with spaces for comments and literals, of the same length and lines."""
    parts, place = [], 0
    for piece in pieces(text):
        parts += [text[place : piece.start], re.sub(r"[^\n]", " ", text[piece.start : piece.end])]
        place = piece.end
    return "".join((*parts, text[place:]))


def line_of(text: str, place: int) -> int:
    """The number of the line, from 1."""
    return text.count("\n", 0, place) + 1
