"""GGUF files: what the gguf package writes is read back, and damage is named."""

from __future__ import annotations

import copy
import gc
import os
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmkern.codeobject import MOST_BYTES
from rocmkern.dtypes import bfloat16, float32
from rocmkern.errors import FormatNotFound, GgufError
from rocmkern.kernels.block_formats import FORMATS, BlockFormat
from rocmkern.quant import gguf_file
from rocmkern.quant.gguf_file import load_gguf
from rocmkern.quant.gguf_reader import BLOCK_NUMBERS, KINDS, Source, read_header

Array = np.ndarray[Any, Any]


def random_blocks(row: BlockFormat, rows: int, columns: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, columns // row.values * row.nbytes), dtype=np.uint8)


def write(path: Path, tensors: dict[str, tuple[Array, gguf.GGMLQuantizationType | None]]) -> Path:
    writer = gguf.GGUFWriter(path, "test")
    writer.add_uint32("test.block_count", 3)
    writer.add_array("test.words", ["a", "bc", ""])
    writer.add_array("test.numbers", [1.5, -2.0])
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """Two tensors: a float matrix and a q4_0 matrix of 2 × 64."""
    return write(
        tmp_path / "sample.gguf",
        {
            "floats": (np.arange(6, dtype=np.float32).reshape(2, 3), None),
            "weights": (random_blocks(FORMATS[0], 2, 64), gguf.GGMLQuantizationType.Q4_0),
        },
    )


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_every_format_is_read_as_written(row: BlockFormat, tmp_path: Path) -> None:
    """A tensor comes back with its format, shape and bytes."""
    blocks = random_blocks(row, 3, 512)
    path = write(tmp_path / "a.gguf", {"w": (blocks, gguf.GGMLQuantizationType[row.struct])})
    tensor = load_gguf(path)["w"]
    assert (tensor.kind, tensor.shape, tensor.nbytes) == (row, (3, 512), blocks.nbytes)
    assert tensor.data.tobytes() == blocks.tobytes()


def test_metadata_and_order_are_kept(sample: Path) -> None:
    """Keys hold Python values, arrays lists; tensors keep the file's order."""
    file = load_gguf(sample)
    assert file.metadata["test.block_count"] == 3
    assert file.metadata["test.words"] == ["a", "bc", ""]
    assert file.metadata["test.numbers"] == [1.5, -2.0]
    assert list(file) == ["floats", "weights"]
    assert len(file) == 2
    assert (file["floats"].kind, file["floats"].shape) == (float32, (2, 3))


def test_asking_for_a_tensor_that_is_not_there_looks_for_no_other(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names alike are sought for an error alone: among thousands of tensors that takes milliseconds a name."""
    monkeypatch.setattr(gguf_file, "get_close_matches", None)
    file = load_gguf(sample)
    assert "floats" in file
    assert "float" not in file
    assert file.get("float") is None
    assert file.get("floats") is file["floats"]


def test_a_tensor_is_read_when_it_is_used(sample: Path) -> None:
    """Loading a file reads its header alone; a file that was renamed or removed since is still there."""
    file = load_gguf(sample)
    content = sample.read_bytes().replace(np.arange(6, dtype=np.float32).tobytes(), bytes(24))
    sample.write_bytes(content)
    sample.unlink()
    assert file["floats"].data.tobytes() == bytes(24)


def test_a_file_cut_while_it_is_used_is_an_error(sample: Path) -> None:
    """What is gone can't be read; what is still there can."""
    file = load_gguf(sample)
    end = sample.stat().st_size
    os.truncate(sample, end - file["weights"].nbytes)
    assert file["floats"].data.view(np.float32).tolist() == list(range(6))
    with pytest.raises(
        GgufError, match=r"read tensor 'weights' of sample\.gguf: it ends at \d+ by now and had \d+ byt"
    ):
        file["weights"].to("emulator:gfx942")


def test_a_file_cut_while_its_header_is_read_is_an_error(sample: Path) -> None:
    """Between asking for its size and reading."""
    source = Source.opened(sample)
    os.truncate(sample, 40)
    with pytest.raises(ValueError, match="it ends at 40 by now"):
        read_header(source, 0)


def test_no_descriptor_is_left_open(sample: Path) -> None:
    """Neither of files that are dropped nor of those that can't be read."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        load_gguf(sample)["floats"].to("emulator:gfx942")
    sample.write_bytes(b"GGUF")
    for _ in range(5):
        with pytest.raises(GgufError):
            load_gguf(sample)
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """It has no size, and opening it would wait for a writer."""
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(GgufError, match=r"pipe\.gguf: it is no regular file"):
        load_gguf(tmp_path / "pipe.gguf")
    with pytest.raises(IsADirectoryError):
        load_gguf(tmp_path)


def test_numbers_of_types_are_ggufs() -> None:
    """Each type that has kernels has the number that the gguf package gives it."""
    names = {number: gguf.GGMLQuantizationType(number).name for number in KINDS}
    assert {number: name for number, name in names.items() if name in BLOCK_NUMBERS} == {
        number: name for name, number in BLOCK_NUMBERS.items()
    }
    assert {names[n]: kind.name for n, kind in KINDS.items() if not isinstance(kind, BlockFormat)} == {
        "F32": "float32", "F16": "float16", "BF16": "bfloat16", "F64": "float64",
        "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
    }  # fmt: skip


def test_metadata_of_every_type(tmp_path: Path) -> None:
    """Numbers, truth values and texts are what was written, alone and in arrays."""
    path, writer = tmp_path / "all.gguf", gguf.GGUFWriter(tmp_path / "all.gguf", "test")
    values = {"uint8": 255, "int8": -128, "uint16": 65535, "int16": -2, "uint32": 2**32 - 1, "int32": -3}
    values |= {"uint64": 2**64 - 1, "int64": -(2**63), "float32": 1.5, "float64": 0.1, "bool": True, "string": "é"}
    for kind, value in values.items():
        getattr(writer, f"add_{kind}")(f"one.{kind}", value)
    for name, items in {"bools": [True, False], "floats": [0.5], "words": ["a", ""]}.items():
        writer.add_array(name, items)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    found = load_gguf(path).metadata
    assert {kind: found[f"one.{kind}"] for kind in values} == values
    assert (found["bools"], found["floats"], found["words"]) == ([True, False], [0.5], ["a", ""])


def test_bfloat16_rows_are_floats(tmp_path: Path) -> None:
    """bf16 is an element type, not a block format."""
    data = gguf.quants.quantize(np.ones((2, 4), np.float32), gguf.GGMLQuantizationType.BF16)
    path = write(tmp_path / "b.gguf", {"w": (data, gguf.GGMLQuantizationType.BF16)})
    tensor = load_gguf(path)["w"]
    assert (tensor.kind, tensor.shape) == (bfloat16, (2, 4))


def test_every_truncation_is_named(sample: Path, tmp_path: Path) -> None:
    """A file that ends early is an error wherever it ends, never a crash or a hang."""
    whole = sample.read_bytes()
    end_of_data = load_gguf(sample)["weights"].data
    needed = len(whole) - (len(whole) - whole.index(end_of_data.tobytes()) - end_of_data.nbytes)
    cut = tmp_path / "cut.gguf"
    for length in range(needed):
        cut.write_bytes(whole[:length])
        with pytest.raises(GgufError, match=r"cut\.gguf"):
            load_gguf(cut)


@settings(max_examples=200, deadline=None)
@given(position=st.integers(0, 450), damage=st.binary(min_size=1, max_size=8))
def test_damage_is_an_error_or_harmless(position: int, damage: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any changed bytes give a GgufError or a file whose tensors lie within it."""
    folder = tmp_path_factory.getbasetemp()
    path = folder / "whole.gguf"
    if not path.exists():
        write(path, {"w": (random_blocks(FORMATS[0], 2, 64), gguf.GGMLQuantizationType.Q4_0)})
    content = bytearray(path.read_bytes())
    position %= len(content)
    content[position : position + len(damage)] = damage[: len(content) - position]
    broken = folder / "broken.gguf"
    broken.write_bytes(content)
    try:
        file = load_gguf(broken)
    except GgufError:
        return
    assert sum(t.nbytes for t in file.values()) <= len(content)


def replaced(path: Path, old: bytes, new: bytes) -> Path:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))
    return path


