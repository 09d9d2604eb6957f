"""What a launch accepts as arguments, and how it packs them."""

from __future__ import annotations

import ctypes
import math
import re
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocmkern as rk
from rocmkern import codeobject, dtypes
from rocmkern.drivers.protocol import DeviceInfo
from rocmkern.errors import ArgumentError, ArgumentRangeError, ClosedError, CodeObjectError
from rocmkern.kernels.catalogue import Parameter, result, scalar, source
from rocmkern.runtime import Function, arguments
from tests import samples
from tests.hip_double import Double

KINDS = {
    "bool": "bool", "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned", "u64": "unsigned long",
    "i8": "signed char", "i16": "short", "i32": "int", "i64": "long", "f16": "_Float16", "bf16": "__bf16",
    "f8_e4m3": "unsigned char", "f32": "float", "f64": "double", "ptr": "float *",
}  # fmt: skip


def kernel(*kinds: str) -> codeobject.Kernel:
    """The metadata of a kernel with parameters of these kinds."""
    parameters = ", ".join(f"{KINDS[kind]} p{i}" for i, kind in enumerate(kinds))
    return codeobject.read(samples.compile_hip(f"KERNEL void f({parameters}) {{}}")).kernels["f"]


class NoDriver:
    """A driver of no device: packing asks it for its name only."""

    info = DeviceInfo("none:0", "", "gfx942", 64, 1, 1024, (1024,) * 3, (1,) * 3, 65536, 0, False)


def pack(kinds: tuple[str, ...], values: tuple[object, ...]) -> bytes:
    """Packs as for a kernel of the catalogue: dtypes known."""
    parameters = [scalar(f"p{i}", dtypes.BY_SHORT[kind]) for i, kind in enumerate(kinds)]
    return arguments.packer(kernel(*kinds), parameters, NoDriver()).pack(values)


def test_offsets_after_mixed_widths() -> None:
    """G21: (ptr, u8, f64, i32, ptr) lie at 0, 8, 16, 24, 32 of 40 bytes (ROCm/hip issue 2284)."""
    found = kernel("ptr", "u8", "f64", "i32", "ptr")
    assert [a.offset for a in found.explicit_arguments] == [0, 8, 16, 24, 32]
    assert found.explicit_bytes == 40


def test_offsets_of_the_bilinear_signature() -> None:
    """G21: Candle's bilinear upsampling: 0, 8, 16, 17, 24, 32, 40, 48, 56, 64 of 72 bytes."""
    found = kernel("u64", "u64", "bool", "bool", "f64", "bool", "f64", "ptr", "ptr", "ptr")
    assert [a.offset for a in found.explicit_arguments] == [0, 8, 16, 17, 24, 32, 40, 48, 56, 64]
    assert found.explicit_bytes == 72


def test_arguments_are_naturally_aligned() -> None:
    """G22: (u8, u32, u8, u64, u16) lie at 0, 4, 8, 16, 24, 26 bytes in all; two i32 share 8 bytes (occa PR 168)."""
    kinds = ("u8", "u32", "u8", "u64", "u16")
    assert [a.offset for a in kernel(*kinds).explicit_arguments] == [0, 4, 8, 16, 24]
    assert kernel(*kinds).explicit_bytes == 26
    assert pack(kinds, (1, 2, 3, 4, 5))[:26] == struct.pack("<B3xIB7xQH", 1, 2, 3, 4, 5)
    assert pack(("i32", "i32"), (-1, 2))[:8] == struct.pack("<ii", -1, 2)


def test_block_is_padded_with_zeros_to_the_segment() -> None:
    """What no argument covers is zero, up to the size that the file declares."""
    found = kernel("u8", "u64")
    packed = pack(("u8", "u64"), (255, 1))
    assert len(packed) == max(found.kernarg_size, 16)
    assert packed[1:8] == bytes(7)
    assert packed[16:] == bytes(len(packed) - 16)


