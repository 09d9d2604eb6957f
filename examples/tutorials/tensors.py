"""Heat in a plate, computed with tensors: `python tensors.py` writes tensors.png."""

import sys

import matplotlib

import rocmkern as rk

matplotlib.use("Agg")
from matplotlib import pyplot

side, steps = 96, 400
plate = rk.zeros((side, side))
plate[30:40, 20:76] = 100.0  # a hot bar
plate[60:80, 44:52] = 100.0  # and a hot post
print(plate.dtype, plate.shape, plate.device)

frames = [plate.copy()]
for step in range(1, steps + 1):
    inner = plate[1:-1, 1:-1]  # a view: no copy
    around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
    inner += 0.24 * (around - 4 * inner)
    if step in (50, steps):
        frames.append(plate.copy())

rows = rk.mean(plate, axis=1)
print(f"the warmest row is {rk.argmax(rows).item()}, the hottest place has {float(rk.max(plate)):.1f} degrees")
assert plate.numpy().min() >= 0 and plate.numpy().max() <= 100

figure, axes = pyplot.subplots(1, len(frames), figsize=(9, 3.2), layout="constrained")
for axis, frame, title in zip(axes, frames, ("at first", "50 steps", f"{steps} steps"), strict=True):
    axis.imshow(frame.numpy(), cmap="inferno", vmin=0, vmax=100)
    axis.set(title=title, xticks=[], yticks=[])
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "tensors.png", dpi=110, metadata={"Software": None})
