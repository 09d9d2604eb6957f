"""The code object reader against code objects that clang makes, for each version and container."""

from __future__ import annotations

import hashlib
import struct
import weakref
import zlib

import pytest
import zstandard

from rocmkern import codeobject
from rocmkern.codeobject import target_id
from rocmkern.errors import CodeObjectError, TargetNotBuilt
from tests import samples

HOST = "host-x86_64-unknown-linux-gnu-"
DEVICE = "hipv4-amdgcn-amd-amdhsa--"


def compressed(data: bytes, method: str, version: int) -> bytes:
    packed = zlib.compress(data) if method == "zlib" else zstandard.compress(data)
    digest = struct.unpack("<Q", hashlib.md5(data).digest()[:8])[0]
    number = {"zlib": 0, "zstd": 1}[method]
    sizes = {1: "<IQ", 2: "<IIQ", 3: "<QQQ"}[version]
    total = 8 + struct.calcsize(sizes) + len(packed)
    fields = (len(data), digest) if version == 1 else (total, len(data), digest)
    return b"CCOB" + struct.pack("<HH", version, number) + struct.pack(sizes, *fields) + packed


@pytest.mark.parametrize("version", [3, 4, 5, 6])
def test_reads_every_code_object_version(version: int) -> None:
    """The ELF's ABI version tells the code object version, and the arguments are at their offsets."""
    if version == 3:  # clang 22 writes v4 and later; v3 differs in the ABI version byte and the feature bits
        image = bytearray(samples.compile_hip(samples.ADD, version=4))
        image[8] = 1
        image[48:52] = struct.pack("<I", 0x4C)
        found = codeobject.read(bytes(image))
    else:
        found = codeobject.read(samples.compile_hip(samples.ADD, version=version))
    assert (found.version, found.target) == (version, "gfx942")
    kernel = found.kernels["add_f32"]
    assert [(a.offset, a.size, a.kind) for a in kernel.explicit_arguments] == [
        (0, 8, "by_value"),
        (8, 8, "global_buffer"),
        (16, 8, "global_buffer"),
        (24, 4, "by_value"),
        (28, 1, "by_value"),
    ]
    assert kernel.explicit_bytes == 29


def test_equal_bytes_are_read_once_while_somebody_holds_what_they_say() -> None:
    """A module and its driver share one reading; nothing keeps it, or the file, alive after both."""
    data = samples.compile_hip(samples.ADD) + b"\0"  # which no other test reads
    found = codeobject.read(data)
    assert codeobject.read(bytes(bytearray(data))) is found
    assert codeobject.read(samples.compile_hip(samples.ADD, version=5)) is not found
    gone = weakref.ref(found)
    del found
    assert gone() is None


def test_reads_limits_and_resources() -> None:
    """Workgroup limit, LDS, wave size and descriptor are those the compiler states."""
    kernel = codeobject.read(samples.compile_hip(samples.ADD)).kernels["store_one"]
    assert kernel.max_threads_per_block == 256
    assert kernel.wave_size == 64
    assert len(kernel.descriptor) == 64
    assert int.from_bytes(kernel.descriptor[0:4], "little") == kernel.lds_size
    assert int.from_bytes(kernel.descriptor[8:12], "little") == kernel.kernarg_size


def test_entry_is_the_function_symbol() -> None:
    """The descriptor's entry offset leads to the symbol of the kernel's code."""
    found = codeobject.read(samples.compile_hip(samples.ADD))
    for name, kernel in found.kernels.items():
        assert kernel.entry_address == found.symbols[name][0]
        assert kernel.descriptor_address == found.symbols[f"{name}.kd"][0]


