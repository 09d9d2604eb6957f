"""Two ways to transpose a matrix, and what each asks of a GPU: `python cost.py` writes cost.png."""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import rocmkern as rk

matplotlib.use("Agg")
from matplotlib import pyplot

n = 256
device = rk.Device("emulator:gfx942")
module = rk.compile(Path(__file__).with_name("cost.hip"), device=device)
matrix, out = rk.random.default_rng(0, device=device).random((n, n)), rk.empty((n, n), device=device)
with rk.profile(chip="mi300x") as profile:
    for name in ("transpose_plain", "transpose_tiled"):
        module.get_function(name)(np.uint32(n), matrix, out, grid=(n // 32, n // 32), block=(32, 32))
        assert np.array_equal(out.numpy(), matrix.numpy().T)

kernels = sorted(profile, key=lambda kernel: kernel.name)
for kernel in kernels:
    print(f"{kernel.name}: coalescing {kernel.coalescing:.2f}, {kernel.instructions}")
plain, tiled = kernels
assert tiled.coalescing > 3 * plain.coalescing

figure, axis = pyplot.subplots(figsize=(7, 2.4), layout="constrained")
bars = axis.barh([k.name for k in kernels], [k.coalescing for k in kernels], color=["#c74", "#2a7"])
axis.bar_label(bars, [f"{kernel.coalescing:.2f}" for kernel in kernels], padding=4)
axis.set(xlabel="bytes that lanes asked for, over bytes of the lines touched (1 is best)", xlim=(0, 1.1))
axis.invert_yaxis()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "cost.png", dpi=110, metadata={"Software": None})