@given(st.floats(allow_nan=False, width=32))
def test_python_float_becomes_the_parameters_dtype(value: float) -> None:
    """G23: a Python float for an f32 parameter is sent as f32, not as the double that Python holds."""
    assert pack(("f32",), (value,))[:4] == np.float32(value).tobytes()


def test_python_integer_for_a_float_parameter() -> None:
    """G23: 3 for f32 is 3.0."""
    assert pack(("f32", "f64"), (3, 4))[:16] == struct.pack("<f4xd", 3.0, 4.0)


@pytest.mark.parametrize("short", ["f16", "bf16", "f8_e4m3", "f32", "f64"])
def test_float_formats(short: str) -> None:
    """Each float format packs as NumPy or ml_dtypes rounds, with infinity and NaN where it has them."""
    dtype = dtypes.BY_SHORT[short]
    for value in (0.0, -0.0, 1.0, -2.5, 0.3, 448.0, 1e-3):
        expected = dtype.numpy.type(value).tobytes()
        assert pack((short,), (value,))[: dtype.itemsize] == expected
    packed = np.frombuffer(pack((short,), (math.nan,))[: dtype.itemsize], dtype.numpy)[0]
    assert np.isnan(float(packed))


@pytest.mark.parametrize("dtype", [d for d in dtypes.REAL if d.is_integer], ids=str)
def test_integer_range(dtype: dtypes.DType) -> None:
    """The limits are packed; one beyond is an error that says the range."""
    limits = np.iinfo(dtype.numpy)
    for value in (int(limits.min), int(limits.max)):
        packed = pack((dtype.short,), (value,))[: dtype.itemsize]
        assert int.from_bytes(packed, "little", signed=dtype.kind == "signed") == value
    for value in (int(limits.min) - 1, int(limits.max) + 1):
        with pytest.raises(ArgumentRangeError, match=rf"argument 0 \(p0\) is {value}; {dtype} holds {limits.min} to"):
            pack((dtype.short,), (value,))


@pytest.mark.parametrize(("short", "value"), [("f16", 1e5), ("bf16", 1e39), ("f8_e4m3", 1e4), ("f32", 1e39)])
def test_float_range(short: str, value: float) -> None:
    """A finite number that would become infinite or NaN is an error; infinity itself is not where there is one."""
    with pytest.raises(
        ArgumentRangeError, match=rf"is {re.escape(repr(value))}; {dtypes.BY_SHORT[short]} holds finite values up to"
    ):
        pack((short,), (value,))
    if short != "f8_e4m3":
        packed = np.frombuffer(
            pack((short,), (math.inf,))[: dtypes.BY_SHORT[short].itemsize], dtypes.BY_SHORT[short].numpy
        )
        assert float(packed[0]) == math.inf


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("u64", 2.0, r"is the float 2\.0, uint64 was wanted; pass an integer"),
        ("u64", np.float32(2), "is a float32, uint64 was wanted"),
        ("u64", np.int64(2), "is a int64, uint64 was wanted; pass a Python number or numpy's uint64"),
        ("f32", np.float64(2), "is a float64, float32 was wanted"),
        ("f32", np.float16(2), "is a float16, float32 was wanted"),
        ("f32", "2", "is a str, a number for float32 was wanted"),
        ("f32", None, "is a NoneType, a number for float32 was wanted"),
        ("f32", 1j, "is a complex"),
        ("i32", np.zeros(3, np.int32), "is a ndarray, a number for int32 was wanted"),
        ("bool", 2, "is 2, bool was wanted; pass True or False"),
        ("bool", 1.0, r"is 1\.0, bool was wanted"),
    ],
)
def test_wrong_scalars(kind: str, value: object, words: str) -> None:
    """Each says which argument it is, what came and what was wanted."""
    with pytest.raises(ArgumentError, match=rf"launch f: argument 0 \(p0\) {words}"):
        pack((kind,), (value,))
    assert issubclass(ArgumentError, TypeError)


