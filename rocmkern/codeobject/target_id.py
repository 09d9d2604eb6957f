"""Target ids from ELF flags: the machine number and the xnack and sramecc bits of `e_flags`."""

from __future__ import annotations

import re
from typing import Final

# EF_AMDGPU_MACH_AMDGCN_*, LLVM's AMDGPU usage document, table "AMDGPU ELF header e_flags".
MACHINES: Final[dict[int, str]] = {
    0x20: "gfx600", 0x21: "gfx601", 0x22: "gfx700", 0x23: "gfx701", 0x24: "gfx702", 0x25: "gfx703", 0x26: "gfx704",
    0x28: "gfx801", 0x29: "gfx802", 0x2A: "gfx803", 0x2B: "gfx810", 0x2C: "gfx900", 0x2D: "gfx902", 0x2E: "gfx904",
    0x2F: "gfx906", 0x30: "gfx908", 0x31: "gfx909", 0x32: "gfx90c", 0x33: "gfx1010", 0x34: "gfx1011", 0x35: "gfx1012",
    0x36: "gfx1030", 0x37: "gfx1031", 0x38: "gfx1032", 0x39: "gfx1033", 0x3A: "gfx602", 0x3B: "gfx705",
    0x3C: "gfx805", 0x3D: "gfx1035", 0x3E: "gfx1034", 0x3F: "gfx90a", 0x40: "gfx940", 0x41: "gfx1100",
    0x42: "gfx1013", 0x43: "gfx1150", 0x44: "gfx1103", 0x45: "gfx1036", 0x46: "gfx1101", 0x47: "gfx1102",
    0x48: "gfx1200", 0x49: "gfx1250", 0x4A: "gfx1151", 0x4B: "gfx941", 0x4C: "gfx942", 0x4E: "gfx1201",
    0x4F: "gfx950", 0x51: "gfx9-generic", 0x52: "gfx10-1-generic", 0x53: "gfx10-3-generic", 0x54: "gfx11-generic",
    0x55: "gfx1152", 0x58: "gfx1153", 0x59: "gfx12-generic", 0x5A: "gfx1251", 0x5F: "gfx9-4-generic",
}  # fmt: skip

_FEATURE_SIGN: Final[dict[int, str]] = {2: "-", 3: "+"}  # 0 unsupported, 1 any
_TRAILING_TARGET: Final = re.compile(r"(gfx[0-9a-z]+(?:-[0-9]+)*(?:-generic)?)((?::[a-z]+[+-])*)$")


def from_flags(flags: int, version: int) -> str | None:
    """The target id that `e_flags` of a code object of `version` states, or None for an unknown machine."""
    name = MACHINES.get(flags & 0xFF)
    if name is None:
        return None
    if version == 3:  # one bit per feature, set where it is on
        signs = {"sramecc": "+" if flags & 0x200 else "", "xnack": "+" if flags & 0x100 else ""}
    else:
        signs = {
            "sramecc": _FEATURE_SIGN.get(flags >> 10 & 3, ""),
            "xnack": _FEATURE_SIGN.get(flags >> 8 & 3, ""),
        }
    return name + "".join(f":{feature}{sign}" for feature, sign in signs.items() if sign)


def from_text(text: str) -> str | None:
    """The target id that ends a triple, whatever its head: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`."""
    match = _TRAILING_TARGET.search(text)
    return match.group(0) if match else None
