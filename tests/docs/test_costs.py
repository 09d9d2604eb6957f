"""The simulated schedules of scripts/render_costs.py."""

from __future__ import annotations

import pytest

from tests.scripts import script

costs = script("render_costs")
MACHINE = costs.Machine("test", inside=1e9, outside=1e8, hop_inside=1e-6, hop_outside=1e-5)


def test_the_page_is_what_the_simulation_says() -> None:
    """docs/scale-costs.md is what the script writes today."""
    assert costs.PAGE.read_text("utf-8") == costs.page(), "run `python scripts/render_costs.py`"


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_ring_of_equal_links_takes_its_steps_one_by_one(count: int) -> None:
    """2(n−1) of an n-th each, as nccl-tests' formula has it."""
    found, steps = costs.ring(MACHINE, count, 1e6), 2 * (count - 1)
    assert found.seconds == pytest.approx(steps * (1e-6 + 1e6 / count / 1e9))
    assert (found.inside, found.outside) == (pytest.approx(steps * 1e6 / count), 0.0)


def test_a_slow_link_holds_up_the_whole_ring() -> None:
    """It carries one piece after the other: no ring is faster than its slowest link alone."""
    found = costs.ring(MACHINE, 16, 1e8)
    assert found.seconds >= 30 * 1e8 / 16 / 1e8
    assert costs.by_hosts(MACHINE, 16, 1e8).seconds < found.seconds / 4


def test_one_device_sends_nothing() -> None:
    """Whatever the job."""
    assert all(cost(MACHINE, 1) == costs.NOTHING for _, cost in costs.ROWS)
