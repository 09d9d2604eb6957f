"""Ten lines of rocmkern."""

import numpy as np

import rocmkern as rk

x = rk.asarray(np.linspace(-2, 2, 8, dtype=np.float32))
print("device ", rk.Device().info.name)
print("gelu   ", rk.gelu(x))
print("softmax", rk.softmax(x, axis=-1))
print("x @ x  ", rk.matmul(x, x))
