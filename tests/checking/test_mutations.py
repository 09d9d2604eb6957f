"""What is wrong in a mutant of a kernel is found, unless it does not matter, for a reason that is told."""

from __future__ import annotations

from typing import Final

import pytest
from attrs import evolve

from tests.checking import mutants
from tests.checking.corpus import launches
from tests.checking.kernels import CDNA, verdicts
from tests.checking.launched import run_case
from tests.checking.spelling import said
from tests.checking.test_corpus import LAUNCHED, STATIC
from tests.checking.test_states import CASES, apart

ONE_WAVE: Final = "the workgroup is one wave, whose accesses come in order"
INSIDE: Final = "one round, lane or value more stays inside the kernel's own memory, with the same order"
NOTHING_BEHIND: Final = "what is waited for is not used behind it"
WAITED_AGAIN: Final = "a later wait ahead of the use is enough"
NOTHING_TO_ORDER: Final = "nobody reads what others write"
OVERWRITTEN: Final = "the later store of the same wave sets it too"
# kernel → what was done to it → why that does not matter; on CDNA alone for `ON_CDNA`
EXEMPT: Final = {
    "beside_four_registers": {"wait 0": NOTHING_BEHIND, "count 0": NOTHING_BEHIND},
    "address_overwritten": {"wait 0": NOTHING_BEHIND, "count 0": NOTHING_BEHIND},
    "two_loads_of_one_register": {"wait 0": NOTHING_BEHIND, "count 0": NOTHING_BEHIND},
    "flat_behind_a_load": {
        "wait 1": NOTHING_BEHIND, "count 1": NOTHING_BEHIND, "wait 2": NOTHING_BEHIND, "count 2": NOTHING_BEHIND,
    },
    "data_overwritten": {"wait 0": NOTHING_BEHIND, "count 0": NOTHING_BEHIND},
    "scalar_loaded_over_after_the_wait": {"wait 1": NOTHING_BEHIND, "count 1": NOTHING_BEHIND},
    "pair_as_address_waited": {"wait 1": NOTHING_BEHIND, "count 1": NOTHING_BEHIND},
    "waited_behind_the_join": {"wait 0": WAITED_AGAIN, "count 0": WAITED_AGAIN},
    "pipelined_loop": {"wait 2": NOTHING_BEHIND, "count 2": NOTHING_BEHIND},
    "rocm_libraries_3635_mended": {"wait 1": NOTHING_BEHIND, "count 1": NOTHING_BEHIND},
    "four_bytes": {"bound 0": INSIDE},
    "where_a_value_says_not": {"bound 0": INSIDE},
    "sum_from_zero": {"bound 0": INSIDE},
    "tail_of_a_tile_filled": {"bound 0": INSIDE},
    "local_written": {"bound 0": "the array of eight is rounded up to what its frame holds"},
    "slot_of_every_round_with_barrier": {"bound 0": INSIDE},
    "two_buffers": {"bound 0": INSIDE},
    "two_rows_of_three": {"bound 0": INSIDE},
    "the_same_rounds": {"bound 0": INSIDE, "barrier 0": NOTHING_TO_ORDER},
    "all_come": {"barrier 0": NOTHING_TO_ORDER},
    "hipfire_574_mended": {"bound 0": INSIDE},
    "miopen_1040_mended": {"bound 0": INSIDE},
    "hipbone_46_mended": {"bound 0": INSIDE, "bound 2": INSIDE},
}  # fmt: skip
ON_CDNA: Final = {
    "counter_cleared": {"barrier 0": ONE_WAVE},
    "lds_written": {"barrier 0": ONE_WAVE},
    "tail_of_a_tile_filled": {"barrier 0": ONE_WAVE},
    "lds_counter_cleared": {"barrier 0": ONE_WAVE},
    "halves_of_64_with_barrier": {"barrier 0": ONE_WAVE},
    "hipbone_46_mended": {"barrier 0": ONE_WAVE},
    "tree": {"barrier 1": "only the first wave works on behind the first step"},
    "tree_by_one_wave_of_64": {"bound 0": INSIDE, "bound 1": INSIDE},
    "exllamav2_143": {"initialisation 0": OVERWRITTEN},
}  # fmt: skip


def exempt(target: str, kernel: str, what: str) -> bool:
    reasons = {**EXEMPT.get(kernel, {}), **(ON_CDNA.get(kernel, {}) if target in CDNA else {})}
    return what in reasons


def survivors(target: str) -> tuple[int, int, list[tuple[str, str]]]:
    """How many kernels and mutants there are, and in which of these nothing is found."""
    bodies, kernels = dict[tuple[str, str], str](), set[str]()
    for cases in STATIC.values():
        for name, case in cases.items():
            if target in case.targets and not case.on(target):
                for what, body in mutants.of_assembly(case.body):
                    bodies[name, what] = said(target, body)
    if target in CDNA:
        for name, (first, then, needs) in CASES.items():
            if needs.get(target):
                for what, body in mutants.of_assembly(f"{first}\n{apart(needs[target])}\n{then}"):
                    bodies[name, what] = body
    named = {f"m{number}": key for number, key in enumerate(bodies)}
    found = verdicts(target, {short: bodies[key].replace("{}", short) for short, key in named.items()})
    missed = [named[short] for short, remedies in found.items() if not remedies]
    launched = dict[tuple[str, str], launches.Case]()
    for started in LAUNCHED.values():
        for name, one in started.items():
            if not one.on(target):
                launched |= {(name, what): evolve(one, body=body) for what, body in mutants.of_source(one.body)}
    numbered = {f"m{number}": one for number, one in enumerate(launched.values())}
    source = launches.source(numbered)
    for key, (short, one) in zip(launched, numbered.items(), strict=True):
        if not run_case(source, target, short, one.grid, one.block):
            missed.append(key)
    kernels |= {name for name, _ in (*bodies, *launched)}
    return len(kernels), len(bodies) + len(launched), missed


@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_mutants_are_found(target: str) -> None:
    """Every one that matters, of 40 and more kernels; each exemption is of a mutant that there is."""
    kernels, count, missed = survivors(target)
    assert kernels >= 40 and count >= 100
    assert [key for key in missed if not exempt(target, *key)] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx90a", "gfx950", "gfx1030", "gfx1100"])
def test_mutants_are_found_everywhere(target: str) -> None:
    """On the other targets too."""
    _, _, missed = survivors(target)
    assert [key for key in missed if not exempt(target, *key)] == []
