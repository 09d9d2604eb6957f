"""Findings as text, as JSON and as SARIF, which code review sites show beside the lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rocmkern.checking.findings import Finding, Instruction
from rocmkern.checking.running import Findings

SARIF: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def lines(finding: Finding) -> Iterator[str]:
    """A finding as text; the first line says what it is."""
    level = "note: " if finding.is_note else ""
    of = f" of {finding.registers}" if finding.registers else ""
    times = f", {finding.count:,} times" if finding.count > 1 else ""
    where = f" in {finding.kernel}" if finding.kernel else ""
    yield f"{level}{finding.kind}{of}{where}{times}"
    if finding.after is not None and finding.access is None:
        yield from _place(finding.after, "  ")
    yield from _place(finding.at, "  ")
    yield f"  {finding.rule}"
    access = finding.access
    if access is not None:
        lanes = _numbers(access.lanes)
        yield f"  by {lanes} of wave {access.wave}, workgroup {access.workgroup}"
        if access.place:
            yield f"  {access.place}"
        if finding.after is not None:
            yield f"  the other access is by {access.other}:"
            yield from _place(finding.after, "    ")
    if finding.remedy:
        yield f"  → {finding.remedy}"


def _place(at: Instruction, indent: str) -> Iterator[str]:
    pc = f"  {at.pc:#06x}" if at.listing or not at.text.startswith("copy") else ""
    yield f"{indent}{at.source or 'no source line'}{pc}  {at.text}"
    for call in at.calls:
        yield f"{indent}  called by {call}"
    for line in at.listing:
        yield f"{indent}  {line}"


def _numbers(lanes: tuple[int, ...]) -> str:
    """`lanes 0 to 3, 7`"""
    runs = list[list[int]]()
    for lane in lanes:
        if runs and runs[-1][-1] == lane - 1:
            runs[-1].append(lane)
        else:
            runs.append([lane])
    texts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
    return f"lane{'s' * (len(lanes) > 1)} {', '.join(texts)}"


def summary(findings: Findings) -> str:
    """`2 errors and 1 note; 1 suppressed`"""
    errors, count = len(findings.errors), len(findings)
    parts = [_count(errors, "error"), *([_count(count - errors, "note")] if count > errors else [])]
    more = [f"of {findings.sample} workgroups one looked at whole"] if findings.sample > 1 else list[str]()
    if findings.unchecked:
        more.append(f"{_count(findings.unchecked, 'launch')} of them on devices that are not checked")
    if findings.suppressed:
        more.append(f"{sum(findings.suppressed.values()):,} suppressed")
    if findings.left_out:
        more.append(f"{findings.left_out:,} faults of launches with too many places of faults left out")
    return "; ".join([f"{' and '.join(parts)} in {_count(findings.launches, 'launch')}", *more])


def _count(number: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{number or 'no'} {noun if number == 1 else plural}"


def as_text(findings: Findings) -> str:
    """All of them, and how many."""
    texts = ["\n".join(lines(one)) for one in findings]
    return "\n\n".join([*texts, summary(findings)])


def as_dict(findings: Findings) -> dict[str, Any]:
    return {
        "launches": findings.launches,
        "unchecked": findings.unchecked,
        "findings": [one.as_dict() for one in findings],
        "left_out": findings.left_out,
        "suppressed": [
            {"kind": s.kind, "kernel": s.kernel, "place": s.place, "reason": s.reason, "count": count}
            for s, count in findings.suppressed.items()
        ],
    }


def as_sarif(findings: Iterable[Finding]) -> dict[str, Any]:
    """One run of SARIF."""
    held = list(findings)
    rules = sorted({one.kind for one in held})
    driver = {"name": "rocmkern", "rules": [{"id": kind, "shortDescription": {"text": kind}} for kind in rules]}
    return {
        "$schema": SCHEMA,
        "version": SARIF,
        "runs": [{"tool": {"driver": driver}, "results": [_result(one) for one in held]}],
    }


def _result(finding: Finding) -> dict[str, Any]:
    result = {
        "ruleId": finding.kind,
        "level": "note" if finding.is_note else "error",
        "message": {"text": "\n".join(lines(finding))},
        "locations": [_location(finding, finding.at)],
        "occurrenceCount": finding.count,
    }
    if finding.after is not None:
        result["relatedLocations"] = [_location(finding, finding.after)]
    return result


def _location(finding: Finding, at: Instruction) -> dict[str, Any]:
    """A line, and the place in the kernel that it was made of."""
    place: dict[str, Any] = {
        "logicalLocations": [
            {"name": finding.kernel, "kind": "function", "fullyQualifiedName": f"{finding.kernel}+{at.pc:#x}"}
        ]
    }
    file, _, line = at.source.rpartition(":")
    if file:
        place["physicalLocation"] = {"artifactLocation": {"uri": file}, "region": {"startLine": int(line)}}
    return place
