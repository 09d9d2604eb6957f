"""Three kernels of your own, compiled and launched on a laptop: `python own_kernel.py` writes own_kernel.png."""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import rocmkern as rk

matplotlib.use("Agg")
from matplotlib import pyplot

side, most = 256, 127
device = rk.Device()
module = rk.compile(Path(__file__).with_name("own_kernel.hip"), device=device)

rounds = rk.zeros((side, side), dtype=rk.uint32, device=device)
mandelbrot = module.get_function("mandelbrot")
mandelbrot(np.uint32(side), np.uint32(most), rounds, grid=(side // 16, side // 16), block=(16, 16))

bins = rk.zeros(64, dtype=rk.uint32, device=device)
module.get_function("histogram")(np.uint32(rounds.size), rounds, bins, grid=8, block=256)

total = rk.zeros(1, dtype=rk.uint32, device=device)
module.get_function("total")(np.uint32(rounds.size), rounds, total, grid=8, block=256)

picture = rounds.numpy()
assert np.array_equal(bins.numpy(), np.bincount(picture.ravel() // 2, minlength=64))
assert total.item() == picture.sum()
print(f"{device.name}, waves of {device.info.wave_size} lanes: {total.item():,} rounds for {picture.size:,} pixels")

figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained", width_ratios=(1, 1.2))
left.imshow(picture, cmap="magma")
left.set(title="mandelbrot", xticks=[], yticks=[])
right.bar(range(64), bins.numpy())
right.set(title="histogram", yscale="log", xlabel="rounds / 2", ylabel="pixels")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "own_kernel.png", dpi=110, metadata={"Software": None})
