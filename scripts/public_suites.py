"""Runs the public suites that test an array namespace on this one, and counts what passes.

    python scripts/public_suites.py array-api FOLDER [--max-examples 20]
    python scripts/public_suites.py scipy [scipy.fft ...]
    python scripts/public_suites.py scikit-learn [sklearn.preprocessing ...]

FOLDER is a clone of data-apis/array-api-tests with its submodule. SciPy and scikit-learn bring their tests in their
wheels; which of their packages run may be named. Wanted are pytest, hypothesis, pytest-json-report, and for
scikit-learn pandas.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

HERE = Path(__file__).parent
# What selects the tests that take a namespace, and the package that has them.
CHOSEN = {"scipy": ("-m", "array_api_backends and not slow"), "scikit-learn": ("-k", "rocmkern")}
PACKAGES = {"scipy": "scipy", "scikit-learn": "sklearn"}


def run(suite: str, where: list[str], folder: Path | None, examples: int, report: Path) -> int:
    """pytest's exit status; `report` becomes its JUnit file."""
    paths = [str(HERE.parent), str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", f"--junit-xml={report}"]
    if folder is not None:
        environment["ARRAY_API_TESTS_MODULE"] = "rocmkern"
        command += ["array_api_tests", "--disable-deadline", f"--max-examples={examples}"]
    else:
        environment |= {"ROCMKERN_SUITE": suite, "SCIPY_ARRAY_API": "1"}
        settings = report.with_name("pytest.ini")  # or those of a checkout around the environment would count
        settings.write_text("[pytest]\n")
        command += ["-c", str(settings), "-p", "suite_backend", *CHOSEN[suite]]
        command += ["--pyargs", *(where or [PACKAGES[suite]])]
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def outcomes(report: Path) -> Counter[str]:
    """How many tests of a JUnit file passed, failed, had an error around them or were skipped."""
    found: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[kinds[0] if kinds else "passed"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("suite", choices=["array-api", *PACKAGES])
    parser.add_argument("where", nargs="*", help="the folder of array-api-tests, or packages of the others")
    parser.add_argument("--max-examples", type=int, default=20, help="of each of array-api-tests' properties")
    options = parser.parse_args()
    folder = None
    if options.suite == "array-api":
        if len(options.where) != 1 or not any(Path(options.where[0], "array-api").glob("*")):
            parser.error("array-api takes a clone of array-api-tests; git clone --recurse-submodules")
        folder = Path(options.where[0])
    with tempfile.TemporaryDirectory() as kept:
        report = Path(kept) / "report.xml"
        status = run(options.suite, options.where, folder, options.max_examples, report)
        counts = outcomes(report) if report.exists() else Counter()
    used = ("numpy", PACKAGES.get(options.suite, "hypothesis").replace("sklearn", "scikit-learn"))
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()), "with", *(f"{p} {metadata.version(p)}" for p in used))
    sys.exit(status)


if __name__ == "__main__":
    main()
