"""Whose cause a failure is: the player's, or that of a host that proves unable to run any player."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evaluation.domain.errors import Fault
from evaluation.domain.failure_reasons import Reason
from evaluation.domain.players import QueryPlayer, Side, TrackName
from evaluation.formats.query.referee.match_players import ConnectedPlayer, PlayerFailedError
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.protocol.channel import ChannelError
from evaluation.sandbox import working_sandbox_proof
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.docker_sandbox import DockerSandbox
from evaluation.sandbox.process_sandbox import ProcessSandbox

RESOURCES = Resources(memory_bytes=512 << 20, processes=64, scratch_bytes=8 << 20, log_bytes=64 << 10)
SHORT = QueryRules(classes=10, setup_seconds=2.0)
LONG = QueryRules(classes=10, setup_seconds=30.0)

ENDS: dict[str, tuple[tuple[str, ...], Reason]] = {
    "exits with 125": (("sh", "-c", "exit 125"), Reason.EXITED_IN_SETUP),
    "exits with 126": (("sh", "-c", "exit 126"), Reason.EXITED_IN_SETUP),
    "exits with 127": (("sh", "-c", "exit 127"), Reason.EXITED_IN_SETUP),
    "kills itself": (("sh", "-c", "kill -9 $$"), Reason.EXITED_IN_SETUP),
    "terminates itself": (("sh", "-c", "trap - TERM; kill -15 $$; exit 143"), Reason.EXITED_IN_SETUP),
    "ends in order": (("true",), Reason.EXITED_IN_SETUP),
    "has no such command": (("no-such-command",), Reason.EXITED_IN_SETUP),
    "speaks as bubblewrap": (
        ("sh", "-c", "echo 'bwrap: Creating new namespace failed'; exit 1"),
        Reason.EXITED_IN_SETUP,
    ),
    "speaks as the engine": (
        ("sh", "-c", "echo 'Cannot connect to the Docker daemon. OCI runtime create failed'; exit 125"),
        Reason.EXITED_IN_SETUP,
    ),
    "fills its scratch space": (
        ("sh", "-c", "cat /dev/zero > /tmp/full; echo 'No space left on device'; exit 1"),
        Reason.EXITED_IN_SETUP,
    ),
    "never connects": (("sleep", "60"), Reason.NEVER_CONNECTED),
}

OF_SOME_SANDBOXES = {
    "exits with 125": {"docker"},
    "exits with 126": {"docker", "bubblewrap"},
    "speaks as bubblewrap": {"bubblewrap"},
    "speaks as the engine": {"docker"},
}
"""The ends that some sandboxes alone could take for one of their own, by the names of these."""

CRASHING = """
    import os, socket, struct, sys
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.environ["GAUNTLET_SOCKET"])
    connection.close()
    {end}
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("docker") is None:  # guards of an engine stay proved
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture(
    params=["bubblewrap", "plain processes", pytest.param("docker", marks=pytest.mark.docker)],
)
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "docker":
        return DockerSandbox()
    return ProcessSandbox(bubblewrapped=request.param == "bubblewrap")


@pytest.fixture
def make_player(tmp_path: Path) -> Callable[..., QueryPlayer]:
    def make(sandbox: Sandbox, *command: str) -> QueryPlayer:
        checkout = tmp_path / "checkout"
        checkout.mkdir(exist_ok=True)
        image = sandbox.base_image if isinstance(sandbox, DockerSandbox) else None
        directory = None if image else checkout
        return QueryPlayer("some player", command, "digest", directory=directory, image=image, track=TrackName.MODEL)

    return make


def failure_of(sandbox: Sandbox, player: QueryPlayer, rules: QueryRules = LONG) -> Any:
    """How the referee names the failure of a player in its first start."""
    connected_player = ConnectedPlayer(
        Side.MODEL, SandboxedPlayer(sandbox, player, RESOURCES), TrackName.UNTARGETED, rules, 1.0
    )
    with pytest.raises(PlayerFailedError) as failed:
        connected_player.channel()
    return failed.value.failure


@pytest.mark.parametrize(
    ("sandbox", "end"),
    [
        pytest.param(sandbox, end, id=f"{sandbox}-{end}", marks=[pytest.mark.docker] if sandbox == "docker" else [])
        for sandbox in ("bubblewrap", "plain processes", "docker")
        for end in ENDS
        if sandbox in OF_SOME_SANDBOXES.get(end, {sandbox})
    ],
    indirect=["sandbox"],
)
def test_a_player_cannot_pass_its_end_for_the_hosts(
    sandbox: Sandbox, make_player: Callable[..., QueryPlayer], end: str
) -> None:
    command, reason = ENDS[end]
    rules = SHORT if reason is Reason.NEVER_CONNECTED else LONG

    failure = failure_of(sandbox, make_player(sandbox, *command), rules)

    assert (failure.side, failure.reason, failure.in_setup) == (Side.MODEL, reason, True)


