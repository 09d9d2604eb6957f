"""The hip driver against what CI can get of the real thing: hip-python's release 7, and Debian's HIP library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RELEASE_7 = "hip-python==7.2.2.562.43"
# Debian 12's HIP 5.2.3 with what it loads; unpacked, not installed.
PACKAGES = (
    "libamdhip64-5", "libamd-comgr2", "libhsa-runtime64-1", "libhsakmt1", "libllvm15", "libnuma1", "libdrm2",
    "libdrm-amdgpu1", "libelf1", "libedit2", "libbsd0", "libmd0", "libxml2", "libicu72", "libz3-4", "libffi8",
    "libtinfo6",
)  # fmt: skip


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("ROCM", "PYTEST"))} | environment
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def release_7(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hip-python-7")
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), RELEASE_7)
    return folder


@pytest.fixture(scope="module")
def debian_hip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of Debian 12's libraries."""
    if shutil.which("apt-get") is None or "bookworm" not in Path("/etc/os-release").read_text():
        pytest.skip("needs Debian 12's packages; this is another system")
    folder = tmp_path_factory.mktemp("debian-hip")
    if os.geteuid() == 0:
        run("apt-get", "update", "-qq")
    run("apt-get", "download", "-qq", *PACKAGES, cwd=folder)
    for package in folder.glob("*.deb"):
        run("dpkg", "-x", str(package), str(folder))
    libraries = folder / "usr/lib/x86_64-linux-gnu"
    (libraries / "libamdhip64.so").symlink_to("libamdhip64.so.5")
    return libraries


def test_release_7_passes_the_same_tests(release_7: Path) -> None:
    """The bindings before release 10 give the same answers: properties, launches, errors, streams."""
    path = str(release_7)
    used = run(sys.executable, "-c", "import hip.hip; print(hip.hip.__file__)", PYTHONPATH=path)
    assert used.startswith(path)
    tests = [f"tests/runtime/test_{name}.py" for name in ("hip", "vendors", "launch", "arguments")]
    without = ("-k", "not a_graph_ and not binding_changes_the_nodes")  # which these bindings can't build
    shown = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests, *without, PYTHONPATH=path)
    assert "passed" in shown
    assert "skipped" not in shown


NO_DEVICE = """
import rocmkern as rk
from rocmkern.drivers import hip
from rocmkern.errors import DeviceNotFound, DriverUnavailable
assert not rk.is_hip_available()
assert rk.Device().name == "emulator:gfx942"
for call in (lambda: rk.Device("hip:0"), lambda: hip.check("hipGetDeviceCount"), lambda: hip._info(0)):
    try:
        call()
    except (DeviceNotFound, DriverUnavailable) as error:
        print(type(error).__name__, error)
"""


@pytest.mark.parametrize("release", [7, 10])
def test_real_library_without_a_device(debian_hip: Path, release_7: Path, release: int) -> None:
    """The real libamdhip64 says that there is no device, and a call that it is too old for says so: no crash, and the
    emulator is the default.
    """
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), *([str(release_7)] * (release == 7))])}
    lines = run(sys.executable, "-c", NO_DEVICE, LD_LIBRARY_PATH=str(debian_hip), **path).splitlines()
    no_device = "DeviceNotFound hipGetDeviceCount: hipErrorNoDevice (100); use an emulator device"
    assert lines[:2] == [no_device, no_device]
    assert lines[2].startswith("DriverUnavailable hipGetDeviceProperties: the HIP library can't be used")
    assert "hipGetDevicePropertiesR0600" in lines[2]
