"""Starting, watching and ending a player as a container."""

from __future__ import annotations

import io
import os
import signal
import socket
import tempfile
import textwrap
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen

import pytest
from docker.models.containers import Container

from evaluation.domain.errors import BuildRefusal, Fault
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.sandbox import docker_sandbox as docker_sandbox_module
from evaluation.sandbox.base import SOCKET_NAME, Ending, PlayerRun, Resources
from evaluation.sandbox.docker_sandbox import DockerSandbox

pytestmark = pytest.mark.docker

WaitForEnd = Callable[[PlayerRun], Ending]
StartRunner = Callable[[str], tuple["Popen[str]", list[str]]]


@pytest.fixture
def digest() -> str:
    """A label by which a test knows its own containers among others."""
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def scripted(docker_sandbox: DockerSandbox, digest: str) -> Callable[[str], QueryPlayer]:
    def make(source: str) -> QueryPlayer:
        command = ("python3", "-c", textwrap.dedent(source))
        return QueryPlayer("scripted", command, digest, image=docker_sandbox.base_image, track=TrackName.MODEL)

    return make


def containers(sandbox: DockerSandbox, digest: str) -> list[str]:
    found = sandbox.client.containers.list(all=True, filters={"label": f"gauntlet.player={digest}"})
    return [str(container.id) for container in found]


def own_hosts_files(pid: int = os.getpid()) -> list[str]:
    """The directories of hosts files that a process of this host made and nobody removed."""
    made = Path(tempfile.gettempdir()).glob("gauntlet-hosts-*/runner")
    return [label for file in made if f":{pid}:" in (label := file.read_text())]


def test_a_container_connects_to_the_socket_and_its_output_and_end_are_reported(
    docker_sandbox: DockerSandbox,
    scripted: Callable[[str], QueryPlayer],
    digest: str,
    socket_directory: Path,
    wait_for_end: WaitForEnd,
) -> None:
    (socket_directory / SOCKET_NAME).unlink()
    player = scripted("""
        import os, socket
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.environ["GAUNTLET_SOCKET"])
        connection.sendall(b"hello")
        print("said it as", os.getuid())
    """)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(socket_directory / SOCKET_NAME))
        (socket_directory / SOCKET_NAME).chmod(0o666)
        listener.listen()
        listener.settimeout(60)
        run = docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(5, socket.MSG_WAITALL) == b"hello"
    assert wait_for_end(run) == Ending(0, False, "said it as 65534\n")
    assert containers(docker_sandbox, digest) == []


def test_an_audit_waits_for_instances_of_other_users_of_the_engine(
    docker_sandbox: DockerSandbox,
    scripted: Callable[[str], QueryPlayer],
    socket_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    player = scripted("import time; time.sleep(60)")
    run = docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())
    monkeypatch.setattr(docker_sandbox_module, "_INSTANCE_SECONDS", 0.5)
    try:
        with pytest.raises(Fault, match="runs on this host; its audit must wait"):
            docker_sandbox.level_caches(player)
        monkeypatch.setattr(docker_sandbox_module, "_INSTANCE_SECONDS", 60.0)
        ending = threading.Timer(1.0, run.end)
        ending.start()
        docker_sandbox.level_caches(player)
        ending.join()
    finally:
        run.end()


def test_it_rejects_a_player_that_is_a_directory(docker_sandbox: DockerSandbox, socket_directory: Path) -> None:
    player = QueryPlayer("directory", ("true",), "digest", directory=socket_directory, track=TrackName.MODEL)
    with pytest.raises(Fault, match="runs images"):
        docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())


def test_it_rejects_an_image_that_the_engine_has_not(docker_sandbox: DockerSandbox, socket_directory: Path) -> None:
    player = QueryPlayer("missing", ("true",), "digest", image="gauntlet-no-such-image", track=TrackName.MODEL)
    with pytest.raises(Fault, match="has no image gauntlet-no-such-image"):
        docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())


def test_it_rejects_an_image_with_volumes(docker_sandbox: DockerSandbox, socket_directory: Path) -> None:
    recipe = io.BytesIO(f"FROM {docker_sandbox.base_image}\nVOLUME /endless\n".encode())
    image, _ = docker_sandbox.client.images.build(fileobj=recipe, rm=True)
    try:
        player = QueryPlayer("volumes", ("true",), "digest", image=image.id, track=TrackName.MODEL)
        with pytest.raises(BuildRefusal, match="declares volumes"):
            docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())
    finally:
        docker_sandbox.client.images.remove(str(image.id))


def test_a_start_that_fails_half_way_leaves_nothing(
    docker_sandbox: DockerSandbox, scripted: Callable[[str], QueryPlayer], digest: str, tmp_path: Path
) -> None:
    not_a_directory = tmp_path / "file"
    not_a_directory.touch()
    with pytest.raises(Fault, match="starting scripted"):
        docker_sandbox.start(scripted("pass"), socket_directory=not_a_directory / "below", resources=Resources())
    assert containers(docker_sandbox, digest) == []


