"""Source lines of a code object's instructions, and the functions put in there, from its DWARF."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from attrs import frozen
from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.ranges import BaseAddressEntry, RangeEntry
from elftools.elf.elffile import ELFFile

UNREADABLE = (ELFError, DWARFError, KeyError, IndexError, ValueError, AttributeError, TypeError)


@frozen
class Frame:
    """A line, and the function that it is in."""

    source: str  # "file:line"
    function: str = ""


@frozen
class Scope:
    """Code of one function, or of a call of it that was put into another one."""

    ranges: tuple[tuple[int, int], ...]
    function: str
    call: str  # "file:line" of the call that it was put in for

    def holds(self, address: int) -> bool:
        return any(low <= address < high for low, high in self.ranges)


@frozen
class Lines:
    """Sorted addresses, each with the line that holds from there on; "" for none."""

    addresses: tuple[int, ...]
    sources: tuple[str, ...]
    scopes: tuple[Scope, ...] = ()  # the inner ones behind those that they are in

    @staticmethod
    def of(image: bytes) -> Lines:
        """The line table of an ELF; an empty one where it has none that can be read."""
        rows, scopes = dict[int, str](), list[Scope]()
        try:
            elf = ELFFile(io.BytesIO(image))
            dwarf: Any = elf.get_dwarf_info() if elf.has_dwarf_info() else None
            for unit in dwarf.iter_CUs() if dwarf is not None else ():
                program = dwarf.line_program_for_CU(unit)
                if program is not None:
                    _read(program, rows)
                    scopes += _scopes(dwarf, unit, program.header)
        except UNREADABLE:
            rows, scopes = {}, []
        held = sorted(rows.items())
        return Lines(tuple(address for address, _ in held), tuple(source for _, source in held), tuple(scopes))

    def source(self, address: int) -> str:
        place = bisect_right(self.addresses, address) - 1
        return self.sources[place] if place >= 0 else ""

    def frames(self, address: int) -> tuple[Frame, ...]:
        """The line of an instruction, then those of the calls that it was put in for, outward."""
        source, found = self.source(address), list[Frame]()
        if source:
            for scope in reversed([s for s in self.scopes if s.holds(address)]):
                found.append(Frame(source, scope.function))
                source = scope.call
        return tuple(found) or ((Frame(source),) if source else ())


def _name(header: Any, file: int) -> str:
    return str(header.file_entry[file - (header.version < 5)].name.decode(errors="replace"))


def _read(program: Any, rows: dict[int, str]) -> None:
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if state.end_sequence:
            rows.setdefault(state.address, "")
        elif state.line:  # 0: made by the compiler, so the row before holds on
            rows[state.address] = f"{_name(program.header, state.file)}:{state.line}"


def _scopes(dwarf: Any, unit: Any, header: Any) -> Iterator[Scope]:
    for entry in unit.iter_DIEs():
        if entry.tag not in ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine"):
            continue
        ranges = tuple(_ranges(dwarf, unit, entry))
        if ranges:
            attributes, call = entry.attributes, ""
            if "DW_AT_call_line" in attributes:
                call = f"{_name(header, attributes['DW_AT_call_file'].value)}:{attributes['DW_AT_call_line'].value}"
            yield Scope(ranges, _function(entry), call)


def _function(entry: Any) -> str:
    while "DW_AT_name" not in entry.attributes:
        origin = next((a for a in ("DW_AT_abstract_origin", "DW_AT_specification") if a in entry.attributes), None)
        if origin is None:
            return ""
        entry = entry.get_DIE_from_attribute(origin)
    return str(entry.attributes["DW_AT_name"].value.decode(errors="replace"))


def _ranges(dwarf: Any, unit: Any, entry: Any) -> Iterator[tuple[int, int]]:
    """Where the code of an entry begins and ends."""
    attributes = entry.attributes
    if "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        yield low, high.value if high.form == "DW_FORM_addr" else low + high.value
    elif "DW_AT_ranges" in attributes:
        top = unit.get_top_DIE().attributes
        base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
        held = attributes["DW_AT_ranges"]
        for one in dwarf.range_lists().get_range_list_at_offset(held.value, cu=unit):
            if isinstance(one, BaseAddressEntry):
                base = one.base_address
            elif isinstance(one, RangeEntry):
                start = 0 if getattr(one, "is_absolute", False) else base
                yield start + one.begin_offset, start + one.end_offset
