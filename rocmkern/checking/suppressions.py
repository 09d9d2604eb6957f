"""Findings that somebody looked at and decided to live with: a file that says which, and why.

A line is `kind: kernel: place  # reason`, each with `*` for anything; the place is a source file, with or without a
line, or a pc. Lines that are empty or begin with `#` say nothing.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from attrs import frozen

from rocmkern.checking.findings import Finding
from rocmkern.errors import ConfigError


@frozen
class Suppression:
    """One line of the file."""

    kind: str
    kernel: str
    place: str
    reason: str

    def covers(self, finding: Finding) -> bool:
        source = finding.at.source
        places = (source, source.rpartition(":")[0], f"{finding.at.pc:#x}")
        return (
            fnmatchcase(finding.kind, self.kind)
            and fnmatchcase(finding.kernel, self.kernel)
            and any(fnmatchcase(place, self.place) for place in places)
        )


def read(path: Path) -> tuple[Suppression, ...]:
    """Those of a file. Raises ConfigError where a line can't be one, or gives no reason."""
    found = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        rule, _, reason = line.partition("#")
        if not rule.strip():
            continue
        parts = [part.strip() for part in rule.split(":", 2)]
        if len(parts) != 3 or not all(parts):
            raise ConfigError(f"suppressions: line {number} of {path} is {line.strip()!r}; write kind: kernel: place")
        if not reason.strip():
            raise ConfigError(f"suppressions: line {number} of {path} has no reason; add it behind a #")
        found.append(Suppression(parts[0], parts[1], parts[2], reason.strip()))
    return tuple(found)
