"""Every kernel of the corpus gets its verdict on every target, the sound ones none."""

from __future__ import annotations

import pytest

from tests.checking.corpus import launches, reports
from tests.checking.corpus.waits import GROUPS
from tests.checking.kernels import NAMES, verdicts
from tests.checking.launched import run_case
from tests.checking.spelling import said

STATIC = {**GROUPS, "reports": reports.READ}
LAUNCHED = {**launches.GROUPS, "reports": reports.RUN}


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("group", STATIC)
def test_waits(group: str, target: str) -> None:
    """As many findings as there are missing waits."""
    cases = {name: case for name, case in STATIC[group].items() if target in case.targets}
    found = verdicts(target, {name: said(target, case.body).replace("{}", name) for name, case in cases.items()})
    assert {name: len(one) for name, one in found.items()} == {name: case.on(target) for name, case in cases.items()}


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("group", LAUNCHED)
def test_launches(group: str, target: str) -> None:
    """The kinds that each has, notes too, and no others; of races between waves, who comes first is open."""
    cases = LAUNCHED[group]
    source = launches.source(cases)
    found = {
        name: frozenset(one.kind for one in run_case(source, target, name, case.grid, case.block))
        for name, case in cases.items()
    }
    wrong = {name: sorted(kinds) for name, kinds in found.items() if not _fits(kinds, cases[name].on(target))}
    assert wrong == {}


def _fits(found: frozenset[str], wanted: frozenset[str]) -> bool:
    """As wanted, but that one way round of a race is enough, which may also be a read of what is not written yet."""
    races = {launches.RAW, launches.WAR, launches.WAW}
    if not wanted & races:
        return found == wanted
    return bool(found & races) and found - races - {launches.UNSET} == wanted - races - {launches.UNSET}


def test_the_corpus_is_large() -> None:
    """At least 170 kernels, a third of which are right."""
    static = [case for cases in STATIC.values() for case in cases.values()]
    launched = [case for cases in LAUNCHED.values() for case in cases.values()]
    sound = sum(not case.findings for case in static) + sum(not case.kinds for case in launched)
    assert len(static) + len(launched) >= 170
    assert 3 * sound >= len(static) + len(launched)
