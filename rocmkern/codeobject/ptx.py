"""Reading what PTX text says of its kernels: the NVPTX build of the same sources, for the cuda driver."""

from __future__ import annotations

import re
from typing import Final

from rocmkern.codeobject.model import Argument, CodeObject, Kernel
from rocmkern.errors import CodeObjectError

_TARGET: Final = re.compile(r"^\.target\s+(sm_\w+)", re.M)
_ENTRY: Final = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)[{;]")
_PARAMETER: Final = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(\.ptr\b)?(?:[^\[,]*\[(\d+)\])?")
_THREADS: Final = re.compile(r"\.(maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_AWAITS: Final = "griddepcontrol.wait"
_WARP: Final = 32
_MAX_THREADS: Final = 1024


def is_ptx(data: bytes) -> bool:
    return b".version" in data[:4096] and b".target sm_" in data[:4096]


def read_ptx(data: bytes) -> CodeObject:
    """The kernels of a PTX text and their parameters, laid out with natural alignment as PTX defines.

    Raises CodeObjectError where the text has no target.
    """
    text = re.sub(r"//[^\n]*", "", data.decode("utf-8", "replace"))
    target = _TARGET.search(text)
    if target is None:
        raise CodeObjectError("read code object: the PTX text names no target; it needs a `.target sm_…` line")
    entries = list(_ENTRY.finditer(text))
    ends = (*(entry.start() for entry in entries[1:]), len(text))
    kernels = {
        entry[1]: _kernel(entry[1], entry[2], entry[3], text.find(_AWAITS, entry.end(), end) >= 0)
        for entry, end in zip(entries, ends, strict=True)
    }
    return CodeObject(
        target=target[1],
        version=0,
        generic_version=0,
        kernels=kernels,
        segments=(),
        undefined_symbols=(),
        symbols={},
        relocations=(),
        image=data,
    )


def _kernel(name: str, parameters: str, directives: str, awaits: bool) -> Kernel:
    arguments, end = _arguments(parameters)
    threads = _THREADS.search(directives)
    block = tuple(int(n or 1) for n in threads.groups()[1:]) if threads else (_MAX_THREADS, 1, 1)
    return Kernel(
        name=name,
        symbol=name,
        arguments=arguments,
        kernarg_size=end,
        kernarg_align=8,
        lds_size=0,
        private_size=0,
        wave_size=_WARP,
        sgprs=0,
        vgprs=0,
        agprs=0,
        sgpr_spills=0,
        vgpr_spills=0,
        max_threads_per_block=block[0] * block[1] * block[2],
        required_block=(block[0], block[1], block[2]) if threads and threads[1] == "reqntid" else None,
        uses_dynamic_stack=False,
        descriptor=b"",
        descriptor_address=0,
        entry_address=0,
        awaits=awaits,
    )


def _arguments(text: str) -> tuple[tuple[Argument, ...], int]:
    arguments, end = [], 0
    for align, kind, pointer, count in _PARAMETER.findall(text):
        element = int(kind[1:]) // 8
        size = element * int(count or 1)
        alignment = int(align or element)
        offset = -(-end // alignment) * alignment
        end = offset + size
        arguments.append(Argument(offset=offset, size=size, kind="global_buffer" if pointer else "by_value"))
    return tuple(arguments), end
