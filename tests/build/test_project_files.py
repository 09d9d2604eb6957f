"""Files for readers and services: workflows, issue forms, the citation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

import rocmkern

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def content(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def test_the_citation_names_this_version() -> None:
    """And the licences of pyproject.toml."""
    cited = content(ROOT / "CITATION.cff")
    assert cited["version"] == rocmkern.__version__
    assert f'license = "{" OR ".join(cited["license"])}"' in (ROOT / "pyproject.toml").read_text("utf-8")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_what_is_there(path: Path) -> None:
    """Jobs that they need exist, targets of make and extras too."""
    jobs = content(path)["jobs"]
    for job in jobs.values():
        assert {job["needs"]} <= jobs.keys() if "needs" in job else True
        assert all("uses" in step or "run" in step for step in job["steps"])
    text = path.read_text("utf-8")
    makefile, project = (ROOT / "Makefile").read_text("utf-8"), (ROOT / "pyproject.toml").read_text("utf-8")
    assert all(re.search(rf"^{target}:", makefile, re.M) for target in re.findall(r"run: make (\S+)", text))
    assert all(re.search(rf"^{extra} = \[", project, re.M) for extra in re.findall(r"-e '\.\[(\w+)\]'", text))


def test_tests_run_on_every_python_that_the_package_names() -> None:
    """The matrix is the list of classifiers."""
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))
    tests = content(ROOT / ".github" / "workflows" / "tests.yml")
    assert tests["jobs"]["tests"]["strategy"]["matrix"]["python"] == named


def test_reports_have_what_the_doctor_says() -> None:
    """Who reports a fault or a device is asked for it."""
    asked = {p.stem: [f["id"] for f in content(p)["body"] if f.get("validations", {}).get("required")] for p in FORMS}
    assert asked["wrong"] == ["what", "doctor"] and asked["hardware"] == ["device", "doctor", "verify"]
