"""Folders that a program sees: at their places, and writable only if they are meant to be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.domain.players import Program
from evaluation.sandbox.base import Ending, Folder, PlayerRun, Resources, Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox

SCRIPT = """
pwd; cat "$1"/text
(echo changed >"$1"/text) 2>/dev/null
echo written >"$2"/new && chmod 666 "$2"/new
ls "$3" 2>/dev/null
exit 0
"""


@pytest.fixture(params=["bubblewrap", "plain", pytest.param("docker", marks=pytest.mark.docker)])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sandbox:
    """Every sandbox, with a register of its own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "docker":
        docker: DockerSandbox = request.getfixturevalue("docker_sandbox")
        return docker
    return ProcessSandbox(bubblewrapped=request.param == "bubblewrap")


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Folder, Folder]:
    """One with a text to read, and one to write to, in which the program starts."""
    given, work = tmp_path / "given", tmp_path / "work"
    for path in (given, work):
        path.mkdir()
        path.chmod(0o777)
    (given / "text").write_text("to read\n")
    (given / "text").chmod(0o666)
    return Folder(given, "/given"), Folder(work, "/some/work", writable=True, working=True)


def test_a_folder_is_at_its_place_and_writable_only_if_it_is_meant_to_be(
    sandbox: Sandbox,
    folders: tuple[Folder, Folder],
    socket_directory: Path,
    tmp_path: Path,
    wait_for_end: Callable[[PlayerRun], Ending],
) -> None:
    built = tmp_path / "built"
    built.mkdir()
    (built / "code").touch()
    image = sandbox.base_image if isinstance(sandbox, DockerSandbox) else None
    places = [sandbox.place(folder) for folder in folders]
    program = Program(
        "shell", ("sh", "-c", SCRIPT, "sh", *places, str(built)), "d", directory=None if image else built, image=image
    )
    run = sandbox.start(program, socket_directory=socket_directory, resources=Resources(), folders=folders)
    ending = wait_for_end(run)
    plain = isinstance(sandbox, ProcessSandbox) and not sandbox.bubblewrapped
    seen = [places[1], "to read", *(["code"] if plain else [])]
    assert (ending.exit_code, ending.log.split("\n")[:-1]) == (0, seen)
    assert (folders[1].source / "new").read_text() == "written\n"
    assert (folders[0].source / "text").read_text() == ("changed\n" if plain else "to read\n")
    assert plain or places == ["/given", "/some/work"]
