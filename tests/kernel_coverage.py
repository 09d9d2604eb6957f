"""Counts which shipped kernels the tests have executed: a pytest plugin, `--kernel-coverage` demands all of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any

import pytest

from rocmkern.kernels import families, shipped
from rocmkern.runtime import Function

Executed = set[tuple[str, str]]
_executed: Executed = set()  # target of the code object, symbol


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--kernel-coverage", action="store_true", help="fail unless every shipped kernel was executed on every target"
    )


@pytest.fixture(scope="session", autouse=True)
def _record_launches() -> Iterator[None]:
    submit = Function.submit

    @wraps(submit)  # so that the page of the reference has its own signature
    def recorded(self: Function, *args: Any) -> None:
        _executed.add((self.module.code_object.target, self.name))
        submit(self, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Function, "submit", recorded)
        yield


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["kernels"] = sorted(_executed)
    elif session.config.getoption("--kernel-coverage") and missing():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _executed.update(map(tuple, getattr(node, "workeroutput", {}).get("kernels", ())))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("--kernel-coverage"):
        return
    terminalreporter.section("kernels executed from their shipped files")
    for target, wanted in held().items():
        left = sorted(wanted - {symbol for at, symbol in _executed if at == target})
        done = len(wanted) - len(left)
        terminalreporter.line(
            f"{target:16} {done:5} of {len(wanted)}" + (f"; not: {', '.join(left[:8])}" if left else "")
        )


def held() -> dict[str, set[str]]:
    """The kernels that hsaco/ holds, by target."""
    found: dict[str, set[str]] = {}
    for family in families.families():
        for target in shipped.pieces(family.name):
            found.setdefault(target, set()).update(family.by_symbol)
    return found


def missing() -> bool:
    return any((target, symbol) not in _executed for target, wanted in held().items() for symbol in wanted)
