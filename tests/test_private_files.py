"""What is run as code comes from files that nobody but their user can have written, or is made anew."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path

import pytest

from rocmkern import disk_cache, private_files
from rocmkern.disk_cache import DiskCache
from rocmkern.emulator.linking import Function
from rocmkern.emulator.program import settle
from rocmkern.emulator.store import Store
from rocmkern.paths import CACHE_VARIABLE, CONFIG_VARIABLE

NOBODY = 65534
KEEP = """
import sys
from rocmkern.disk_cache import DiskCache
cache = DiskCache.named("kept")
sys.stdin.readline()
assert cache.keep(sys.argv[1], b"content")
"""
LAUNCH = """
import warnings
warnings.simplefilter("always")
import numpy as np, rocmkern as rk
from rocmkern.emulator.native import native
x = rk.asarray(np.arange(4, dtype=np.float32), device="emulator:gfx942")
assert (x + x).numpy().tolist() == [0, 2, 4, 6]
print(native().compiled)
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders of a user who has nothing yet; what earlier tests compile is kept under the key of before."""
    settle()
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "config"))
    monkeypatch.setattr(private_files, "_told", set())
    return tmp_path


@pytest.fixture
def cache() -> DiskCache:
    found = DiskCache.named("kept")
    assert found.keep("v/a", b"content")
    return found


def give_away(path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a file to another user")
    os.chown(path, NOBODY, NOBODY)


DOORS: dict[str, Callable[[Path], None]] = {
    "folder for all": lambda folder: folder.chmod(0o777),
    "folder for the group": lambda folder: folder.chmod(0o770),
    "inner folder for all": lambda folder: (folder / "v").chmod(0o707),
    "file for all": lambda folder: (folder / "v/a.kept").chmod(0o606),
    "file for the group": lambda folder: (folder / "v/a.kept").chmod(0o620),
    "folder of another user": give_away,
    "inner folder of another user": lambda folder: give_away(folder / "v"),
    "file of another user": lambda folder: give_away(folder / "v/a.kept"),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_others_could_have_written_is_not_used(cache: DiskCache, door: str) -> None:
    """Whoever owns it or could write it; that is told once, with the path, and what is in it counts as missing."""
    DOORS[door](cache.folder)
    with pytest.warns(RuntimeWarning, match=f"cache: {cache.folder}.* it is not used: remove it") as told:
        assert cache.fetch("v/a") is None
        assert cache.fetch("v/a") is None
    assert len(told) == 1


@pytest.mark.parametrize("door", [door for door in DOORS if "folder" in door])
def test_nothing_is_kept_where_others_can_write(cache: DiskCache, door: str) -> None:
    """A folder that is not the user's alone is left as it is."""
    DOORS[door](cache.folder)
    with pytest.warns(RuntimeWarning, match="is not used"):
        assert not cache.keep("v/b", b"content")
    assert not (cache.folder / "v/b.kept").exists()


def test_what_is_made_is_for_the_user_alone(cache: DiskCache, home: Path) -> None:
    """Folders have mode 0700, files 0600, whatever the umask lets through."""
    before = os.umask(0)
    try:
        assert DiskCache(home / "new/one").keep("v/a", b"content")
        Store(DiskCache(home / "new/two"), "v").write([Function("a", b"a", ())])
    finally:
        os.umask(before)
    made = [p for folder in ("new", "config") for p in (home / folder).rglob("*") if p.name != "bounded"]
    assert {(p.is_dir(), p.stat().st_mode & 0o777) for p in made} == {(True, 0o700), (False, 0o600)}


def test_a_digest_without_the_key_is_refused(cache: DiskCache) -> None:
    """As anybody can compute one: of the content alone, or under a key of their own."""
    path = cache.folder / "v/a.kept"
    for key in (b"", bytes(32)):
        path.write_bytes(blake2b(b"planted", digest_size=16, key=key).digest() + b"planted")
        assert cache.fetch("v/a") is None
    assert cache.keep("v/a", b"mine")
    assert cache.fetch("v/a") == b"mine"


def test_an_entry_counts_under_its_own_name_only(cache: DiskCache) -> None:
    """Content that this user kept says nothing under another key."""
    (cache.folder / "v/b.kept").write_bytes((cache.folder / "v/a.kept").read_bytes())
    (cache.folder / "v/b.kept").chmod(0o600)
    assert cache.fetch("v/b") is None


