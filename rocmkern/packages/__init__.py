"""Foreign code objects: packages such as AITER's, checked, chosen from, launched."""

from rocmkern.kernels.tuned import TunedTable
from rocmkern.packages.args import KernelArgs, Packing, pointer, scalar
from rocmkern.packages.attention import flash_attn_func, flash_attn_varlen_func
from rocmkern.packages.check import Report
from rocmkern.packages.check import check as check
from rocmkern.packages.choice import Choice, KernelTable
from rocmkern.packages.kind import Kind
from rocmkern.packages.kinds import KINDS
from rocmkern.packages.latent import mla_decode_fwd
from rocmkern.packages.operations import decide, gemm_a8w8, gemm_a16w16, topk_softmax
from rocmkern.packages.package import KernelPackage
from rocmkern.packages.paged import pa_fwd_asm
from rocmkern.packages.scaled_gemm import gemm_a4w4, gemm_a8w8_blockscale
from rocmkern.packages.triton import from_triton
from rocmkern.packages.weights import shuffle_weight

__all__ = [
    "KINDS", "Choice", "KernelArgs", "KernelPackage", "KernelTable", "Kind", "Packing", "Report", "TunedTable",
    "decide", "flash_attn_func", "flash_attn_varlen_func", "from_triton", "gemm_a4w4", "gemm_a8w8",
    "gemm_a8w8_blockscale", "gemm_a16w16", "mla_decode_fwd", "pa_fwd_asm", "pointer", "scalar", "shuffle_weight",
    "topk_softmax",
]  # fmt: skip
