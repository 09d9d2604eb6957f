"""Source lines of a code object's instructions, from its DWARF line tables."""

from __future__ import annotations

import io
from bisect import bisect_right

from attrs import frozen
from elftools.common.exceptions import DWARFError, ELFError
from elftools.elf.elffile import ELFFile


@frozen
class Lines:
    """Sorted addresses, each with the line that holds from there on; "" for none."""

    addresses: tuple[int, ...]
    sources: tuple[str, ...]

    @staticmethod
    def of(image: bytes) -> Lines:
        """The line table of an ELF; an empty one where it has none that can be read."""
        try:
            elf = ELFFile(io.BytesIO(image))
            if not elf.has_dwarf_info():
                return Lines((), ())
            rows = dict[int, str]()
            for unit in elf.get_dwarf_info().iter_CUs():
                program = elf.get_dwarf_info().line_program_for_CU(unit)
                if program is not None:
                    _read(program, rows)
        except (ELFError, DWARFError, KeyError, IndexError, ValueError, AttributeError):
            return Lines((), ())
        held = sorted(rows.items())
        return Lines(tuple(address for address, _ in held), tuple(source for _, source in held))

    def source(self, address: int) -> str:
        place = bisect_right(self.addresses, address) - 1
        return self.sources[place] if place >= 0 else ""


def _read(program: object, rows: dict[int, str]) -> None:
    header = program.header  # type: ignore[attr-defined]
    files = [entry.name.decode(errors="replace") for entry in header.file_entry]
    first = 0 if header.version >= 5 else 1
    for entry in program.get_entries():  # type: ignore[attr-defined]
        state = entry.state
        if state is None:
            continue
        if state.end_sequence:
            rows.setdefault(state.address, "")
        elif state.line:  # 0: made by the compiler, so the row before holds on
            rows[state.address] = f"{files[state.file - first]}:{state.line}"
