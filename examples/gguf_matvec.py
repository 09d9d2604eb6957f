"""A GGUF file, its weight put on the device as it is, times a vector."""

import tempfile
from pathlib import Path

import gguf
import numpy as np

import rocmkern as rk

rng = np.random.default_rng(0)
weight, x = rng.normal(size=(512, 1024)).astype(np.float32), rng.normal(size=1024).astype(np.float32)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "model.gguf")
    writer = gguf.GGUFWriter(path, "example")
    blocks = gguf.quants.quantize(weight, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("weight", blocks, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    on_device = rk.load_gguf(path)["weight"].to()

assert isinstance(on_device, rk.QTensor)  # blocks stay as they are; a plain dtype would come as a Tensor
y = on_device.matmul(rk.asarray(x)).numpy()
error = np.linalg.norm(y - weight @ x) / np.linalg.norm(weight @ x)
assert error < 0.01
print(on_device, f"relative error {error:.4f}")