def test_links_and_pipes_are_not_followed(cache: DiskCache, home: Path) -> None:
    """In an entry's place a link is none, and a pipe does not wait for a writer."""
    path = cache.folder / "v/a.kept"
    path.rename(home / "elsewhere")
    path.symlink_to(home / "elsewhere")
    assert cache.fetch("v/a") is None
    path.unlink()
    os.mkfifo(path, 0o600)
    assert cache.fetch("v/a") is None
    assert cache.keep("v/a", b"again")
    assert cache.fetch("v/a") == b"again"


def test_nothing_is_written_through_a_link(home: Path) -> None:
    """Neither entries nor the index reach a file that a link in their place leads to."""
    victim = home / "victim"
    victim.write_bytes(b"precious")
    folder = home / "cache/kept/v"
    folder.mkdir(parents=True, mode=0o700)
    for name in ("a.kept", "index"):
        (folder / name).symlink_to(victim)
    store = Store(DiskCache.named("kept"), "v")
    assert store.cache.keep("v/a", b"content")
    store.write([Function("a", b"a", ())])
    assert victim.read_bytes() == b"precious"


def test_processes_that_begin_together_agree_on_the_key(home: Path) -> None:
    """One key is made; each finds what the others kept."""
    run = [sys.executable, "-c", KEEP]
    running = [subprocess.Popen([*run, str(n)], stdin=subprocess.PIPE, cwd=Path.cwd()) for n in range(4)]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(60) for process in running] == [0] * 4
    assert [DiskCache.named("kept").fetch(str(n)) for n in range(4)] == [b"content"] * 4
    assert [p.name for p in (home / "config/private").iterdir()] == ["cache.key"]


def test_a_key_that_others_can_read_is_not_used(cache: DiskCache, home: Path) -> None:
    """Then there is none, and a key beside the cache serves; what was kept under the other counts as missing."""
    (home / "config/private/cache.key").chmod(0o640)
    private_files._keys.clear()
    with pytest.warns(RuntimeWarning, match=r"cache\.key belongs to user .* with mode 640"):
        assert cache.fetch("v/a") is None
    assert cache.keep("v/a", b"content")
    assert (home / "cache/private/cache.key").stat().st_mode & 0o777 == 0o600


def test_a_user_without_a_configuration_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose only place is the cache: the key lies there."""
    (home / "file").write_bytes(b"")
    monkeypatch.setenv(CONFIG_VARIABLE, str(home / "file/config"))
    cache = DiskCache.named("kept")
    assert cache.keep("a", b"content")
    assert cache.fetch("a") == b"content"
    assert (home / "cache/private/cache.key").exists()


def test_a_sealed_file_is_what_this_user_wrote(home: Path) -> None:
    """A kernel in the cache counts with all that lies beside it; elsewhere, where the user put it, as it is."""
    for folder, is_sealed in (("cache/kernels", True), ("deployed", False)):
        path = home / folder / "k.hsaco"
        disk_cache.write(path, b"code")
        disk_cache.describe(path, ".json", b"text", b"code")
        assert disk_cache.read_described(path, ".json") == (b"code", b"text")
        for name, content in (("k.hsaco", b"evil"), ("k.hsaco.json", b"evil")):
            kept = (path.parent / name).read_bytes()
            (path.parent / name).write_bytes(content)
            if is_sealed:
                with pytest.raises(PermissionError, match="is not as it was kept"):
                    disk_cache.read_described(path, ".json")
            (path.parent / name).write_bytes(kept)


def test_planted_code_does_not_run(home: Path) -> None:
    """Entries of an emulator whose folder was given to others are compiled anew, with one warning."""
    command = [sys.executable, "-c", LAUNCH]

    def launched() -> tuple[int, str]:
        done = subprocess.run(command, capture_output=True, text=True, cwd=Path.cwd(), check=True)
        return int(done.stdout), done.stderr

    assert launched()[0] > 0
    assert launched() == (0, "")
    (home / "cache/emulator").chmod(0o777)
    compiled, told = launched()
    assert compiled > 0
    assert told.count("RuntimeWarning") == 1


def test_the_warning_can_be_an_error(cache: DiskCache) -> None:
    """Whoever makes warnings errors hears of it as one."""
    cache.folder.chmod(0o777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="is not used"):
            cache.fetch("v/a")
