"""The types of kernels' arguments, from the debug information in LLVM's text to the metadata that a loader reads.

HIP's compiler writes names and sizes into a code object, and no types: 4 bytes are an int or a float. OpenCL's writes
types too, by a note on the kernel (`kernel_arg_type`), which works for HIP's kernels just as well.
"""

from __future__ import annotations

import re
from typing import Final

_KERNEL: Final = re.compile(r"^(define [^\n]*\bamdgpu_kernel\b[^\n]*? !dbg !(\d+)[^\n]*?)( \{)$", re.MULTILINE)
_NODE: Final = re.compile(r"^!(\d+) = (.*)$", re.MULTILINE)
_REFERENCE: Final = re.compile(r"null|!(\d+)")
_BASIC: Final[dict[tuple[str, int], str]] = {
    ("DW_ATE_boolean", 8): "bool",
    ("DW_ATE_float", 16): "half", ("DW_ATE_float", 32): "float", ("DW_ATE_float", 64): "double",
    ("DW_ATE_signed_char", 8): "char", ("DW_ATE_signed", 16): "short", ("DW_ATE_signed", 32): "int",
    ("DW_ATE_signed", 64): "long", ("DW_ATE_unsigned_char", 8): "uchar", ("DW_ATE_unsigned", 16): "ushort",
    ("DW_ATE_unsigned", 32): "uint", ("DW_ATE_unsigned", 64): "ulong",
}  # fmt: skip
_POINTERS: Final = ("DW_TAG_pointer_type", "DW_TAG_reference_type", "DW_TAG_rvalue_reference_type")
_STRUCTS: Final = {"__half": "half"}


def noted(text: str) -> str:
    """The module with a note of its arguments' types on every kernel."""
    nodes = dict(_NODE.findall(text))
    free = max(map(int, nodes), default=0) + 1
    notes: list[str] = []

    def note(found: re.Match[str]) -> str:
        names = ", ".join(f'!"{_name(reference, nodes)}"' for reference in _parameters(found[2], nodes))
        notes.append(f"!{free + len(notes)} = !{{{names}}}")
        return f"{found[1]} !kernel_arg_type !{free + len(notes) - 1}{found[3]}"

    return "\n".join((_KERNEL.sub(note, text), *notes, ""))


def _field(node: str, name: str) -> str:
    found = re.search(rf'\b{name}: (?:"([^"]*)"|([^,)]+))', node)
    return (found[1] or found[2] or "") if found else ""


def _parameters(program: str, nodes: dict[str, str]) -> list[str]:
    """The numbers of the parameters' types; "" for one that has none."""
    signature = nodes[_field(nodes[program], "type").lstrip("!")]
    types = nodes[_field(signature, "types").lstrip("!")]
    return _REFERENCE.findall(types.split("{", 1)[1])[1:]  # the first is the result's


def _name(reference: str, nodes: dict[str, str]) -> str:
    """A type under OpenCL's name of it, a struct under its own."""
    node = nodes.get(reference, "")
    tag, base = _field(node, "tag"), _field(node, "baseType").lstrip("!")
    if "DIBasicType(" in node:
        name = _field(node, "name")
        return name if name == "__bf16" else _BASIC.get((_field(node, "encoding"), int(_field(node, "size"))), name)
    if tag in _POINTERS:
        return f"{_name(base, nodes) or 'void'}*"
    if "DICompositeType(" in node and tag != "DW_TAG_enumeration_type":
        return _STRUCTS.get(_field(node, "name"), _field(node, "name"))
    return _name(base, nodes) if base else ""
