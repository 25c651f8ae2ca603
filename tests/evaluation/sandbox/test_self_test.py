"""The self-tests, and the refusal to play untrusted code where a guard is missing."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from evaluation.domain.errors import Fault, HostRefusal
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox.base import Guard, Resources
from evaluation.sandbox.docker_sandbox import DockerSandbox, docker_available
from evaluation.sandbox.doctor import examine
from evaluation.sandbox.process_sandbox import ProcessSandbox
from evaluation.sandbox.proved_guards import ProvedGuards

HELD = Guard("no network", held=True, seen="none")
BROKEN = Guard("memory limit", held=False, seen="all of it was eaten")
OPTIONAL = Guard("CPU limit", held=False, seen="none", required=False)


@pytest.fixture
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.usefixtures("_own_state")
def test_every_required_guard_holds_on_this_host() -> None:
    guards = ProcessSandbox().self_test()
    assert [guard for guard in guards if guard.required and not guard.held] == []


@pytest.mark.usefixtures("_own_state")
def test_without_bubblewrap_it_says_what_does_not_hold() -> None:
    sandbox = ProcessSandbox(bubblewrapped=False)
    guards = {guard.name: guard for guard in sandbox.self_test()}
    assert not guards["own process namespace"].held
    assert guards["memory limit"].held
    assert guards["log limit"].held
    assert "Install bubblewrap" in sandbox.limitations()


@pytest.mark.usefixtures("_own_state")
def test_it_rejects_a_host_without_a_required_guard() -> None:
    with pytest.raises(HostRefusal, match=r"memory limit \(all of it was eaten\)"):
        ProvedGuards("engine").require(lambda: [HELD, BROKEN, OPTIONAL])


@pytest.mark.usefixtures("_own_state")
def test_guards_are_proved_once_and_a_missing_one_again() -> None:
    proofs: list[str] = []

    def prove(*guards: Guard) -> list[Guard]:
        proofs.append("proved")
        ProvedGuards("engine").remember(guards)
        return list(guards)

    with pytest.raises(HostRefusal):
        ProvedGuards("engine").require(lambda: prove(BROKEN))
    ProvedGuards("engine").require(lambda: prove(HELD, OPTIONAL))
    ProvedGuards("engine").require(lambda: prove(BROKEN))
    assert len(proofs) == 2
    with pytest.raises(HostRefusal):
        ProvedGuards("another engine").require(lambda: prove(BROKEN))


@pytest.mark.usefixtures("_own_state")
def test_processes_that_begin_together_prove_once() -> None:
    proofs: list[str] = []

    def prove() -> list[Guard]:
        proofs.append("proved")
        time.sleep(0.2)
        ProvedGuards("engine").remember([HELD])
        return [HELD]

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: ProvedGuards("engine").require(prove), range(3)))
    assert len(proofs) == 1


def test_it_rejects_a_host_without_an_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert not docker_available()
    with pytest.raises(Fault, match="no Docker engine answers"):
        DockerSandbox()


@pytest.mark.usefixtures("_own_state")
def test_the_doctor_says_so_where_there_is_no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    process, container = examine()
    assert process.guards
    assert not process.fit_for_untrusted_code
    assert "no Docker engine answers" in container.remark


@pytest.mark.docker
def test_every_guard_of_docker_holds(docker_sandbox: DockerSandbox) -> None:
    guards = docker_sandbox.self_test()
    assert [guard for guard in guards if not guard.held] == []
    assert {"no network", "read-only root", "memory limit", "process limit", "CPU limit"} < {g.name for g in guards}
    docker_sandbox.require_guards()


@pytest.mark.docker
@pytest.mark.usefixtures("_own_state")
def test_docker_starts_nothing_where_a_guard_is_missing(
    docker_sandbox: DockerSandbox, monkeypatch: pytest.MonkeyPatch, socket_directory: Path
) -> None:
    sandbox = DockerSandbox()
    monkeypatch.setattr(sandbox, "self_test", lambda: [HELD, BROKEN])
    player = QueryPlayer("any", ("true",), "digest", image=sandbox.base_image, track=TrackName.MODEL)
    with pytest.raises(HostRefusal, match="memory limit"):
        sandbox.start(player, socket_directory=socket_directory, resources=Resources())
    sandbox.client.close()
