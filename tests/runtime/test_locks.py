"""Every lock there is: no finaliser waits for one, and no forked child."""

from __future__ import annotations

import ast
import functools
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import rocmkern
from rocmkern import locks
from tests.runtime import regions

ROOT: Final = Path(rocmkern.__file__).parent
MADE_BY: Final = ("Lock", "ReentrantLock", "Condition")  # of ours
OTHERS: Final = {
    "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Barrier", "allocate_lock", "flock", "lockf",
}  # fmt: skip
TREES: Final = {path: ast.parse(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}


def names() -> list[str]:
    """Of all locks that the library makes."""
    calls = (node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.Call))
    made = [call.args for call in calls if isinstance(call.func, ast.Name) and call.func.id in MADE_BY]
    return sorted({argument.value for (argument,) in made if isinstance(argument, ast.Constant)})


def is_of_coroutines(node: ast.Attribute) -> bool:
    """What asyncio has for those of one thread, which nobody waits for while they run."""
    return isinstance(node.value, ast.Name) and node.value.id == "asyncio"


def run(*arguments: str) -> list[str]:
    """What a program of its own says: a large process may not be allowed to fork."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", regions.__name__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * regions.HANG_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_locks_are_made_in_one_place() -> None:
    """Elsewhere nobody asks Python or the system for one: it would be known to none of these tests."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        for name in [node.attr if isinstance(node, ast.Attribute) and not is_of_coroutines(node) else ""]
        if name in OTHERS and path != Path(locks.__file__)
    ]
    imports = [
        f"{path.relative_to(ROOT)}: {alias.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in ("threading", "_thread", "fcntl", "multiprocessing")
        for alias in node.names
        if alias.name in OTHERS and path != Path(locks.__file__)
    ]
    assert wrong + imports == []
    assert len(names()) >= 9


def test_no_property_has_a_lock() -> None:
    """Before Python 3.12 cached_property has one; attrs replaces it in classes with slots, others use `lazy`."""
    modules = [m.name for m in pkgutil.walk_packages(rocmkern.__path__, "rocmkern.") if "__main__" not in m.name]
    classes = {c for name in modules for c in vars(import_module(name)).values() if isinstance(c, type)}
    found = [
        f"{c.__module__}.{c.__name__}.{name}"
        for c in classes
        if c.__module__.startswith("rocmkern")
        for name, value in vars(c).items()
        if isinstance(value, functools.cached_property)
    ]
    assert found == []


def test_a_lazy_attribute_is_worked_out_once() -> None:
    """It then lies in the object itself."""

    class Circle:
        asked = 0

        @locks.lazy
        def area(self) -> float:
            """Of the unit circle."""
            self.asked += 1
            return 3.14

    circle = Circle()
    assert [circle.area, circle.area, circle.asked] == [3.14, 3.14, 1]
    assert Circle.area.__doc__ == "Of the unit circle."


def test_finalisers_run_in_every_locked_region() -> None:
    """Of streams, events, memory, modules and whatever else has one: the work goes on, and all of it is given back."""
    assert run("collect") == names()


def test_a_child_that_was_forked_in_any_locked_region_works() -> None:
    """Another thread of the parent was there, and is not in the child."""
    assert run("fork", *names()) == names()


def test_a_lock_that_somebody_holds_is_not_waited_for() -> None:
    """By who asks whether it is free; whoever has it keeps it."""
    lock = locks.Lock("test")
    with lock.if_free() as has:
        assert has
        with lock.if_free() as again:
            assert not again
        with lock.if_free() as again:
            assert not again
    with lock, lock.if_free() as has:
        assert not has


def test_a_child_has_no_part_in_a_file_lock(tmp_path: Path) -> None:
    """What its parent holds when it forks is free once the parent lets go, in the child and elsewhere."""
    assert run("file", str(tmp_path / "lock")) == []
