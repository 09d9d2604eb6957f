"""What PTX says of its kernels."""

from __future__ import annotations

import pytest

from rocmkern import codeobject, targets
from rocmkern.errors import CodeObjectError, TargetNotBuilt

TEXT = b"""
// a comment with .entry nothing(
.version 8.0
.target sm_90
.address_size 64
.visible .entry mixed(
    .param .u64 mixed_param_0,
    .param .u64 .ptr .align 1 mixed_param_1,
    .param .u8 mixed_param_2,
    .param .f64 mixed_param_3,
    .param .u16 mixed_param_4,
    .param .align 4 .b8 mixed_param_5[12]
)
.maxntid 256, 1, 1
{
    ret;
}
.visible .entry empty()
{
    ret;
}
.visible .entry awaits()
{
    // what lies before
    griddepcontrol.wait;
    ret;
}
.visible .entry begins()
{
    griddepcontrol.launch_dependents; // not griddepcontrol.wait
    ret;
}
"""
HEAD = b".version 8.0\n.target sm_80\n"


def test_parameters_have_natural_offsets() -> None:
    """(u64, pointer, u8, f64, u16, 12 bytes aligned to 4) lie at 0, 8, 16, 24, 32, 36."""
    kernel = codeobject.read(TEXT).kernels["mixed"]
    assert [(a.offset, a.size) for a in kernel.arguments] == [(0, 8), (8, 8), (16, 1), (24, 8), (32, 2), (36, 12)]
    assert [a.is_pointer for a in kernel.arguments] == [False, True, False, False, False, False]
    assert kernel.kernarg_size == 48
    assert kernel.max_threads_per_block == 256


def test_every_entry_is_a_kernel() -> None:
    """Comments are no kernels; an entry without parameters is one."""
    read = codeobject.read(TEXT)
    assert list(read.kernels) == ["mixed", "empty", "awaits", "begins"]
    assert read.kernels["empty"].arguments == ()
    assert read.target == "sm_90"


def test_kernels_that_wait_for_the_launch_ahead_are_told_by_the_instruction() -> None:
    """Only the kernel whose body has `griddepcontrol.wait` may begin early; a comment is no instruction."""
    kernels = codeobject.read(TEXT).kernels
    assert [name for name, kernel in kernels.items() if kernel.awaits] == ["awaits"]


def test_text_without_a_target_is_refused() -> None:
    """A PTX text must say its target."""
    with pytest.raises(CodeObjectError, match="ELF"):
        codeobject.read(TEXT.replace(b".target sm_90", b""))


def test_older_ptx_serves_newer_devices() -> None:
    """sm_80 runs on an sm_90 device, sm_90 does not run on sm_80."""
    assert targets.resolve("sm_90", ("gfx942", "sm_80"), "affine") == "sm_80"
    assert targets.resolve("sm_90", ("sm_80", "sm_90"), "affine") == "sm_90"
    with pytest.raises(TargetNotBuilt, match="rocmkern build --target sm_80"):
        targets.resolve("sm_80", ("gfx942", "sm_90"), "affine")


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        (".param .align 0 .b8 c[24]", "aligned to 0 bytes"),
        (".param .align 24 .b8 c[24]", "aligned to 24 bytes"),
        (".param .b7 c", "of type 'b7'"),
        (".param .texref t", "of type 'texref'"),
        (f".param .b8 c[{'9' * 5000}]", "a number of 5000 digits"),
        (".param .b8 c[70000]", "parameters of 70000 bytes, 65536 are the most"),
        (".param .u64 a, .param .b8 c[65530]", "parameters of 65538 bytes"),
    ],
)
def test_parameters_that_ptx_does_not_have(parameter: str, words: str) -> None:
    """Said of the kernel."""
    with pytest.raises(CodeObjectError, match=f"k has .*{words}"):
        codeobject.read(HEAD + f".entry k({parameter})\n{{ ret; }}".encode())


def test_kernels_behind_a_damaged_one_are_read() -> None:
    """What is no head of a kernel is passed over."""
    assert list(codeobject.read(HEAD + b".entry a(\n.visible .entry b(.param .u64 x) { ret; }").kernels) == ["b"]
