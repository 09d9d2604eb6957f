"""What a note or a descriptor claims of a kernel: what no kernel of the target can have is an error."""

from __future__ import annotations

import struct
from typing import Any

import msgpack
import numpy as np
import pytest

import rocmkern as rk
from rocmkern import codeobject
from rocmkern.errors import CodeObjectError, LaunchError
from tests import samples

ELF = samples.compile_hip(samples.ADD)


def slots(**claims: Any) -> bytes:
    """A hand-written file whose kernel claims something; an argument's field where the name begins with `arg_`."""
    document = msgpack.unpackb(samples.pads(0))
    (kernel,) = document["amdhsa.kernels"]
    for name, value in claims.items():
        row = kernel[".args"][0] if name.startswith("arg_") else kernel
        row["." + name.removeprefix("arg_")] = value
    return samples.hand_written(msgpack.packb(document))


def with_descriptor(kernel: str, offset: int, value: bytes) -> bytes:
    """A file of two kernels with other bytes in a descriptor."""
    found = codeobject.read(ELF).kernels[kernel].descriptor
    start = ELF.index(found) + offset
    return ELF[:start] + value + ELF[start + len(value) :]


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("lanes", [1, 3, 16, 31, 32, 33, 48, 63, 64, 65, 96, 127])
def test_waves_are_the_targets(target: str, lanes: int) -> None:
    """64 threads up to gfx9, later what the descriptor says; a note that says otherwise is refused."""
    image = bytearray(samples.compile_hip(samples.ADD, target))
    right = 64 if target.startswith("gfx9") else 32
    at = image.index(b".wavefront_size") + len(b".wavefront_size")
    assert image[at] == right
    image[at] = lanes
    if lanes == right:
        assert codeobject.read(bytes(image)).kernels["add_f32"].wave_size == right
        return
    words = f"waves of {lanes} threads by its note, of {right} by its descriptor for {target}"
    with pytest.raises(CodeObjectError, match=words):
        codeobject.read(bytes(image))


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"wavefront_size": 0x100000040}, ".wavefront_size is 4294967360, more than"),
        ({"group_segment_fixed_size": (1 << 20) + 1}, ".group_segment_fixed_size is 1048577, more than"),
        ({"private_segment_fixed_size": (1 << 18) + 1}, ".private_segment_fixed_size is 262145, more than"),
        ({"kernarg_segment_size": 1 << 40}, ".kernarg_segment_size is 1099511627776, more than"),
        ({"kernarg_segment_align": 1 << 17}, ".kernarg_segment_align is 131072, more than"),
        ({"arg_offset": 1 << 17}, ".offset is 131072, more than"),
        ({"arg_size": 1 << 17}, ".size is 131072, more than"),
        ({"arg_size": -1}, ".size is -1, a int was expected"),
        ({"arg_size": False}, ".size is False, a int was expected"),
        ({"arg_offset": [0]}, ".offset is a list, a int was expected"),
        ({"arg_value_kind": 7}, ".value_kind is 7, a str was expected"),
        ({"sgpr_count": 1 << 33}, ".sgpr_count is 8589934592, more than"),
        ({"max_flat_workgroup_size": "all"}, ".max_flat_workgroup_size is a str, a int was expected"),
        ({"reqd_workgroup_size": [64, 1]}, "requires a block of 2 dimensions"),
        ({"reqd_workgroup_size": [64, 1, None]}, ".reqd_workgroup_size is a NoneType"),
        ({"name": ""}, "a kernel without a name"),
        ({"args": {}}, ".args is a dict, a list was expected"),
    ],
)
def test_sizes_that_nothing_has(claims: dict[str, Any], words: str) -> None:
    """Refused before memory is taken for them."""
    with pytest.raises(CodeObjectError, match=words):
        codeobject.read(slots(**claims))


def test_text_of_a_note_is_not_repeated() -> None:
    """A key of the wrong type is named with its type alone: what is in the file is not the message's to tell."""
    with pytest.raises(CodeObjectError) as told:
        codeobject.read(slots(kernarg_segment_size="TOPSECRET"))
    assert "SECRET" not in str(told.value)


@pytest.mark.parametrize(
    ("kernel", "entry", "words"),
    [
        ("add_f32", -(1 << 20), r"add_f32 begins at byte -\d+ of \d+ bytes of instructions"),
        ("add_f32", 1 << 40, r"add_f32 begins at byte \d+ of \d+ bytes of instructions"),
        ("store_one", (1 << 63) - 1, "store_one begins at byte"),
        ("store_one", None, "store_one begins at byte"),
    ],
)
def test_a_kernel_begins_in_the_instructions(kernel: str, entry: int | None, words: str) -> None:
    """An entry outside them, or between two words (one byte behind the right one), is refused; other kernels run."""
    found = codeobject.read(ELF).kernels[kernel]
    right = found.entry_address - found.descriptor_address
    data = with_descriptor(kernel, 16, struct.pack("<q", right + 1 if entry is None else entry))
    with rk.Module.load_data(data, "emulator:gfx942") as module:
        with pytest.raises(CodeObjectError, match=words):
            module.get_function(kernel)
        (other,) = set(module.kernels) - {kernel}
        module.get_function(other)


def test_a_kernel_without_a_descriptor_is_refused() -> None:
    """As one whose symbol lies outside the file's content has."""
    with (
        rk.Module.load_data(slots(symbol="absent.kd"), "emulator:gfx942") as module,
        pytest.raises(CodeObjectError, match=r"slots has no descriptor absent\.kd in the file's content"),
    ):
        module.get_function("slots")


def test_a_pointer_of_four_bytes_takes_four() -> None:
    """As those into LDS have; what follows lies where the file says."""
    with rk.Module.load_data(slots(arg_size=4), "emulator:gfx942") as module:
        packed = module.get_function("slots").pack(b"abcd", np.uint32(7))
    assert packed == struct.pack("<4s12xI12x", b"abcd", 7)


def test_a_hidden_argument_has_room_for_its_value() -> None:
    """A grid that the bytes of the file's argument can't say is an error of the launch."""
    data = slots(arg_value_kind="hidden_block_count_x", arg_size=1)
    device = rk.Device("emulator:gfx942")
    with rk.Module.load_data(data, device) as module:
        function = module.get_function("slots")
        function.launch_packed(bytes(32), grid=255, block=256)
        with pytest.raises(LaunchError, match="slots: hidden_block_count_x is 256, the file has 1 bytes for it"):
            function.launch_packed(bytes(32), grid=256, block=256)
