"""Damaged files: whatever the bytes, reading gives a CodeObject or an error that says why not."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocmkern import codeobject
from rocmkern.errors import CodeObjectError, TargetNotBuilt
from tests import samples
from tests.codeobject.test_reader import DEVICE, compressed

ELF = samples.compile_hip(samples.ADD)
PLAIN = samples.bundle({DEVICE + "gfx942": ELF, DEVICE + "gfx1030": samples.compile_hip(samples.ADD, "gfx1030")})
FILES = {
    "elf": ELF,
    "hand-written": samples.hand_written(samples.pads(3)),
    "bundle": PLAIN,
    "zlib": compressed(PLAIN, "zlib", 2),
    "zstd": compressed(PLAIN, "zstd", 3),
}
CASES = 1200  # of each kind of file

Edit = tuple[str, int, bytes]
POSITION = st.integers(0, 1 << 16)
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), POSITION, st.binary(min_size=1, max_size=8)),
        st.tuples(st.just("cut"), POSITION, st.just(b"")),
        st.tuples(st.just("remove"), POSITION, st.binary(min_size=1, max_size=64)),
        st.tuples(st.just("insert"), POSITION, st.binary(min_size=1, max_size=64)),
        st.tuples(st.just("header"), st.integers(0, 63), st.binary(min_size=1, max_size=8)),
    ),
    min_size=1,
    max_size=4,
)


def edited(data: bytes, edits: list[Edit]) -> bytes:
    for kind, position, patch in edits:
        at = position % (len(data) or 1)
        rest = {"flip": at + len(patch), "header": at + len(patch), "cut": len(data), "remove": at + len(patch)}
        middle = b"" if kind in ("cut", "remove") else patch
        data = data[:at] + middle + data[rest.get(kind, at) :]
    return data


def spliced(first: bytes, second: bytes, cut: int) -> bytes:
    at = cut % min(len(first), len(second))
    return first[:at] + second[at:]


def reads_or_says_why(data: bytes) -> None:
    with contextlib.suppress(CodeObjectError, TargetNotBuilt):
        found = codeobject.read(data, "gfx942")
        assert found.target.startswith(("gfx942", "gfx9-4-generic"))
        for kernel in found.kernels.values():
            assert kernel.block_bytes >= kernel.explicit_bytes
        for segment in found.segments:
            assert len(segment.data) <= segment.memory_size


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(edits=EDITS)
def test_edited_files(kind: str, edits: list[Edit]) -> None:
    """Bytes flipped, cut off, removed and inserted anywhere."""
    reads_or_says_why(edited(FILES[kind], edits))


@settings(max_examples=CASES, deadline=None)
@given(st.sampled_from(sorted(FILES)), st.sampled_from(sorted(FILES)), POSITION)
def test_spliced_files(first: str, second: str, cut: int) -> None:
    """The head of one file with the tail of another."""
    reads_or_says_why(spliced(FILES[first], FILES[second], cut))


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=400),
    st.sampled_from([b"", b"\x7fELF\x02\x01\x01\x40\x03", b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__"]),
)
def test_foreign_bytes(data: bytes, magic: bytes) -> None:
    """Anything at all behind a right magic."""
    reads_or_says_why(magic + data)