@pytest.mark.parametrize(
    ("end", "reason"),
    [("sys.exit(3)", Reason.CRASHED), ("os.kill(os.getpid(), 9)", Reason.CRASHED), ("pass", Reason.DISCONNECTED)],
    ids=["exits", "kills itself", "ends in order"],
)
def test_a_player_that_hangs_up_is_charged_as_before(
    sandbox: Sandbox, make_player: Callable[..., QueryPlayer], end: str, reason: Reason
) -> None:
    player = make_player(sandbox, "python3", "-c", textwrap.dedent(CRASHING).format(end=end))
    expected = Reason.EXITED_IN_SETUP if reason is Reason.CRASHED else reason
    assert failure_of(sandbox, player).reason is expected


def test_no_control_player_is_started_for_a_player_that_is_just_sent_away(
    sandbox: Sandbox, make_player: Callable[..., QueryPlayer], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr(type(sandbox), "prove", lambda *arguments, **options: started.append(arguments))
    hello = """
        import os, socket, time
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.environ["GAUNTLET_SOCKET"])
        time.sleep(60)
    """
    player = SandboxedPlayer(sandbox, make_player(sandbox, "python3", "-c", textwrap.dedent(hello)), RESOURCES)
    connection, _ = player.open(30.0)
    connection.close()
    assert player.dismiss().reason is None
    assert started == []


def broken(sandbox: Sandbox, player: QueryPlayer, rules: QueryRules = LONG) -> str:
    """What is said of the host on which a player cannot start."""
    connected_player = ConnectedPlayer(
        Side.MODEL, SandboxedPlayer(sandbox, player, RESOURCES), TrackName.UNTARGETED, rules, 1.0
    )
    with pytest.raises(Fault) as fault:
        connected_player.channel()
    assert connected_player.failures == []
    return str(fault.value)


def test_a_sandbox_program_that_is_gone_is_the_hosts_cause(
    sandbox_program: Any, make_player: Callable[..., QueryPlayer]
) -> None:
    sandbox = ProcessSandbox(bubblewrapped=True)
    sandbox.prove(RESOURCES)
    sandbox_program.remove()
    assert "cannot start bwrap: No such file" in broken(sandbox, make_player(sandbox, "true"))
    with pytest.raises(Fault, match="a control player failed"):
        sandbox.prove(RESOURCES)


@pytest.mark.parametrize("script", ["exit 1", "exit 137", "kill -9 $$", "echo 'bwrap: out of order'; exit 0"])
def test_a_sandbox_program_that_fails_only_now_is_found_although_control_players_start(
    sandbox_program: Any, make_player: Callable[..., QueryPlayer], script: str
) -> None:
    sandbox = ProcessSandbox(bubblewrapped=True)
    sandbox_program.replace(f'[ $COUNT = 1 ] && {{ {script}; }}; exec $REAL "$@"')
    assert "bubblewrap ended before the player started" in broken(sandbox, make_player(sandbox, "true"))
    sandbox.prove(RESOURCES, starts=3)


def test_a_sandbox_program_that_hangs_is_the_hosts_cause(
    sandbox_program: Any, make_player: Callable[..., QueryPlayer]
) -> None:
    sandbox = ProcessSandbox(bubblewrapped=True)
    sandbox_program.replace('[ $COUNT = 1 ] && exec sleep 60; exec $REAL "$@"')
    assert "before the player started" in broken(sandbox, make_player(sandbox, "true"), SHORT)


def test_a_control_player_that_is_not_answered_in_time_is_the_hosts_cause(
    sandbox_program: Any, make_player: Callable[..., QueryPlayer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working_sandbox_proof, "_SECONDS", 1.0)
    sandbox = ProcessSandbox(bubblewrapped=True)
    sandbox_program.replace("exec sleep 60")
    with pytest.raises(Fault, match="did not connect"):
        sandbox.prove(RESOURCES)


def test_a_player_cannot_write_to_the_report_of_bubblewrap(make_player: Callable[..., QueryPlayer]) -> None:
    seen = "import os; print([n for n in os.listdir('/proc/self/fd') if n not in '012'])"
    sandbox = ProcessSandbox(bubblewrapped=True)
    connection = SandboxedPlayer(sandbox, make_player(sandbox, "python3", "-c", seen), RESOURCES)
    with pytest.raises(ChannelError):
        connection.open(30.0)
    connection.dismiss()
    (log,) = connection.logs
    assert log == "['3']\n"  # the listing itself
