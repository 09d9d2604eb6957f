"""Times the host's part of a graph: many small launches captured once, against the same launches one by one.

    python benchmarks/bench_graphs.py [--device emulator:gfx942] [--launches 500] [--seconds 5]

On an emulator the kernels run in the calls, and their time is in all rows. `--device double` takes the HIP test double,
a library whose launch does nothing: what is left is ours and hip-python's. Best of rounds that take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import rocmkern as rk

sys.path.insert(0, str(Path(__file__).parent.parent))


CALLS = 10


def chain(x: rk.Tensor, launches: int) -> rk.Tensor:
    h = x
    for _ in range(launches):
        h = h + x
    return h


def best(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Microseconds of CPU time of each, in turns."""
    found = dict.fromkeys(calls, float("inf"))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for name, call in calls.items():
            start = time.process_time_ns()
            for _ in range(CALLS):
                call()
            found[name] = min(found[name], (time.process_time_ns() - start) / 1e3 / CALLS)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device")
    parser.add_argument("--launches", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if options.device == "double":
            from tests import hip_double

            double = stack.enter_context(hip_double.present(1))
            double.recording(False)
            stack.callback(double.recording, True)
        device = rk.Device("hip:0" if options.device == "double" else options.device)
        x, other = (rk.ones((8,), device=device) for _ in range(2))
        with rk.Graph() as graph:
            with graph.capture():
                chain(x, options.launches)

            def bind_and_launch() -> None:
                graph.bind(x, other)
                graph.launch()
                graph.bind(other, x)

            graph.launch()
            calls: dict[str, Callable[[], object]] = {
                "one by one": lambda: chain(x, options.launches),
                "graph.launch()": graph.launch,
                "bind, launch, bind": bind_and_launch,
            }
            times = best(calls, options.seconds)
    print(f"{options.launches} launches of x + y with 8 elements on {device.name}, microseconds of CPU time")
    for name, microseconds in times.items():
        print(f"{name:20}{microseconds:12.1f}{microseconds / options.launches:10.3f} a launch")


if __name__ == "__main__":
    main()
