"""What kernels print: C's formats, and whatever else they leave in the buffer."""

from __future__ import annotations

import io
import struct
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocmkern.emulator import printf
from rocmkern.emulator.arena import Arena
from rocmkern.emulator.printf import BUFFER_BYTES, LONGEST_TEXT, printed

NAME = 7
PATTERNS = st.lists(
    st.sampled_from(
        [
            "%d",
            "%s",
            "%*d",
            "%.*f",
            "%-8s",
            "%#x",
            "%c",
            "%p",
            "%a",
            "%%",
            "%",
            "%ld",
            "%+.3e",
            "%999999999d",
            "é",
            "%.d",
        ]
    )
).map("".join)


def record(*words: int, known: bool = True) -> bytes:
    body = b"".join((word & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little") for word in words)
    return struct.pack("<I", len(body) + 4 << 2 | 2 * known) + body


@pytest.mark.parametrize(
    ("pattern", "arguments", "text"),
    [
        ("%d of %5ld\n", (-3, 12), "-3 of    12\n"),
        ("%*d|%-*d|", (4, 7, 4, 7), "   7|7   |"),
        ("%*d|", (-4, 7), "7   |"),
        ("%.*f", (2, 0x3FF8_0000_0000_0000), "1.50"),
        ("%.*f", (-2, 0x3FF8_0000_0000_0000), "1.500000"),
        ("%s!", (0x6968,), "hi!"),
        ("%c%%%p", (65, 255), "A%0xff"),
        ("%d and %d", (1,), "1 and %d"),
        ("%*d", (), "%*d"),
        ("%s%s", (0,), "%s"),
    ],
)
def test_formats_are_those_of_c(pattern: str, arguments: tuple[int, ...], text: str) -> None:
    """Width and precision may be arguments, negative ones too; a specifier without its argument stays as it is."""
    assert printed(record(NAME, *arguments), {NAME: pattern}) == text


@given(st.binary(max_size=200), PATTERNS, st.lists(st.integers(0, (1 << 64) - 1), max_size=4))
@example(b"\2\0\0\0", "", [])
@example(b"\x22\0\0\0", "", [])
@example(b"", "%*d", [0x7FFFFFFF, 1])
def test_a_buffer_may_hold_anything(noise: bytes, pattern: str, arguments: list[int]) -> None:
    """Whatever a kernel leaves in the buffer is printed, a conversion as up to 4095 letters."""
    text = printed(record(NAME, *arguments) + noise + record(NAME), {NAME: pattern})
    assert len(text) <= 4095 * (4 + len(noise)) + 2 * len(pattern) + len(noise)


def test_a_buffer_costs_no_more_than_its_text() -> None:
    """Wide columns in each of many records, and long texts of the file itself, end at the longest text."""
    many = record(NAME, 0x7FFFFFFF, 1) * (BUFFER_BYTES // 32)
    assert len(printed(many, {NAME: "%*d"})) == LONGEST_TEXT
    assert len(printed(many, {NAME: "x" * (1 << 20)})) == LONGEST_TEXT


@pytest.mark.parametrize("pattern", ["%s" * (1 << 15), "%" + "0" * (1 << 17)])
def test_a_format_is_read_in_linear_time(pattern: str) -> None:
    """Specifiers without arguments are text, and so is one with more digits than any number of columns."""
    assert printed(record(NAME) * 3, {NAME: pattern}) == pattern * 3


def test_many_strings_of_one_record_are_read_once() -> None:
    """A record's strings are taken where they lie: copying what is left for each took minutes."""
    count = 50_000
    assert printed(record(NAME, *[0x61] * count), {NAME: "%s" * count}) == "a" * count


def test_what_an_encoding_lacks_is_a_question_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output that can't encode a letter is no error of the launch, and the buffer is given back."""
    arena, out = Arena(), io.BytesIO()
    used = arena.used
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "ascii"))
    with printf.printing(arena, {NAME: "é%d\n"}, bytes(16), 8) as block:
        (address,) = struct.unpack_from("<Q", block, 8)
        view = arena.view(address, 64)
        data = record(NAME, 5)
        view[:4], view[8 : 8 + len(data)] = len(data).to_bytes(4, "little"), data
        view.release()
    assert out.getvalue() == b"?5\n"
    assert arena.used == used
