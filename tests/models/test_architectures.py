"""Every architecture against a plain float64 reference, from a file of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rocmkern.models import load
from rocmkern.models.architectures import ARCHITECTURES
from tests.models import plain_numpy, small_files

DEVICE = "emulator:gfx942"
IDS = [72, 101, 7, 250, 33, 33, 120, 200, 5, 64, 99]


def test_every_architecture_has_a_case() -> None:
    """A row of the table without one would be unchecked."""
    assert {case.partition(" ")[0] for case in small_files.CASES} == set(ARCHITECTURES)


@pytest.mark.parametrize("case", small_files.CASES)
def test_logits_are_the_references(case: str, tmp_path: Path) -> None:
    """Of tokens read together, and of tokens read one by one behind others: within 1e-4 with float32 activations."""
    metadata, tensors = small_files.drawn(case)
    model = load(small_files.write(tmp_path / "m.gguf", metadata, tensors), DEVICE, context=64, kv="f32")
    expected = plain_numpy.logits(metadata, tensors, IDS, 64)
    bound = 1e-4 * np.abs(expected).max()
    assert np.abs(model.logits(IDS) - expected).max() <= bound
    session = model.session()
    found = [session.append(IDS[:8]), *(session.step(token) for token in IDS[8:])]
    assert np.abs(np.stack(found) - expected[7:]).max() <= bound
