"""A small model that tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocmkern.models import LanguageModel, load
from tests.models import small_files

DEVICE = "emulator:gfx942"


@pytest.fixture(scope="session")
def small_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a llama of random weights."""
    return small_files.small(tmp_path_factory.mktemp("models") / "small.gguf")


@pytest.fixture(scope="session")
def small_model(small_path: Path) -> LanguageModel:
    """That model, with a context of 64."""
    return load(small_path, DEVICE, context=64)
