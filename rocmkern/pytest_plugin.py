"""A pytest plugin: tests fail for what their kernels do wrong.

`pytest --rocmkern-check` checks all tests, the marker `rocmkern_check` some, as in
`@pytest.mark.rocmkern_check(only=["race"])`. Emulated devices that such a test opens, in its fixtures too, are checked.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from rocmkern import drivers

MARKER: Final = "rocmkern_check"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rocmkern")
    group.addoption("--rocmkern-check", action="store_true", help="fail tests for what their kernels do wrong")
    group.addoption("--rocmkern-suppressions", metavar="FILE", help="findings that are no failures")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{MARKER}(only=()): the test fails for what its kernels do wrong")


def _options(item: pytest.Item) -> dict[str, Any] | None:
    """What `check` is called with for a test; None where it isn't."""
    marker = item.get_closest_marker(MARKER)
    if marker is None and not item.config.getoption("--rocmkern-check"):
        return None
    options = dict(marker.kwargs) if marker is not None else {}
    return {"suppressions": item.config.getoption("--rocmkern-suppressions"), **options}


@contextmanager
def _devices(item: pytest.Item) -> Iterator[None]:
    if _options(item) is None:
        yield
        return
    with drivers.checked():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with _devices(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    options = _options(item)
    if options is None:
        yield
        return
    from rocmkern.checking.report import as_text
    from rocmkern.runtime import check

    with check(**options) as findings:
        yield
    if findings.errors:
        pytest.fail(as_text(findings), pytrace=False)
