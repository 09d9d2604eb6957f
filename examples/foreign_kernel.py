"""A hand-tuned kernel of AITER, chosen by problem, checked and launched: on an MI300, or on the emulator.

It needs the files: `pip install --no-deps --pre amd-aiter`.
"""

import numpy as np

import rocmkern as rk
from rocmkern.packages import KINDS, KernelPackage, KernelTable
from rocmkern.packages.kinds import TopKSoftmaxArgs

package = KernelPackage.installed()
device = rk.Device("emulator:gfx942")
tokens, experts, topk = 1000, 256, 8
gating = np.random.default_rng(0).standard_normal((tokens, experts)).astype(np.float32)

table = KernelTable.of(package, KINDS["topksoftmax"], device.info.arch)
choice = table.select(device.info.compute_units, tokens=tokens, num_experts=experts, topk=topk, dtype="fp32")
print(choice.explain())

function = rk.Module.load(choice.path, device).get_function(choice.row.symbol)
scores, weights, columns = (device.alloc(n) for n in (gating.nbytes, tokens * topk * 4, tokens * topk * 4))
scores.copy_from_host(gating)
args = TopKSoftmaxArgs(
    indices=columns, weights=weights, gating=scores, tokens=tokens, experts=experts, topk=topk, renormalize=1,
    out_stride=topk * 4,
)  # fmt: skip
function.launch_packed(args.pack(function), grid=choice.grid, block=choice.block)

found = columns.copy_to_host(np.empty((tokens, topk), np.int32))
expected = np.argsort(-gating, axis=1, kind="stable")[:, :topk]
assert np.array_equal(found, expected)
print(f"{device.name}: the {topk} largest of {experts} are NumPy's for all {tokens} rows")