@pytest.mark.parametrize("seen", [True, False], ids=["seen by the engine", "not seen by the engine"])
def test_a_memory_bomb_is_reported_as_one(
    docker_sandbox: DockerSandbox,
    scripted: Callable[[str], QueryPlayer],
    socket_directory: Path,
    wait_for_end: WaitForEnd,
    monkeypatch: pytest.MonkeyPatch,
    seen: bool,
) -> None:
    """The engine may hear of the end before it hears of the kill, and then does not know why it ended."""
    reload = Container.reload

    def without_the_kill(container: Container) -> None:
        reload(container)
        container.attrs["State"]["OOMKilled"] &= seen

    monkeypatch.setattr(Container, "reload", without_the_kill)
    player = scripted("held = [bytearray(b'x' * (1 << 20)) for _ in range(4096)]")
    run = docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources(memory_bytes=64 << 20))
    ending = wait_for_end(run)
    assert ending.out_of_memory
    assert ending.exit_code == 137


def test_there_is_no_network_and_of_names_only_its_own(
    docker_sandbox: DockerSandbox,
    scripted: Callable[[str], QueryPlayer],
    socket_directory: Path,
    wait_for_end: WaitForEnd,
) -> None:
    player = scripted("""
        import socket
        print([name for _, name in socket.if_nameindex() if name == "eth0"])
        words = [line.split() for line in open("/etc/resolv.conf")]
        print([each for each in words if each and each[0] in ("nameserver", "search", "domain")])
        print(socket.gethostname(), *map(socket.gethostbyname, ("localhost", "player")), open("/etc/hosts").read())
        try:
            socket.getaddrinfo("example.invalid", 80)
        except OSError as error:  # the engine orders each stream by itself, not the two together
            print(type(error).__name__)
    """)
    run = docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())
    ending = wait_for_end(run)
    names = "127.0.0.1 localhost player\n::1 localhost player\n"
    assert ending.log == f"[]\n[]\nplayer 127.0.0.1 127.0.0.1 {names}\ngaierror\n"
    assert own_hosts_files() == []


def test_of_endless_output_the_engine_keeps_little(
    docker_sandbox: DockerSandbox,
    scripted: Callable[[str], QueryPlayer],
    socket_directory: Path,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    player = scripted("for number in range(200_000): print('noise', number)\nprint('last')")
    limit = 20_000
    run = docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources(log_bytes=limit))
    wait_until(run.ended)
    kept_by_engine = docker_sandbox.client.containers.get(run.container_id).logs()
    ending = run.end()
    assert len(kept_by_engine) <= 3 * limit
    assert 0 < len(ending.log) <= limit
    assert ending.log.endswith("noise 199999\nlast\n")


def test_end_kills_all_and_is_safe_to_call_twice(
    docker_sandbox: DockerSandbox, scripted: Callable[[str], QueryPlayer], digest: str, socket_directory: Path
) -> None:
    run = docker_sandbox.start(
        scripted("import time; time.sleep(1000)"), socket_directory=socket_directory, resources=Resources()
    )
    assert not run.ended()
    first = run.end()
    assert first == Ending(None, False, "")
    assert run.end() is first
    assert run.ended()
    assert containers(docker_sandbox, digest) == []


def runner_source(socket_directory: Path, digest: str) -> str:
    return f"""
        import time
        from pathlib import Path
        from evaluation.domain.players import QueryPlayer, TrackName
        from evaluation.sandbox.base import Resources
        from evaluation.sandbox.docker_sandbox import DockerSandbox

        sandbox = DockerSandbox()
        player = QueryPlayer("sleeper", ("sleep", "1000"), {digest!r}, image=sandbox.base_image, track=TrackName.MODEL)
        run = sandbox.start(player, socket_directory=Path({str(socket_directory)!r}), resources=Resources())
        try:
            print(run.container_id, flush=True)
            time.sleep(1000)
        finally:
            run.end()
    """


@pytest.mark.usefixtures("engine_alone")
def test_a_sweep_removes_what_a_killed_runner_left(
    docker_sandbox: DockerSandbox, digest: str, socket_directory: Path, start_runner: StartRunner
) -> None:
    runner, (identity,) = start_runner(runner_source(socket_directory, digest))
    docker_sandbox.sweep()
    assert containers(docker_sandbox, digest) == [identity]  # its runner lives
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    assert own_hosts_files(runner.pid) != []
    assert docker_sandbox.sweep() >= 1
    assert own_hosts_files(runner.pid) == []
    assert containers(docker_sandbox, digest) == []
    assert not socket_directory.exists()


def test_an_interrupted_runner_leaves_nothing(
    docker_sandbox: DockerSandbox, digest: str, socket_directory: Path, start_runner: StartRunner
) -> None:
    runner, _ = start_runner(runner_source(socket_directory, digest))
    runner.send_signal(signal.SIGINT)
    runner.wait(60)
    assert containers(docker_sandbox, digest) == []


def test_its_output_can_be_followed_from_the_start(
    docker_sandbox: DockerSandbox,
    scripted: Callable[[str], QueryPlayer],
    socket_directory: Path,
    wait_until: Callable[[Callable[[], bool]], None],
) -> None:
    player = scripted("""
        import time
        print("early", flush=True)
        time.sleep(0.3)
        print("late", flush=True)
        time.sleep(60)
    """)
    seen = bytearray()
    run = docker_sandbox.start(player, socket_directory=socket_directory, resources=Resources())

    run.follow(seen.extend)
    wait_until(lambda: seen == b"early\nlate\n")
    still_running = not run.ended()
    ending = run.end()

    assert still_running
    assert ending.log == "early\nlate\n"
