"""What builds of one owner install is kept for that owner: found again as it was, or not at all."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.builder.build_context_tar import ContextEntry
from evaluation.builder.docker_build_settings import CacheLimits
from evaluation.builder.exported_layers import Exported, TooLargeError
from evaluation.builder.image_archive import BuiltConfig, write_layer
from evaluation.builder.installed_layer_cache import InstalledLayerCache, sweep_installed_layers
from evaluation.builder.layer_check import DiskSpace

BASE = (f"sha256:{'b' * 64}",)
ROOM = DiskSpace(files=10, bytes=1000)
KEY, OTHER_KEY = "1" * 64, "2" * 64
DAY = 24 * 3600


@pytest.fixture
def cache(tmp_path: Path) -> InstalledLayerCache:
    return InstalledLayerCache(tmp_path / "cache", "7", CacheLimits())


@pytest.fixture
def installed(tmp_path: Path) -> Exported:
    """What the installing steps of a build gave: one file of 600 bytes."""
    path = tmp_path / "0.tar"
    name = write_layer([ContextEntry("usr/lib/package.py", b"x" * 600)], path)
    return Exported(BuiltConfig((*BASE, name), ("PATH=/bin",), "/", ("/data",)), {name: path}, DiskSpace(9, 400))


@pytest.fixture
def find(tmp_path: Path) -> Callable[..., tuple[Exported | None, list[str]]]:
    """Look an entry up as a build does; what is found, and the lines of the log."""
    numbers = iter(range(1000))

    def look(cache: InstalledLayerCache, key: str = KEY, room: DiskSpace = ROOM) -> tuple[Exported | None, list[str]]:
        lines: list[str] = []
        into = tmp_path / f"build-{next(numbers)}"
        into.mkdir()
        return cache.find(key, base_layers=BASE, room=room, into=into, on_log=lines.append), lines

    return look


Find = Callable[..., tuple[Exported | None, list[str]]]


def keep(cache: InstalledLayerCache, installed: Exported, key: str = KEY) -> Path:
    """Keep `installed`; the directory of its entry."""
    cache.put(key, installed, on_log=pytest.fail)
    return cache.folder / cache.owner / key


def test_a_kept_layer_is_found_as_it_was_and_the_log_says_from_when(
    cache: InstalledLayerCache, installed: Exported, find: Find
) -> None:
    assert find(cache) == (None, [])
    entry = keep(cache, installed)
    os.utime(entry / "description", (made := 1_795_860_720 + 0.5, made))
    cache = InstalledLayerCache(cache.folder, cache.owner, CacheLimits(days=36500))

    found, lines = find(cache)

    assert found is not None
    assert found.config == installed.config
    assert [path.read_bytes() for path in found.layers.values()] == [p.read_bytes() for p in installed.layers.values()]
    assert found.room == DiskSpace(9, 400)
    assert lines == ["requirements unchanged: installed layer of 2026-11-28 10:12 UTC reused"]


def test_nobody_else_finds_it(cache: InstalledLayerCache, installed: Exported, find: Find) -> None:
    keep(cache, installed)

    assert find(InstalledLayerCache(cache.folder, "8", cache.limits)) == (None, [])
    assert find(cache, OTHER_KEY) == (None, [])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[700] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "another byte": ("0.tar", flip),
    "truncated": ("0.tar", lambda path: path.write_bytes(path.read_bytes()[:-512])),
    "missing": ("0.tar", Path.unlink),
    "no description": ("description", lambda path: path.write_bytes(b"")),
    "another environment": ("description", lambda path: path.write_bytes(path.read_bytes().replace(b"/bin", b"/xxx"))),
    "not JSON": ("description", lambda path: path.write_bytes(b"\xff\n{\n")),
}


def test_an_entry_without_its_description_is_in_nobodys_way(
    cache: InstalledLayerCache, installed: Exported, find: Find
) -> None:
    (keep(cache, installed) / "description").unlink()
    assert find(cache) == (None, [])
    keep(cache, installed)
    assert find(cache)[0] is not None
    entry = keep(cache, installed, OTHER_KEY)
    (entry / "description").unlink()
    sweep_installed_layers(cache.folder, cache.limits)
    assert not entry.exists()


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_is_damaged_is_installed_again(
    cache: InstalledLayerCache, installed: Exported, find: Find, kind: str
) -> None:
    name, damage = DAMAGE[kind]
    entry = keep(cache, installed)
    target = entry / name
    content = target.read_bytes()
    target.unlink()  # its content is that of the build, too
    target.write_bytes(content)
    damage(target)

    found, (line,) = find(cache)

    assert found is None
    assert line.startswith("the kept layer of these requirements is damaged (")
    assert str(cache.folder) not in line
    assert not entry.exists()
    keep(cache, installed)
    assert find(cache)[0] is not None


def test_the_layers_of_another_base_image_are_refused(cache: InstalledLayerCache, installed: Exported) -> None:
    keep(cache, installed)
    lines: list[str] = []

    found = cache.find(KEY, base_layers=["sha256:other"], room=ROOM, into=cache.folder, on_log=lines.append)

    assert found is None
    assert "names other layers" in lines[0]


@pytest.mark.parametrize("room", [DiskSpace(10, 599), DiskSpace(0, 1000)])
def test_limits_that_are_lower_now_hold_for_it(
    cache: InstalledLayerCache, installed: Exported, find: Find, room: DiskSpace
) -> None:
    keep(cache, installed)

    with pytest.raises(TooLargeError):
        find(cache, room=room)


def age(path: Path, days: float) -> None:
    moment = time.time() - days * DAY
    os.utime(path, (moment, moment))


def test_it_is_installed_again_after_some_days_however_often_it_is_used(
    cache: InstalledLayerCache, installed: Exported, find: Find
) -> None:
    cache = InstalledLayerCache(cache.folder, cache.owner, CacheLimits(days=3))
    entry = keep(cache, installed)
    age(entry / "description", 2.9)
    assert find(cache)[0] is not None
    age(entry / "description", 3.1)

    assert find(cache) == (None, [])
    assert not entry.exists()


def test_the_sweep_removes_what_is_old_and_what_was_left_unfinished(
    cache: InstalledLayerCache, installed: Exported
) -> None:
    old, young = keep(cache, installed), keep(cache, installed, OTHER_KEY)
    age(old / "description", 15)
    killed, running = young.with_name(".killed"), young.with_name(".running")
    for folder in (killed, running):
        folder.mkdir()
    age(killed, 1.1)

    assert sweep_installed_layers(cache.folder, cache.limits) == 1

    assert {path.name for path in young.parent.iterdir()} == {young.name, running.name}
    assert sweep_installed_layers(cache.folder, CacheLimits(days=0)) == 1
    assert sweep_installed_layers(cache.folder / "nothing", cache.limits) == 0


def used(folder: Path, *places: str) -> None:
    """Set when entries were used: one after the other."""
    for number, place in enumerate(places):
        age(folder / place, 0.1 - number / 1000)


def test_what_a_team_uses_least_goes_first_and_never_for_another_teams_limit(
    cache: InstalledLayerCache, installed: Exported
) -> None:
    size = sum(path.stat().st_size for path in keep(cache, installed).iterdir())
    limits = CacheLimits(bytes=5 * size, team_bytes=2 * size)
    for owner, keys in {"7": "abc", "8": "ab", "9": "ab"}.items():
        for key in keys:
            keep(InstalledLayerCache(cache.folder, owner, CacheLimits()), installed, key)
    used(cache.folder, "9/a", "7/a", f"7/{KEY}", "8/a", "7/b", "8/b", "9/b", "7/c")

    sweep_installed_layers(cache.folder, limits)

    left = {str(path.relative_to(cache.folder)) for path in cache.folder.glob("*/*")}
    assert left == {"7/b", "7/c", "8/a", "8/b", "9/b"}


def test_a_layer_above_the_limit_is_not_kept(cache: InstalledLayerCache, installed: Exported) -> None:
    small = InstalledLayerCache(cache.folder, cache.owner, CacheLimits(team_bytes=600))

    assert not keep(small, installed).exists()


def test_a_disk_that_cannot_be_written_is_no_failure(tmp_path: Path, installed: Exported) -> None:
    (tmp_path / "file").touch()
    lines: list[str] = []

    InstalledLayerCache(tmp_path / "file", "7", CacheLimits()).put(KEY, installed, on_log=lines.append)

    assert lines == ["the installed layer could not be kept: Not a directory"]


def test_builds_at_once_find_a_whole_entry_or_none(cache: InstalledLayerCache, installed: Exported, find: Find) -> None:
    """Builds of one team keep and find the same entry while a sweep removes it."""
    content = [path.read_bytes() for path in installed.layers.values()]
    wrong: list[object] = []
    done = threading.Event()

    def build() -> None:
        for _ in range(30):
            found, lines = find(cache)
            if found is None:
                cache.put(KEY, installed, on_log=wrong.append)
            elif [path.read_bytes() for path in found.layers.values()] != content:
                wrong.append(found)
            wrong.extend(line for line in lines if "reused" not in line and "No such file" not in line)

    def sweep() -> None:
        while not done.is_set():
            sweep_installed_layers(cache.folder, CacheLimits(days=0))

    sweeper = threading.Thread(target=sweep)
    builds = [threading.Thread(target=build) for _ in range(3)]
    for thread in (sweeper, *builds):
        thread.start()
    for thread in builds:
        thread.join()
    done.set()
    sweeper.join()

    assert wrong == []
    keep(cache, installed)
    assert find(cache)[0] is not None
    assert not [path for path in (cache.folder / "7").iterdir() if path.name.startswith(".")]