def test_right_scalars() -> None:
    """Numbers of the parameter's own kind, from Python or NumPy."""
    assert pack(("f32",), (np.float32(2),))[:4] == struct.pack("<f", 2)
    assert pack(("u8",), (np.uint8(200),))[:1] == b"\xc8"
    assert pack(("bool", "bool"), (True, np.bool_(False)))[:2] == b"\x01\x00"
    assert pack(("bf16",), (ml_dtypes.bfloat16(1.5),))[:2] == b"\xc0\x3f"
    assert pack(("i32",), (True,))[:4] == b"\x01\x00\x00\x00"


def test_wrong_count() -> None:
    """The message holds both counts and the signature."""
    with pytest.raises(ArgumentError, match=r"1 arguments came, 2 are wanted; f\(p0: uint64, p1: float32\)"):
        pack(("u64", "f32"), (1,))


def test_signature_that_does_not_fit_the_file() -> None:
    """Count, width and kind of the catalogue's signature are compared with the file's metadata."""
    f32 = dtypes.float32
    cases: list[tuple[list[Parameter], str]] = [
        ([scalar("n")], "has 2 arguments in the file, its signature 1; rebuild the file"),
        ([scalar("n", dtypes.uint32), result("out", f32)], r"argument 0 \(n\) is 8 bytes of kind by_value in the file"),
        (
            [scalar("n"), scalar("out")],
            r"argument 1 \(out\) is 8 bytes of kind global_buffer in the file, uint64 by value",
        ),
        (
            [source("n", f32), result("out", f32)],
            r"argument 0 \(n\) is 8 bytes of kind by_value in the file, a pointer",
        ),
    ]
    for parameters, words in cases:
        with pytest.raises(CodeObjectError, match=words):
            arguments.packer(kernel("u64", "ptr"), parameters, NoDriver())


@pytest.fixture
def foreign(double: Double) -> Function:
    """A kernel of which only the metadata is known: (u64, pointer, pointer, 4 bytes, 1 byte)."""
    return rk.Module.load_data(samples.compile_hip(samples.ADD), rk.Device("hip:0")).get_function("add_f32")


def test_foreign_kernels_take_sized_scalars(foreign: Function) -> None:
    """NumPy and ctypes scalars, structures and bytes bring their width."""
    x = foreign.module.device.alloc(8)
    expected = struct.pack("<QQQfB3x", 5, x.address, 0, 2.0, 1)
    for five in (np.uint64(5), ctypes.c_uint64(5), (5).to_bytes(8, "little"), np.array([5, 0], np.uint32)):
        assert foreign.pack(five, x, None, np.float32(2), np.uint8(1)) == expected


@pytest.mark.parametrize(
    ("index", "value", "words"),
    [
        (0, 5, r"argument 0 is the Python int 5, but the file says only that 8 bytes are wanted; .*numpy\.int64\(5\)"),
        (3, 2.0, r"argument 3 is the Python float 2\.0, .* 4 bytes .*numpy\.float32\(2\.0\)"),
        (3, np.float64(2), r"argument 3 is 8 bytes wide \(float64\), 4 are wanted"),
        (4, b"ab", r"argument 4 is 2 bytes wide \(bytes\), 1 are wanted"),
        (4, "a", r"argument 4 is a str; pass a sized scalar or bytes of 1 bytes"),
        (1, 0x1000, r"argument 1 is a int, a pointer was wanted; pass device memory"),
        (1, np.zeros(4), r"argument 1 is a ndarray, a pointer was wanted"),
    ],
)
def test_foreign_kernels_refuse_guesses(foreign: Function, index: int, value: object, words: str) -> None:
    """A width is never guessed from a Python number, and host memory is no device memory."""
    x = foreign.module.device.alloc(8)
    args: list[object] = [np.uint64(5), x, x, np.float32(2), np.uint8(1)]
    args[index] = value
    with pytest.raises(ArgumentError, match=words):
        foreign(*args, grid=1, block=64)


