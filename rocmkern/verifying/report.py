"""What a run found, by kernel, as a page and as JSON to attach to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, Final

import attrs
from attrs import frozen

from rocmkern.kernels import families
from rocmkern.verifying.verify import Machine, Verdict

_STYLE: Final = """body{font:14px system-ui,sans-serif;margin:2em;max-width:80em}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .8em;text-align:left;border-bottom:1px solid #ccc}
.right{color:#186}.wrong,.failed{color:#b22;font-weight:bold}.not{color:#777}"""
NOT_RUN: Final = "not run"


@frozen
class KernelResult:
    """One shipped kernel: the worst of the cases that ran it, and the best rate among them as a share of a copy's."""

    family: str
    symbol: str
    status: str
    cases: int
    share: float | None


def by_kernel(machine: Machine, verdicts: Iterable[Verdict]) -> list[KernelResult]:
    """A result for every kernel of the package, also for those that no case ran."""
    ran: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        for name in verdict.kernels:
            ran.setdefault(name, []).append(verdict)
    return [
        _of_kernel(family.name, symbol, ran.get(symbol, []), machine.copy_rate)
        for family in families.families()
        for symbol in family.by_symbol
    ]


def _of_kernel(family: str, symbol: str, those: list[Verdict], copy_rate: float | None) -> KernelResult:
    worst = next((s for s in ("failed", "wrong", "right") if any(v.status == s for v in those)), NOT_RUN)
    best = max((v.rate for v in those if v.rate is not None), default=None)
    share = best / copy_rate if best is not None and copy_rate else None
    return KernelResult(family, symbol, worst, len(those), share)


FAMILY_TITLES: Final = ("family", "kernels", "right", "wrong", "failed", NOT_RUN, "share of a copy's rate")


def family_rows(kernels: Iterable[KernelResult]) -> list[tuple[object, ...]]:
    """Counts by family; the rate is the median's of those kernels that were timed."""
    groups: dict[str, list[KernelResult]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.family, []).append(kernel)
    rows: list[tuple[object, ...]] = []
    for family, those in groups.items():
        counts = Counter(k.status for k in those)
        shares = sorted(k.share for k in those if k.share is not None)
        share = f"{100 * shares[len(shares) // 2]:.0f} %" if shares else ""
        rows.append((family, len(those), *(counts[s] for s in FAMILY_TITLES[2:6]), share))
    return rows


VERDICT_TITLES: Final = ("case", "status", "error / allowed", "other bits", "GB/s", "kernels", "reason")


def verdict_rows(verdicts: Iterable[Verdict]) -> list[tuple[object, ...]]:
    return [
        (v.case, v.status, "" if v.error is None else f"{v.error:.2g}", "" if v.differing is None else v.differing,
         "" if v.rate is None else f"{v.rate:.0f}", ", ".join(v.kernels), v.reason)
        for v in verdicts
    ]  # fmt: skip


def as_json(machine: Machine, facts: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]) -> dict[str, Any]:
    kernels = by_kernel(machine, verdicts)
    return {
        "machine": attrs.asdict(machine), "facts": dict(facts), "counts": dict(Counter(k.status for k in kernels)),
        "kernels": [attrs.asdict(k) for k in kernels], "verdicts": [attrs.asdict(v) for v in verdicts],
    }  # fmt: skip


def page(machine: Machine, facts: Sequence[tuple[str, str]], verdicts: Sequence[Verdict]) -> str:
    """A page of HTML that needs nothing beside it."""
    kernels = by_kernel(machine, verdicts)
    bad = [v for v in verdicts if v.status != "right"]
    left = [(k.family, k.symbol) for k in kernels if k.status == NOT_RUN]
    copy = [("copy", f"{machine.copy_rate:.0f} GB/s")] if machine.copy_rate else []
    about = [("device", f"{machine.device}, {machine.marketing}"), ("target", machine.arch), *copy, *facts]
    parts = [
        f"<!doctype html><meta charset=utf-8><title>rocmkern {escape(machine.version)} on {escape(machine.marketing)}"
        f"</title><style>{_STYLE}</style><h1>rocmkern {escape(machine.version)} on {escape(machine.marketing)}</h1>",
        _table(("", ""), about),
        "<h2>Kernels by family</h2>", _table(FAMILY_TITLES, family_rows(kernels)),
        "<h2>Not right</h2>", _table(VERDICT_TITLES, verdict_rows(bad)) if bad else "<p>None.",
        "<h2>Not run</h2>", _table(("family", "kernel"), left) if left else "<p>None.",
        "<h2>All cases</h2>", _table(VERDICT_TITLES, verdict_rows(verdicts)),
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{escape(title)}" for title in titles)
    body = "".join("<tr>" + "".join(map(_cell, row)) for row in rows)
    return f"<table><tr>{head}{body}</table>"


def _cell(value: object) -> str:
    text = escape(str(value))
    return f"<td class={text}>{text}" if text in ("right", "wrong", "failed") else f"<td>{text}"
