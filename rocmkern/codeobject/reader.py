"""From bytes to a CodeObject: PTX text, raw ELF, offload bundle or compressed bundle; code object v3 to v6."""

from __future__ import annotations

from weakref import WeakValueDictionary

from rocmkern import targets
from rocmkern.codeobject import metadata, target_id
from rocmkern.codeobject.bundle import BundleEntry, is_bundle, read_bundle
from rocmkern.codeobject.elf import read_elf
from rocmkern.codeobject.model import CodeObject
from rocmkern.codeobject.ptx import is_ptx, read_ptx
from rocmkern.errors import CodeObjectError

_alive: WeakValueDictionary[bytes, CodeObject] = WeakValueDictionary()


def read(data: bytes, target: str | None = None) -> CodeObject:
    """The code object in `data`: of a bundle, the entry that serves a device of `target` best.

    Raises CodeObjectError if the bytes can't be read, or if a bundle has several device entries and no `target` says
    which; TargetNotBuilt if nothing in `data` runs on `target`.
    """
    data = bytes(data)
    if is_bundle(data):
        data = _choose(read_bundle(data), target).data
    code_object = _alive.get(data)  # a module and the driver that loads it read the same file
    if code_object is None:
        code_object = _alive[data] = read_ptx(data) if is_ptx(data) else _from_elf(data)
    if target is not None:
        targets.serving((code_object.target,), target)
    return code_object


def _choose(entries: tuple[BundleEntry, ...], target: str | None) -> BundleEntry:
    by_target = {e.target: e for e in entries if e.target is not None and e.data}
    held = ", ".join(sorted(by_target))
    if not by_target:
        triples = ", ".join(e.triple for e in entries) or "nothing"
        raise CodeObjectError(f"read bundle: no device code inside; it holds {triples}")
    if target is not None:
        return by_target[targets.serving(tuple(by_target), target)]
    if len(by_target) > 1:
        raise CodeObjectError(f"read bundle: it holds code for {held}; say for which target")
    return next(iter(by_target.values()))


def _from_elf(data: bytes) -> CodeObject:
    elf = read_elf(data)
    if elf.metadata is None:
        raise CodeObjectError("read: the ELF has no AMDGPU metadata note; it is truncated or holds no kernels")
    document = metadata.decode(elf.metadata)
    # The flags decide: hand-written notes leave the target out, and Triton spells its triple another way.
    stated = document.get("amdhsa.target")
    target = target_id.from_flags(elf.flags, elf.version) or target_id.from_text(str(stated or ""))
    if target is None:
        raise CodeObjectError(
            f"read: unknown machine {elf.flags & 0xFF:#x} in the ELF flags, and no target in the note"
        )
    return CodeObject(
        target=target,
        version=elf.version,
        generic_version=elf.flags >> 24 if elf.version >= 6 else 0,
        kernels=metadata.kernels(document, elf.symbols, elf.segments),
        segments=elf.segments,
        undefined_symbols=elf.undefined_symbols,
        symbols=elf.symbols,
        relocations=elf.relocations,
        image=data,
    )
