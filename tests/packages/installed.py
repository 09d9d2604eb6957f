"""AITER's package, where it is installed."""

from __future__ import annotations

from functools import cache

import pytest

from rocmkern.errors import PackageError
from rocmkern.packages import KernelPackage


@cache
def package() -> KernelPackage:
    try:
        return KernelPackage.installed()
    except PackageError as error:
        pytest.skip(str(error))
