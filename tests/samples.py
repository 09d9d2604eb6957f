"""Small code objects for tests, made by zig's clang: from HIP source or from assembly."""

from __future__ import annotations

import functools
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import msgpack

HIP_PRELUDE = '#define KERNEL extern "C" __attribute__((global))\n'

ADD = """
KERNEL void add_f32(unsigned long n, const float *x, float *out, float a, unsigned char b) {
    unsigned long i = __builtin_amdgcn_workgroup_id_x() * 64ul + __builtin_amdgcn_workitem_id_x();
    if (i < n) out[i] = x[i] + a + b;
}
KERNEL __attribute__((amdgpu_flat_work_group_size(64, 256))) void store_one(int *out) {
    __attribute__((shared)) static int staged[8];
    staged[0] = 1;
    out[0] = staged[0];
}
"""


def _zig(*arguments: str, folder: str) -> None:
    done = subprocess.run([sys.executable, "-m", "ziglang", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@functools.cache
def compile_hip(source: str, target: str = "gfx942", version: int = 6, flags: tuple[str, ...] = ()) -> bytes:
    """The linked code object of a header-free HIP source whose kernels are marked KERNEL."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "k.hip").write_text(HIP_PRELUDE + source)
        hip = ("-x", "hip", f"--offload-arch={target}", "--cuda-device-only", "-nogpuinc", "-nogpulib", "-O3")
        abi = f"-mcode-object-version={version}"
        _zig(
            "clang",
            *hip,
            abi,
            "-emit-llvm",
            "--no-gpu-bundle-output",
            *flags,
            "-c",
            "k.hip",
            "-o",
            "k.bc",
            folder=folder,
        )
        device = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O3", "-x", "ir")
        _zig("clang", *device, "-c", "k.bc", "-o", "k.o", folder=folder)
        return _link(folder)


@functools.cache
def assemble(source: str, target: str = "gfx942", version: int = 5, flags: tuple[str, ...] = ()) -> bytes:
    """The linked code object of an assembly text."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "k.s").write_text(source)
        device = ("-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", f"-mcode-object-version={version}", *flags)
        _zig("clang", *device, "-c", "k.s", "-o", "k.o", folder=folder)
        return _link(folder)


def _link(folder: str) -> bytes:
    _zig("ld.lld", "-shared", "k.o", "-o", "k.hsaco", folder=folder)
    return Path(folder, "k.hsaco").read_bytes()


# As AITER's hand-written files are: no target, version [1, 0], pads listed, kernarg size only in the note.
HAND_WRITTEN = """
.text
.globl slots
.type slots,@function
.p2align 8
slots:
  s_endpgm
.size slots, .-slots
.rodata
.p2align 6
.amdhsa_kernel slots
  .amdhsa_group_segment_fixed_size 0
  .amdhsa_next_free_vgpr 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_accum_offset 8
.end_amdhsa_kernel
.section .note.hand,"a",@note
.long 7
.long note_end-note_start
.long 32
.asciz "AMDGPU"
.p2align 2
note_start:
"""


def hand_written(note: bytes, target: str = "gfx942", version: int = 5) -> bytes:
    """A code object whose metadata note is `note`, byte for byte."""
    data = ", ".join(map(str, note))
    return assemble(f"{HAND_WRITTEN}.byte {data}\nnote_end:\n.p2align 2\n", target, version)


def pads(count: int) -> bytes:
    """The note of kernel `slots`: a pointer and an integer in 16-byte slots, `count` pads behind, block of 256."""
    pointer = {".name": "out", ".offset": 0, ".size": 8, ".value_kind": "global_buffer", ".address_space": "global"}
    pad = {".name": "pad", ".offset": 8, ".size": 8, ".value_kind": "by_value"}
    number = {".name": "n", ".offset": 16, ".size": 4, ".value_kind": "by_value"}
    tail = [{".name": "pad", ".offset": 20 + 4 * i, ".size": 4, ".value_kind": "by_value"} for i in range(count)]
    kernel = {
        ".name": "slots", ".symbol": "slots.kd", ".args": [pointer, pad, number, *tail], ".kernarg_segment_size": 32,
        ".kernarg_segment_align": 4, ".wavefront_size": 64, ".max_flat_workgroup_size": 256,
        ".reqd_workgroup_size": [256, 1, 1], ".sgpr_count": 112, ".vgpr_count": 8, ".group_segment_fixed_size": 0,
        ".private_segment_fixed_size": 0,
    }  # fmt: skip
    return bytes(msgpack.packb({"amdhsa.version": [1, 0], "amdhsa.kernels": [kernel]}))


def bundle(entries: dict[str, bytes]) -> bytes:
    """An uncompressed offload bundle of triple → data."""
    head = 32 + sum(24 + len(t) for t in entries)
    table, body = b"", b""
    for triple, data in entries.items():
        table += struct.pack("<QQQ", head + len(body), len(data), len(triple)) + triple.encode()
        body += data
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries)) + table + body
