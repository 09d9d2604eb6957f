"""Block formats of ggml: quantized tensors on the device, and GGUF files."""

from rocmkern.kernels.block_formats import FORMATS, BlockFormat
from rocmkern.quant.gguf_file import GgufFile, GgufTensor, load_gguf
from rocmkern.quant.qtensor import QTensor, from_blocks, quantize

__all__ = ["FORMATS", "BlockFormat", "GgufFile", "GgufTensor", "QTensor", "from_blocks", "load_gguf", "quantize"]
