"""From bytes to a CodeObject: PTX text, raw ELF, offload bundle or compressed bundle; code object v3 to v6."""

from __future__ import annotations

from weakref import WeakValueDictionary

from rocmkern import targets
from rocmkern.codeobject import metadata, target_id
from rocmkern.codeobject.bundle import choose, is_bundle
from rocmkern.codeobject.elf import read_elf
from rocmkern.codeobject.model import MOST_BYTES, CodeObject
from rocmkern.codeobject.ptx import is_ptx, read_ptx
from rocmkern.errors import CodeObjectError

_LONGEST_TARGET = 256  # letters
_alive: WeakValueDictionary[bytes, CodeObject] = WeakValueDictionary()


def read(data: bytes, target: str | None = None, *, most_bytes: int = MOST_BYTES) -> CodeObject:
    """The code object in `data`: of a bundle, the entry that serves a device of `target` best.

    Raises CodeObjectError if the bytes can't be read, if a bundle has several device entries and no `target` says
    which, or if the file asks for more than `most_bytes` of memory beyond its own size; TargetNotBuilt if nothing in
    `data` runs on `target`.
    """
    data = bytes(data)
    if is_bundle(data):
        data = choose(data, target, most_bytes)
    code_object = _alive.get(data)  # a module and the driver that loads it read the same file
    if code_object is None:
        code_object = _alive[data] = read_ptx(data) if is_ptx(data) else _from_elf(data, most_bytes)
    blank = code_object.blank_bytes
    if blank > most_bytes:
        raise CodeObjectError(
            f"read: segments of {blank} bytes more than the file has, {most_bytes} are the most; if you trust the "
            f"file, load it with most_bytes={blank}"
        )
    if target is not None:
        targets.serving((code_object.target,), target)
    return code_object


def _from_elf(data: bytes, most_bytes: int) -> CodeObject:
    elf = read_elf(data)
    if elf.metadata is None:
        raise CodeObjectError("read: the ELF has no AMDGPU metadata note; it is truncated or holds no kernels")
    document = metadata.decode(elf.metadata, most_bytes)
    # The flags decide: hand-written notes leave the target out, and Triton spells its triple another way.
    stated = document.get("amdhsa.target")
    stated = stated if isinstance(stated, str) else ""
    target = target_id.from_flags(elf.flags, elf.version) or target_id.from_text(stated[:_LONGEST_TARGET])
    if target is None:
        raise CodeObjectError(
            f"read: unknown machine {elf.flags & 0xFF:#x} in the ELF flags, and no target in the note"
        )
    return CodeObject(
        target=target,
        version=elf.version,
        generic_version=elf.flags >> 24 if elf.version >= 6 else 0,
        kernels=metadata.kernels(document, elf.symbols, elf.segments, target),
        segments=elf.segments,
        undefined_symbols=elf.undefined_symbols,
        symbols=elf.symbols,
        relocations=elf.relocations,
        image=data,
        formats=metadata.formats(document),
    )
