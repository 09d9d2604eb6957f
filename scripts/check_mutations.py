"""Counts the mutants of right kernels that the checks find: `python scripts/check_mutations.py [TARGET …]`.

A mutant has one wait, barrier, wait state or initialisation less, a wait for one more, or a bound that is one wider.
`tests/checking/test_mutations.py` has those that need not be found, each with its reason.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.checking.kernels import NAMES
from tests.checking.test_mutations import exempt, survivors


def main(targets: tuple[str, ...]) -> int:
    """Print a row for each target; how many mutants were missed that matter."""
    missing = 0
    print("| target | kernels | mutants | found | need not be found | missed |\n|---|---|---|---|---|---|")
    for target in targets:
        kernels, count, left = survivors(target)
        wrong = [key for key in left if not exempt(target, *key)]
        missing += len(wrong)
        print(f"| {target} | {kernels} | {count} | {count - len(left)} | {len(left) - len(wrong)} | {len(wrong)} |")
        for kernel, what in wrong:
            print(f"  missed: {kernel}, {what}")
    return missing


if __name__ == "__main__":
    sys.exit(bool(main(tuple(sys.argv[1:]) or NAMES)))
