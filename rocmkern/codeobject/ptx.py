"""Reading what PTX text says of its kernels: the NVPTX build of the same sources, for the cuda driver."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from rocmkern.codeobject.model import Argument, CodeObject, Kernel
from rocmkern.errors import CodeObjectError

_TARGET: Final = re.compile(r"^\.target\s+(sm_\w+)", re.M)
_ENTRY: Final = re.compile(r"\.entry\b")
_HEAD: Final = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)[{;]")
_PARAMETER: Final = re.compile(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(\.ptr\b)?(?:[^\[]*\[(\d+)\])?")
_BITS: Final = re.compile(r"(?:pred|[bfsu])(8|16|32|64|128)")
_LARGEST_BYTES: Final = 1 << 16  # of the parameters of a kernel
_THREADS: Final = re.compile(r"\.(maxntid|reqntid)\s+(\d+)(?:\s*,\s*(\d+))?(?:\s*,\s*(\d+))?")
_AWAITS: Final = "griddepcontrol.wait"
_WARP: Final = 32
_MOST_DIGITS: Final = 10
_SHOWN: Final = 60  # letters of what is wrong
_MAX_THREADS: Final = 1024


def is_ptx(data: bytes) -> bool:
    return b".version" in data[:4096] and b".target sm_" in data[:4096]


def read_ptx(data: bytes) -> CodeObject:
    """The kernels of a PTX text and their parameters, laid out with natural alignment as PTX defines.

    Raises CodeObjectError where the text has no target, or a kernel's parameters are none that PTX has.
    """
    text = re.sub(r"//[^\n]*", "", data.decode("utf-8", "replace"))
    target = _TARGET.search(text)
    if target is None:
        raise CodeObjectError("read code object: the PTX text names no target; it needs a `.target sm_…` line")
    ends = [entry.start() for entry in _ENTRY.finditer(text)] + [len(text)]
    kernels = dict[str, Kernel]()
    for start, end in pairwise(ends):
        head = _HEAD.match(text, start, end)
        if head is not None:
            kernels[head[1]] = _kernel(head[1], head[2], head[3], text.find(_AWAITS, head.end(), end) >= 0)
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
    arguments, end = _arguments(name, parameters)
    threads = _THREADS.search(directives)
    block = tuple(_number(name, n or "1") for n in threads.groups()[1:]) if threads else (_MAX_THREADS, 1, 1)
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


def _arguments(kernel: str, text: str) -> tuple[tuple[Argument, ...], int]:
    arguments, end = [], 0
    for part in text.split(","):
        found = _PARAMETER.search(part)
        if found is None:
            continue
        align, kind, pointer, count = found.groups()
        bits = _BITS.fullmatch(kind)
        if bits is None:
            raise CodeObjectError(f"read code object: {kernel[:_SHOWN]} has a parameter of type {kind[:_SHOWN]!r}")
        element = int(bits[1]) // 8
        size = element * _number(kernel, count or "1")
        alignment = _number(kernel, align or str(element))
        if alignment & (alignment - 1) or not alignment:
            raise CodeObjectError(f"read code object: {kernel[:_SHOWN]} has a parameter aligned to {alignment} bytes")
        offset = -(-end // alignment) * alignment
        end = offset + size
        if end > _LARGEST_BYTES:
            raise CodeObjectError(
                f"read code object: {kernel[:_SHOWN]} has parameters of {end} bytes, {_LARGEST_BYTES} are the most"
            )
        arguments.append(Argument(offset=offset, size=size, kind="global_buffer" if pointer else "by_value"))
    return tuple(arguments), end


def _number(kernel: str, digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise CodeObjectError(f"read code object: {kernel[:_SHOWN]} has a number of {len(digits)} digits")
    return int(digits)
