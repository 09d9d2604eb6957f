"""The process that measures candidates; what a candidate destroys is lost with it.

It writes a line when it is ready, and then one of JSON for each that it reads:

python -m rocmkern.tuning.worker DEVICE WARMUP ITERATIONS
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from rocmkern.errors import RocmkernError
from rocmkern.kernels import families
from rocmkern.runtime import Device
from rocmkern.tuning import problems
from rocmkern.tuning.measure import Bench


def answer(bench: Bench, request: dict[str, Any]) -> dict[str, Any]:
    """What came of one candidate: errRatio and us, or an error."""
    name = request["instance"]
    try:
        instance = None if name is None else families.instances_by_name()[name]
        found = bench.measure(problems.make(**request["problem"]), instance)
    except (RocmkernError, ValueError, MemoryError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"errRatio": found.error_ratio, "us": found.microseconds}


def main() -> None:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else gets between the replies
    device, warmup, iterations = sys.argv[1:]
    bench = Bench(Device(device), int(warmup), int(iterations))
    print("{}", file=replies, flush=True)  # ready: what follows is timed
    for line in sys.stdin:
        print(json.dumps(answer(bench, json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