@pytest.mark.parametrize(
    ("target", "wave"),
    [
        ("gfx90a", 64),
        ("gfx950", 64),
        ("gfx1030", 32),
        ("gfx10-3-generic", 32),
        ("gfx11-generic", 32),
        ("gfx12-generic", 32),
    ],
)
def test_target_comes_from_the_flags(target: str, wave: int) -> None:
    """Every target, generic ones with their version, is told by e_flags alone."""
    found = codeobject.read(samples.compile_hip(samples.ADD, target))
    assert found.target == target
    assert found.generic_version == ("generic" in target)
    assert {k.wave_size for k in found.kernels.values()} == {wave}


def test_features_are_part_of_the_target() -> None:
    """A file built for xnack+ says so, and runs only on a device that has it on."""
    image = samples.hand_written(samples.pads(0), "gfx90a:xnack+")
    assert codeobject.read(image).target == "gfx90a:xnack+"
    assert codeobject.read(image, "gfx90a:sramecc+:xnack+").target == "gfx90a:xnack+"
    with pytest.raises(TargetNotBuilt, match=r"code for gfx90a:xnack\+, the device is gfx90a:sramecc\+:xnack-"):
        codeobject.read(image, "gfx90a:sramecc+:xnack-")


def test_undefined_symbols_are_named() -> None:
    """A function that no library gives is listed: the loader would refuse the file without a word about it."""
    source = """
    extern "C" __attribute__((device, visibility("default"))) int elsewhere(int);
    KERNEL void f(int *out) { out[0] = elsewhere(1); }
    """
    assert codeobject.read(samples.compile_hip(source, version=5)).undefined_symbols == ("elsewhere",)


def test_relocations_are_read() -> None:
    """A table of pointers needs a relocation for each entry."""
    source = """
    __attribute__((device)) int a, b;
    __attribute__((device)) int *table[2] = {&a, &b};
    KERNEL void f(int i, int **out) { out[0] = table[i]; }
    """
    found = codeobject.read(samples.compile_hip(source))
    start, size = found.symbols["table"]
    inside = [r for r in found.relocations if start <= r[0] < start + size]
    assert sorted(r[0] for r in inside) == [start, start + 8]


def test_hand_written_metadata() -> None:
    """Missing target, a wrong version field, pads as arguments, kernarg size 0 in the descriptor: all read right."""
    found = codeobject.read(samples.hand_written(samples.pads(3)))
    kernel = found.kernels["slots"]
    assert (found.target, found.version) == ("gfx942", 5)
    assert int.from_bytes(kernel.descriptor[8:12], "little") == 0
    assert kernel.kernarg_size == kernel.block_bytes == 32
    assert [a.name for a in kernel.logical_arguments] == ["out", "n"]
    assert kernel.required_block == (256, 1, 1)


def test_block_covers_arguments_past_the_declared_size() -> None:
    """Files whose arguments end after kernarg_segment_size get a block that holds all arguments."""
    assert codeobject.read(samples.hand_written(samples.pads(6))).kernels["slots"].block_bytes == 44


def test_triton_target_spelling() -> None:
    """The target is the gfx token that ends the triple, whatever stands before it."""
    assert target_id.from_text("amdgpu9.42-amd-amdhsa-unknown-gfx942") == "gfx942"
    assert target_id.from_text("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-") == "gfx90a:sramecc+:xnack-"
    assert target_id.from_text("amdgcn-amd-amdhsa--gfx9-4-generic") == "gfx9-4-generic"
    assert target_id.from_text(HOST) is None