def test_declared_parameters_give_a_foreign_kernel_names_and_dtypes(foreign: Function) -> None:
    """With a signature the same kernel takes Python numbers, and errors name the parameter."""
    f32 = dtypes.float32
    parameters = [scalar("n"), source("x", f32), result("out", f32), scalar("a", f32), scalar("b", dtypes.uint8)]
    function = foreign.module.get_function("add_f32", parameters)
    x = function.module.device.alloc(8)
    assert function.pack(5, x, x, 2.0, 1) == struct.pack("<QQQfB3x", 5, x.address, x.address, 2.0, 1)
    assert function.signature == (
        "add_f32(n: uint64, x: pointer to float32, out: pointer to float32, a: float32, b: uint8)"
    )
    with pytest.raises(ArgumentRangeError, match=r"argument 4 \(b\) is 300; uint8 holds 0 to 255"):
        function(5, x, x, 2.0, 300, grid=1, block=64)
    with pytest.raises(ArgumentError, match=r"argument 2 \(out\) is None; this parameter needs device memory"):
        function(5, x, None, 2.0, 1, grid=1, block=64)


def test_pointers_into_memory(foreign: Function) -> None:
    """`memory.at(offset)` points inside; outside of the memory it is refused."""
    x = foreign.module.device.alloc(64)
    packed = foreign.pack(np.uint64(1), x.at(16), None, np.float32(0), np.uint8(0))
    assert packed[8:16] == (x.address + 16).to_bytes(8, "little")
    with pytest.raises(ValueError, match="at: byte 65 of memory that has 64; stay inside"):
        x.at(65)


def test_freed_and_foreign_memory(foreign: Function) -> None:
    """Memory that is freed, and memory of another device, is refused before the launch."""
    freed = foreign.module.device.alloc(64)
    freed.close()
    with pytest.raises(
        ClosedError, match=r"launch add_f32: argument 1 is freed memory \(64 bytes\); allocate it again"
    ):
        foreign(np.uint64(1), freed, None, np.float32(0), np.uint8(0), grid=1, block=64)
    elsewhere = rk.Device("hip:1").alloc(64)
    with pytest.raises(
        ArgumentError, match="argument 2 is memory of hip:1, the kernel is on hip:0; copy it there first"
    ):
        foreign(np.uint64(1), None, elsewhere, np.float32(0), np.uint8(0), grid=1, block=64)


def test_typed_arrays_are_checked_by_dtype(foreign: Function) -> None:
    """An object with memory, offset and dtype is a pointer; of the wrong dtype it is an error."""

    class Typed:
        def __init__(self, dtype: dtypes.DType) -> None:
            self.memory, self.dtype = foreign.module.device.alloc(64), dtype
            self.address = self.memory.address + 8

    f32 = dtypes.float32
    parameters = [scalar("n"), source("x", f32), result("out", f32), scalar("a", f32), scalar("b", dtypes.uint8)]
    function = foreign.module.get_function("add_f32", parameters)
    right = Typed(f32)
    packed = function.pack(1, right, right, 0, 0)
    assert packed[8:16] == (right.memory.address + 8).to_bytes(8, "little")
    with pytest.raises(ArgumentError, match=r"argument 1 \(x\) points to float16, float32 was wanted; cast it first"):
        function(1, Typed(dtypes.float16), right, 0, 0, grid=1, block=64)


def test_packed_block_must_cover_the_arguments(foreign: Function) -> None:
    """launch_packed refuses a block that ends before the last argument."""
    with pytest.raises(ArgumentError, match="an argument block of 16 bytes came, the kernel reads 29"):
        foreign.launch_packed(bytes(16), grid=1, block=64)


def test_packed_block_is_filled_to_the_segment(foreign: Function, double: Double) -> None:
    """What a shorter block leaves out arrives as zeros; a longer one arrives whole."""
    for packed in (bytes(range(29)), bytes(range(64))):
        foreign.launch_packed(packed, grid=1, block=64)
        assert double.arguments() == packed.ljust(32, b"\0")
