"""Memory instructions: what each moves. Addresses follow from the encoding."""

from __future__ import annotations

from rocmkern.emulator.meaning.api import Access, memory

_FLAT = ("global", "flat", "scratch", "buffer")

for _n in (1, 2, 3, 4):
    _suffix = "dword" if _n == 1 else f"dwordx{_n}"
    for _space in _FLAT:
        memory(f"{_space}_load_{_suffix} {_space}_load_b{32 * _n}", Access("load", count=_n))
        memory(f"{_space}_store_{_suffix} {_space}_store_b{32 * _n}", Access("store", count=_n))
for _n in (1, 2, 3, 4, 8, 16):
    _suffix = "dword" if _n == 1 else f"dwordx{_n}"
    memory(f"s_load_{_suffix} s_load_b{32 * _n}", Access("load", count=_n))