@pytest.mark.parametrize(("method", "version"), [(None, 0), ("zlib", 1), ("zlib", 2), ("zstd", 2), ("zstd", 3)])
def test_bundle_entry_of_the_device_is_chosen(method: str | None, version: int) -> None:
    """Of a bundle, plain or compressed, the exact entry beats the generic one, and the host's is never taken."""
    parts = {t: samples.compile_hip(samples.ADD, t) for t in ("gfx942", "gfx9-4-generic", "gfx1030")}
    data = samples.bundle({HOST: b"", **{DEVICE + t: image for t, image in parts.items()}})
    if method:
        data = compressed(data, method, version)
    assert codeobject.read(data, "gfx942:sramecc+:xnack-").target == "gfx942"
    assert codeobject.read(data, "gfx950").target == "gfx9-4-generic"
    assert [e.target for e in codeobject.read_bundle(data)] == [None, "gfx942", "gfx9-4-generic", "gfx1030"]
    with pytest.raises(TargetNotBuilt, match=r"code for gfx942, gfx9-4-generic, gfx1030, the device is gfx1100"):
        codeobject.read(data, "gfx1100")
    with pytest.raises(CodeObjectError, match="say for which target"):
        codeobject.read(data)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda d: b"", "no ELF and no offload bundle .0 bytes"),
        (lambda d: b"MZ" + d[2:], "no ELF and no offload bundle"),
        (lambda d: d[:40], "no ELF and no offload bundle .40 bytes"),
        (lambda d: d[:4] + b"\x01" + d[5:], "not a 64-bit"),
        (lambda d: d[:18] + b"\x3e\x00" + d[20:], "machine 62, AMDGPU is 224"),
        (lambda d: d[:7] + b"\x00" + d[8:], "OS ABI 0"),
        (lambda d: d[:8] + b"\x09" + d[9:], "ABI version 9"),
        (lambda d: d[:16] + b"\x01\x00" + d[18:], "not linked"),
        (lambda d: d[:600], "truncated"),
        (lambda d: d[:48] + b"\x03\x05\x00\x00" + d[52:], "gfx942"),
    ],
)  # fmt: skip
def test_damage_is_named(damage, words: str) -> None:
    """A file that can't be read gives CodeObjectError with the reason."""
    data = damage(samples.compile_hip(samples.ADD))
    if words == "gfx942":  # an unknown machine number: the note still tells the target
        assert codeobject.read(data).target == words
        return
    with pytest.raises(CodeObjectError, match=words):
        codeobject.read(data)


def test_damaged_bundles_are_named() -> None:
    """Cut tables, wrong hashes, unknown methods and streams that end early are told apart."""
    plain = samples.bundle({DEVICE + "gfx942": samples.compile_hip(samples.ADD)})
    packed = bytearray(compressed(plain, "zlib", 2))
    cases = {
        plain[:30]: "truncated table",
        plain[:500]: "covers bytes",
        bytes(packed[:10]): "cut off after 10",
        bytes(packed[:-9]): "cut off",
        bytes(packed[:6]) + b"\x07" + bytes(packed[7:]): "unknown compression method 7",
        bytes(packed[:4]) + b"\x09" + bytes(packed[5:]): "version 9",
        bytes(packed[:16]) + b"\x00" + bytes(packed[17:]): "content hash differs",
        samples.bundle({HOST: b"x"}): "no device code inside",
    }
    for data, words in cases.items():
        with pytest.raises(CodeObjectError, match=words):
            codeobject.read(data)


def test_compressed_section_is_no_crash() -> None:
    """A symbol table that claims to be compressed is damage like any other."""
    image = bytearray(samples.compile_hip(samples.ADD))
    sections = int.from_bytes(image[40:48], "little")
    for header in range(sections, len(image) - 63, 64):
        if int.from_bytes(image[header + 4 : header + 8], "little") == 11:  # SHT_DYNSYM
            image[header + 8 : header + 16] = (0x800).to_bytes(8, "little")  # SHF_COMPRESSED
            start = int.from_bytes(image[header + 24 : header + 32], "little")
            image[start : start + 4] = (1).to_bytes(4, "little")  # ELFCOMPRESS_ZLIB
    with pytest.raises(CodeObjectError, match="the ELF is truncated or corrupt"):
        codeobject.read(bytes(image))


def test_a_message_shows_nothing_of_a_file() -> None:
    """Whoever is led to another file by a path learns its size at most."""
    with pytest.raises(CodeObjectError) as told:
        codeobject.read(b"TOPSECRET" * 20)
    assert str(told.value) == "read: no ELF and no offload bundle (180 bytes); pass a code object"
