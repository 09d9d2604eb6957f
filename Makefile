# Two commands set everything up: `make run` (the demo) and `make test` (lint, types, tests).
VENV ?= .venv
PY := $(VENV)/bin/python
JOBS ?= 2

.PHONY: run test test-all lint check clean

run: $(VENV)/.installed
	$(VENV)/bin/rocmkern demo

test: lint
	$(PY) -m pytest -n $(JOBS) -m "not slow"

test-all: lint
	$(PY) -m pytest -n $(JOBS)

lint: $(VENV)/.installed
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(VENV)/.installed: pyproject.toml
	python3 -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet -e ".[test]"
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
