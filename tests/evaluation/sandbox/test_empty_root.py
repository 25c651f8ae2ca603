"""In bubblewrap a player's root is empty but for what it needs: nothing of a site is in sight, wherever that lies."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.domain.players import QueryPlayer
from evaluation.sandbox.base import Ending, PlayerRun, Resources
from evaluation.sandbox.hidden_host_figures import device_figures, process_figures
from evaluation.sandbox.process_sandbox import ProcessSandbox

Scripted = Callable[[str], QueryPlayer]
Ask = Callable[..., Any]

PROJECT = Path(__file__).parents[3]
SYSTEM = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "tmp", "usr"}
SEEN = """
    import json, os
    def read(path):
        try:
            return os.listdir(path) if os.path.isdir(path) else open(path).read()
        except OSError as error:
            return type(error).__name__
    print(json.dumps({path: read(path) for path in %r}))
"""


@pytest.fixture(autouse=True)
def _own_register(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def ask(scripted: Scripted, socket_directory: Path, wait_for_end: Callable[[PlayerRun], Ending]) -> Ask:
    """What a player in bubblewrap finds at some paths, the contents of files and the names in directories."""

    def found(
        *paths: Path | str, checkout: Path | None = None, gpu: str | None = None, hidden: tuple[Path, ...] = ()
    ) -> dict[str, Any]:
        asking = replace(scripted(SEEN % ([str(path) for path in paths],)), gpu=gpu is not None)
        if checkout is not None:
            assert asking.directory is not None
            asking = replace(asking, directory=Path(shutil.move(asking.directory, checkout)))
        sandbox = ProcessSandbox(bubblewrapped=True, hidden=hidden)
        run = sandbox.start(asking, socket_directory=socket_directory, resources=Resources(gpu=gpu))
        ending = wait_for_end(run)
        assert ending.exit_code == 0, ending.log
        seen: dict[str, Any] = json.loads(ending.log)
        return seen

    return found


def state_in(place: Path | str) -> Iterator[Path]:
    """The state of a site in a folder of its own below `place`."""
    with tempfile.TemporaryDirectory(dir=place, prefix="gauntlet-state-") as name:
        state = Path(name)
        (state / "secret-key").write_text("a secret")
        (state / "site.sqlite3").write_text("rows")
        (state / "objects").mkdir()
        (state / "objects" / "images").write_text("secret images")
        yield state


@pytest.fixture
def state() -> Iterator[Path]:
    """One that lies neither in a home nor among temporary files."""
    places = (Path("/srv"), Path("/opt"), PROJECT)
    yield from state_in(next(place for place in places if os.access(place, os.W_OK)))


@pytest.fixture
def state_in_prefix() -> Iterator[Path]:
    """One that lies in the environment of the interpreter, which players share."""
    yield from state_in(sys.prefix)


def test_a_player_sees_nothing_of_a_site_that_nobody_named(ask: Ask, state: Path) -> None:
    files = [state / "secret-key", state / "site.sqlite3", state / "objects" / "images"]
    assert set(ask(state, *files).values()) == {"FileNotFoundError"}


def test_the_root_holds_what_a_player_needs_and_nothing_else(ask: Ask) -> None:
    seen = ask("/", "/etc", "/run", "/var", "/home")
    ways = {Path(path).parts[1] for path in (sys.prefix, sys.base_prefix, os.path.realpath(sys.executable))}
    assert set(seen["/"]) <= SYSTEM | ways
    assert not {"shadow", "hostname", "ssh", "machine-id"} & set(seen["/etc"])
    assert seen["/run"] == ["gauntlet"]
    assert (seen["/var"], seen["/home"]) == ("FileNotFoundError", "FileNotFoundError")


def test_the_figures_of_the_host_are_hidden(ask: Ask) -> None:
    figures = [*process_figures(), *device_figures()]
    assert Path("/proc/vmstat") in figures
    seen = ask(*figures, "/proc/meminfo", "/proc/cpuinfo", "/sys/devices/system/cpu/online", gpu="0")
    needed = [seen.pop(path) for path in list(seen)[-3:]]
    assert set(map(str, seen.values())) <= {"", "[]", "PermissionError"}
    assert all(needed)


def test_it_does_not_see_our_source(ask: Ask) -> None:
    own = PROJECT / "evaluation" / "sandbox" / "bubblewrap.py"
    assert set(ask(own, PROJECT / "platform", PROJECT / "manage.py").values()) == {"FileNotFoundError"}


def test_what_is_to_be_hidden_is_hidden_below_what_is_shown(ask: Ask, state_in_prefix: Path) -> None:
    shown = ask(state_in_prefix / "secret-key")
    assert list(shown.values()) == ["a secret"], "the folder of the interpreter is shown as a whole"
    files = [state_in_prefix / "secret-key", state_in_prefix / "objects" / "images"]
    hidden = ask(state_in_prefix, *files, hidden=(state_in_prefix,))
    assert list(hidden.values()) == [[], "FileNotFoundError", "FileNotFoundError"]
    alone = ask(*files, hidden=(state_in_prefix / "secret-key", state_in_prefix / "no-such-file"))
    assert list(alone.values()) == ["PermissionError", "secret images"]


def test_a_checkout_in_the_hidden_state_is_shown_alone(ask: Ask, state_in_prefix: Path) -> None:
    checkout = state_in_prefix / "checkouts" / "7"
    checkout.parent.mkdir()
    seen = ask(state_in_prefix, state_in_prefix / "checkouts", checkout, checkout=checkout, hidden=(state_in_prefix,))
    assert list(seen.values()) == [["checkouts"], ["7"], ["player.py"]]


def test_a_player_has_a_name_and_the_host_has_one(
    scripted: Scripted, socket_directory: Path, wait_for_end: Callable[[PlayerRun], Ending]
) -> None:
    player = scripted("import getpass, socket; print(getpass.getuser(), socket.gethostbyname('localhost'))")
    run = ProcessSandbox(bubblewrapped=True).start(player, socket_directory=socket_directory, resources=Resources())
    assert wait_for_end(run).log == "player 127.0.0.1\n"


def test_a_player_with_a_gpu_gets_no_other_devices(ask: Ask) -> None:
    without, with_gpu = (set(ask("/dev", gpu=gpu)["/dev"]) for gpu in (None, "0"))
    gpus = {path.name for path in Path("/dev").iterdir() if path.name.startswith(("nvidia", "dri", "kfd", "dxg"))}
    assert not without & gpus
    assert with_gpu - without == gpus
