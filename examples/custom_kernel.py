"""Your own kernel: a HIP source, compiled with `rocmkern build`, loaded and launched.

Compiling needs the `build` extra (`pip install 'rocmkern[build]'`); running the code object needs only rocmkern.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import rocmkern as rk

SOURCE = """
#include "include/device.hpp"

RK_KERNEL saxpy(rk::u64 n, float a, const float *x, float *y) {
    for (rk::u64 i = rk::global_thread(); i < n; i += rk::global_threads()) {
        y[i] = a * x[i] + y[i];
    }
}
"""

device = rk.Device()
with tempfile.TemporaryDirectory() as folder:
    source = Path(folder, "saxpy.hip")
    source.write_text(SOURCE)
    build = [sys.executable, "-m", "rocmkern", "build", str(source), "--target", device.info.target, "--out", folder]
    subprocess.run(build, check=True)
    module = rk.Module.load(Path(folder, device.info.target, "saxpy.hsaco"), device=device)

saxpy = module.get_function("saxpy")
n = 10_000
x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
with device.alloc(x.nbytes) as on_x, device.alloc(y.nbytes) as on_y:
    on_x.copy_from_host(x)
    on_y.copy_from_host(y)
    saxpy(np.uint64(n), np.float32(2), on_x, on_y, grid=(n + 255) // 256, block=256)
    found = on_y.copy_to_host(np.empty_like(y))
assert np.array_equal(found, 2 * x + y)
print(f"{device.name}: 2 * x + y equals NumPy's")
