"""An engine that fails while a player runs, and an image that no engine can start."""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.domain.errors import BuildRefusal, Fault
from evaluation.domain.players import QueryPlayer, TrackName
from evaluation.formats.query.runner.sandboxed_player import SandboxedPlayer
from evaluation.protocol.channel import ChannelError
from evaluation.sandbox.base import Resources
from evaluation.sandbox.docker_sandbox import DockerSandbox

pytestmark = [
    pytest.mark.docker,
    # the engine's client leaves a socket to the collector where it cannot connect
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

RESOURCES = Resources(memory_bytes=256 << 20)


@pytest.fixture
def sandbox(engine_proxy: Any) -> Iterator[DockerSandbox]:
    """Behind the proxy."""
    sandbox = DockerSandbox()
    sandbox.prove(RESOURCES)
    yield sandbox
    engine_proxy.repair()
    sandbox.sweep()
    sandbox.client.close()


@pytest.fixture
def digest() -> str:
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def connection(sandbox: DockerSandbox, digest: str) -> Callable[..., SandboxedPlayer]:
    def make(*command: str, image: str | None = None) -> SandboxedPlayer:
        player = QueryPlayer("some player", command, digest, image=image or sandbox.base_image, track=TrackName.MODEL)
        return SandboxedPlayer(sandbox, player, RESOURCES)

    return make


def containers(sandbox: DockerSandbox, digest: str) -> list[Any]:
    return sandbox.client.containers.list(all=True, filters={"label": f"gauntlet.player={digest}"})


@pytest.mark.usefixtures("engine_alone")
def test_an_engine_that_is_gone_when_the_player_has_failed_is_the_hosts_cause(
    engine_proxy: Any, sandbox: DockerSandbox, connection: Callable[..., SandboxedPlayer], digest: str
) -> None:
    waiting = connection("sleep", "60")
    with pytest.raises(ChannelError):
        waiting.open(1.0)
    engine_proxy.cut()
    with pytest.raises(Fault, match="the Docker engine says"):
        waiting.dismiss()
    with pytest.raises(Fault, match="control player"):
        sandbox.prove(RESOURCES)
    engine_proxy.repair()
    sandbox.prove(RESOURCES)
    assert len(containers(sandbox, digest)) == 1
    assert sandbox.sweep() == 1
    assert containers(sandbox, digest) == []


def test_an_engine_that_was_gone_for_a_moment_does_not_cost_the_player_anything(
    engine_proxy: Any, connection: Callable[..., SandboxedPlayer]
) -> None:
    waiting = connection("sleep", "60")
    engine_proxy.cut_at(b"/wait", 0)
    with pytest.raises(ChannelError):
        waiting.open(30.0)  # its end was waited for on a connection that broke: it looks as if it had exited
    engine_proxy.repair()
    with pytest.raises(Fault, match="the engine became unreachable during the run"):
        waiting.dismiss()


@pytest.mark.parametrize("act", ["kill", "stop", "remove"])
def test_a_container_that_somebody_else_ends_is_the_hosts_cause(
    sandbox: DockerSandbox, connection: Callable[..., SandboxedPlayer], digest: str, act: str
) -> None:
    endless = connection("sh", "-c", "trap 'exit 143' TERM; while :; do sleep 0.1; done")
    with pytest.raises(ChannelError):
        endless.open(1.0)
    (container,) = containers(sandbox, digest)
    container.remove(force=True) if act == "remove" else getattr(container, act)()
    with pytest.raises(Fault, match=r"another process (killed|removed) its container"):
        endless.dismiss(patience=10.0)


@pytest.fixture
def image_with(sandbox: DockerSandbox) -> Iterator[Callable[[str], str]]:
    made: list[str] = []

    def make(step: str) -> str:
        recipe = f"FROM {sandbox.base_image}\nRUN {step}\n"
        image, _ = sandbox.client.images.build(fileobj=io.BytesIO(recipe.encode()), rm=True)
        made.append(str(image.id))
        return made[-1]

    yield make
    for image in made:
        sandbox.client.images.remove(image, force=True)


def test_it_rejects_an_image_that_no_engine_can_start(
    connection: Callable[..., SandboxedPlayer], image_with: Callable[[str], str]
) -> None:
    cannot = connection("true", image=image_with("mkdir -p /run && rm -rf /run/gauntlet && touch /run/gauntlet"))
    with pytest.raises(BuildRefusal, match="does not start as a player"):
        cannot.open(30.0)


def test_an_engine_that_starts_nothing_is_the_hosts_cause(
    engine_proxy: Any, connection: Callable[..., SandboxedPlayer], tmp_path: Path
) -> None:
    engine_proxy.cut_at(b"/start", 0)
    with pytest.raises(Fault, match="starting some player"):
        connection("true").open(30.0)


def test_a_base_image_that_is_gone_is_the_hosts_cause() -> None:
    sandbox = DockerSandbox(base_image="gauntlet-no-such-image")
    with pytest.raises(Fault, match="has no image gauntlet-no-such-image"):
        sandbox.prove(RESOURCES)
    sandbox.client.close()
