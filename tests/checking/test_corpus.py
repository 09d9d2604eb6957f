"""Every kernel of the corpus gets its verdict on every target, the sound ones none."""

from __future__ import annotations

import pytest

from tests.checking.corpus.waits import GROUPS
from tests.checking.kernels import NAMES, verdicts
from tests.checking.spelling import said


@pytest.mark.parametrize("target", NAMES)
@pytest.mark.parametrize("group", GROUPS)
def test_waits(group: str, target: str) -> None:
    """As many findings as there are missing waits."""
    cases = {name: case for name, case in GROUPS[group].items() if target in case.targets}
    found = verdicts(target, {name: said(target, case.body).replace("{}", name) for name, case in cases.items()})
    assert {name: len(one) for name, one in found.items()} == {name: case.on(target) for name, case in cases.items()}
