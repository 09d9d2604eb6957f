"""The script that runs public HIP programs."""

from __future__ import annotations

import pytest

from tests.scripts import script


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (["8192", "10000", "10", "100"], ["512", "312", "10", "1"]),
        (["data/in.txt", "0.5", "1000"], ["data/in.txt", "0.5", "1"]),
        (["-n", "8192", "--size=9999"], ["-n", "1", "--size=9999"]),
        ([], []),
    ],
)
def test_arguments_are_reduced(given: list[str], wanted: list[str]) -> None:
    """The last number, how often to repeat, becomes 1; others are halved; words stay."""
    assert script("hip_programs").reduced(given) == wanted
