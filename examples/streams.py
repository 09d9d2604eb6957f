"""Two streams, events between them, and the time that the work took."""

import numpy as np

import rocmkern as rk

device = rk.Device()
exp = rk.get_kernel("unary", "uexp_f32", device)
add = rk.get_kernel("binary", "badd_f32", device)
n = 1 << 20
x = np.linspace(0, 1, n, dtype=np.float32)

with device.create_stream() as first, device.create_stream() as second:
    a, b, total = (device.alloc(x.nbytes) for _ in range(3))
    start, half, end = (device.create_event() for _ in range(3))
    a.copy_from_host(x, stream=first)
    b.copy_from_host(x, stream=second)
    start.record(first)
    exp(n, 0, None, a, a, grid=n // 1024, block=256, stream=first)
    half.record(first)
    second.wait(half)
    add(n, 0, None, a, b, total, grid=n // 1024, block=256, stream=second)
    end.record(second)
    end.synchronize()
    found = total.copy_to_host(np.empty_like(x))

print(f"{device.name}: exp(x) + x of {n:,} numbers in {end - start:.2f} ms")
error = np.abs(found - (np.exp(x) + x)).max()
assert error < 1e-6
print("largest error", error)
