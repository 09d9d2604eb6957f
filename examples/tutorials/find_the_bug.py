"""A sum that is wrong now and then: `rocmkern check find_the_bug.py` says in which line."""

from pathlib import Path

import numpy as np

import rocmkern as rk

source = Path(__file__).with_name("find_the_bug.hip")
device = rk.Device()
module = rk.compile(source, device=device, options=["-g"])  # line numbers; the code stays the same
numbers, out = rk.arange(128, dtype=rk.float32, device=device), rk.zeros(1, device=device)
module.get_function("sum_of_squares")(numbers, out, grid=1, block=128)
print("kernel", out.item(), "NumPy", float(np.sum(np.arange(128, dtype=np.float32) ** 2)))
