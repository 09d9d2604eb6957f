"""The standard's constants."""

from __future__ import annotations

import math
from typing import Final

from rocmkern.dtypes import bool_

__array_api_version__: Final = "2025.12"
bool: Final = bool_
e: Final = math.e
inf: Final = math.inf
nan: Final = math.nan
newaxis: Final = None
pi: Final = math.pi