def described(name: str, *dims: int, kind: int) -> bytes:
    """A tensor's entry up to its type."""
    return name.encode() + struct.pack(f"<I{len(dims)}QI", len(dims), *dims, kind)


def test_a_type_without_kernels_fails_at_its_use(sample: Path) -> None:
    """The file is read, with the other tensors; the error says which tensor has the type and what there is."""
    replaced(sample, described("weights", 64, 2, kind=2), described("weights", 64, 2, kind=16))
    file = load_gguf(sample)
    assert file["floats"].to("emulator:gfx942").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert file["weights"].kind.name == "iq2_xxs"
    assert file["weights"].nbytes >= 2 * 36
    with pytest.raises(FormatNotFound, match=r"'weights' of sample\.gguf: no kernels for iq2_xxs; .*one of .*q4_k"):
        file["weights"].to("emulator:gfx942")


def test_bytes_of_a_type_without_kernels_end_where_the_next_tensor_begins(sample: Path) -> None:
    """Nothing of another tensor is taken for its."""
    replaced(sample, described("floats", 3, 2, kind=0), described("floats", 3, 2, kind=99))
    file = load_gguf(sample)
    assert (file["floats"].kind.name, file["floats"].nbytes) == ("type 99", 32)


def in_parts(tmp_path: Path, count: int = 2) -> list[Path]:
    """A model of one tensor a part, whose first part has the metadata."""
    paths = []
    for number in range(count):
        path = tmp_path / f"model-{number + 1:05}-of-{count:05}.gguf"
        writer = gguf.GGUFWriter(path, "test")
        writer.add_uint16("split.no", number)
        writer.add_uint16("split.count", count)
        if not number:
            writer.add_string("test.only", "the first")
        writer.add_tensor(f"w{number}", np.full(4, number, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        paths.append(path)
    return paths


def test_parts_of_a_model_are_one(tmp_path: Path) -> None:
    """Whichever of them is named: the tensors of all, the metadata of the first."""
    for path in in_parts(tmp_path, 3):
        file = load_gguf(path)
        assert list(file) == ["w0", "w1", "w2"]
        assert file.metadata["test.only"] == "the first"
        assert file["w2"].to("emulator:gfx942").tolist() == [2, 2, 2, 2]


def test_parts_that_are_missing_or_misnamed_are_named(tmp_path: Path) -> None:
    """A part says how many there are; its name says which the others are."""
    first, second = in_parts(tmp_path)
    second.rename(tmp_path / "elsewhere.gguf")
    with pytest.raises(GgufError, match=r"its part model-00002-of-00002\.gguf is missing; put all 2 in one folder"):
        load_gguf(first)
    with pytest.raises(GgufError, match=r"elsewhere\.gguf: it says that it is one of 2 parts, and is not named like"):
        load_gguf(tmp_path / "elsewhere.gguf")
    second.write_bytes(first.read_bytes())
    with pytest.raises(GgufError, match=r"00002-of-00002\.gguf: tensor 'w0' is in an earlier part too"):
        load_gguf(first)


@pytest.mark.parametrize("texts", [0, 3, 40_000])
def test_arrays_of_texts_are_read_whole(texts: int, tmp_path: Path) -> None:
    """Whether they lie in one piece of the file or in several, whose borders cut texts and lengths."""
    words = ["ü" * (n % 37) + str(n) for n in range(texts)]
    if texts == 3:
        words[1] = "x" * (1 << 20)
    writer = gguf.GGUFWriter(tmp_path / "words.gguf", "test")
    writer.add_array("words", ["", *words])
    writer.add_string("behind", "it")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    metadata = load_gguf(tmp_path / "words.gguf").metadata
    assert metadata["words"] == ["", *words]
    assert metadata["behind"] == "it"


def test_rows_that_blocks_do_not_divide_are_refused(sample: Path) -> None:
    """Rows of 48 values are no whole number of q4_0 blocks."""
    replaced(sample, described("weights", 64, 2, kind=2), described("weights", 48, 2, kind=2))
    with pytest.raises(GgufError, match=r"'weights' of q4_0 has shape \(2, 48\); its rows must be multiples of 32"):
        load_gguf(sample)


def test_a_shape_beyond_the_file_is_truncation(sample: Path) -> None:
    """A tensor larger than the file says where it would end."""
    replaced(sample, described("weights", 64, 2, kind=2), described("weights", 64, 2**40, kind=2))
    with pytest.raises(GgufError, match=r"'weights' takes bytes .* the file ends at .* truncated"):
        load_gguf(sample)


def test_one_byte_less_than_the_tensors_take_is_truncation(sample: Path) -> None:
    """Said of the tensor, before anything is read of it."""
    end = load_gguf(sample)["weights"].data
    whole = sample.read_bytes()
    sample.write_bytes(whole[: whole.index(end.tobytes()) + end.nbytes - 1])
    with pytest.raises(GgufError, match=r"'weights' takes bytes (\d+) to (\d+), the file ends at \d+: it is truncated"):
        load_gguf(sample)


def test_offsets_between_the_boundaries_are_refused(sample: Path) -> None:
    """A tensor begins on a multiple of the file's alignment, by default 32."""
    entry = described("floats", 3, 2, kind=0)
    replaced(sample, entry + struct.pack("<Q", 0), entry + struct.pack("<Q", 16))
    with pytest.raises(GgufError, match="'floats' lies at offset 16, no multiple of 32"):
        load_gguf(sample)


def key(kind: int, value: bytes) -> bytes:
    """A file with the key 'k' alone, then zeros."""
    return b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"k", kind) + value + bytes(4096)


def twice(name: str) -> bytes:
    """A file with one key two times."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * struct.pack("<Q1sIB", 1, name.encode(), 0, 7)


def one_tensor(*dims: int, kind: int) -> bytes:
    """A file of one tensor, and some zeros."""
    return b"GGUF" + struct.pack("<IQQQ", 3, 1, 0, 1) + described("w", *dims, kind=kind) + bytes(512)


def aligned(alignment: int) -> bytes:
    """A file that states an alignment."""
    name = b"general.alignment"
    return b"GGUF" + struct.pack("<IQQQ17sII", 3, 0, 1, len(name), name, 4, alignment)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "4 bytes should follow byte 0, 0 do"),
        (b"GG", "4 bytes should follow byte 0, 2 do"),
        (b"\x7fELF\2\1\1" + bytes(40), "it does not begin with GGUF"),
        (b"GGUF" + struct.pack("<I", 1) + bytes(16), "version 1; 2 and 3 are known"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(16), "big-endian"),
        (b"GGUF" + struct.pack("<IQQ", 3, 2**60, 0), "it claims 1152921504606846976 tensors, 65536 are the most"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60), "it claims 1152921504606846976 entries of metadata"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 0), "8 bytes should follow byte 24, 0 do: it is truncated"),
        (key(9, struct.pack("<IQ", 8, 2**50)), "9007199254740992 bytes should follow byte 49, 4096 do"),
        (key(9, struct.pack("<IQ", 0, 2**50)), "1125899906842624 bytes should follow byte 49, 4096 do"),
        (key(9, struct.pack("<IQ", 9, 1)), "an array of value type 9 at byte 37"),
        (key(9, struct.pack("<IQ", 12, 2**61)), "18446744073709551616 bytes should follow byte 49"),
        (key(8, struct.pack("<Q", 1) + b"\xff"), "the text that ends at byte 46 is no UTF-8"),
        (twice("k"), "it has 'k' twice"),
        (one_tensor(1 << 63, 0, kind=0), r"tensor 'w' has shape \(0, 9223372036854775808\), which no tensor can have"),
        (one_tensor(1, 1, 1, 1, 1, kind=0), "tensor 'w' has 5 dimensions, 4 are the most"),
        (one_tensor(1 << 63, 2, kind=0), "tensor 'w' takes bytes .*: it is truncated"),
        (aligned(0), "general.alignment is 0, no power of two"),
        (aligned(48), "general.alignment is 48, no power of two"),
        (key(8, struct.pack("<Q", 2**63)), "9223372036854775808 bytes should follow byte 45"),
        (key(77, b""), "a value of type 77 at byte 33"),
    ],
)
def test_headers_that_lie_are_refused(content: bytes, words: str, tmp_path: Path) -> None:
    """A claim that the file can't hold is an error at once, whatever the number."""
    path = tmp_path / "lie.gguf"
    path.write_bytes(content)
    with pytest.raises(GgufError, match=words):
        load_gguf(path)


def test_a_missing_file_is_pythons_own_error(tmp_path: Path) -> None:
    """No file: FileNotFoundError, as open() says it."""
    with pytest.raises(FileNotFoundError):
        load_gguf(tmp_path / "none.gguf")


COSTLY = {
    "words": key(9, struct.pack("<IQ", 8, 3 << 19) + bytes(12 << 20)),
    "numbers": key(9, struct.pack("<IQ", 2, 1 << 21) + b"ab" * (1 << 21)),
    "bytes": key(9, struct.pack("<IQ", 0, 10 << 20) + bytes(10 << 20)),
    "letters": key(8, struct.pack("<Q", 30 << 20) + "😀".encode() + b"a" * ((30 << 20) - 4)),
}


@pytest.mark.parametrize("name", COSTLY)
def test_metadata_takes_memory_by_its_size(name: str, tmp_path: Path) -> None:
    """What becomes much larger as Python's objects is refused before it does, unless one asks for it."""
    path = tmp_path / "costly.gguf"
    path.write_bytes(COSTLY[name])
    tracemalloc.start()
    try:
        with pytest.raises(GgufError, match=r"bytes of metadata take \d+ as Python's objects, 67108864 more"):
            load_gguf(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES + len(COSTLY[name])
    assert len(load_gguf(path, most_bytes=1 << 30).metadata["k"]) >= 1 << 20


def test_both_readers_say_the_same(sample: Path) -> None:
    """The gguf package's reader finds the same tensors and metadata in a file."""
    ours, theirs = load_gguf(sample), gguf.GGUFReader(sample)
    assert {t.name: (t.tensor_type.value, bytes(t.data)) for t in theirs.tensors} == {
        name: (next(n for n, kind in KINDS.items() if kind is t.kind), t.data.tobytes()) for name, t in ours.items()
    }
    assert [tuple(map(int, reversed(t.shape))) for t in theirs.tensors] == [t.shape for t in ours.values()]
    known = {name: f.contents() for name, f in theirs.fields.items() if not name.startswith("GGUF.")}
    assert ours.metadata == known


def test_tensors_that_share_bytes_are_refused(tmp_path: Path) -> None:
    """A small file can't claim its bytes many times over."""
    path = write(tmp_path / "shared.gguf", {name: (np.ones(32, np.float32), None) for name in ("one", "two")})
    second = described("two", 32, kind=0)
    replaced(path, second + struct.pack("<Q", 128), second + struct.pack("<Q", 96))
    with pytest.raises(GgufError, match="tensors 'one' and 'two' share bytes"):
        load_gguf(path)


def test_a_tensor_comes_once(tmp_path: Path) -> None:
    """Of two of one name neither can be meant."""
    path = write(tmp_path / "same.gguf", {name: (np.ones(32, np.float32), None) for name in ("one", "two")})
    replaced(path, described("two", 32, kind=0), described("one", 32, kind=0))
    with pytest.raises(GgufError, match="it has tensor 'one' twice"):
        load_gguf(path)


def test_a_tensor_of_a_file_says_where_products_are(sample: Path) -> None:
    """What it lacks and tensors on a device have is answered with `to`."""
    file = load_gguf(sample)
    with pytest.raises(AttributeError, match=r"no attribute 'matmul'; to\(device\) gives a QTensor, which has it"):
        file["weights"].matmul  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'tolist'; to\(device\) gives a Tensor, which has it"):
        file["floats"].tolist  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(file["weights"], "nope") and copy.copy(file["weights"]).name == "weights"
