"""Every cheat of the corpus against an honest opponent, in each sandbox that has a part in stopping it.

In Docker these are the cheats whose end the engine tells, whose resources it limits, or whose files, processes or clock
it separates. What the referee stops by the bytes, the labels or the clock of a match is the same in every sandbox, and
plays in the quicker one.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import docker
import pytest

from evaluation.builder.choose_builder import choose_builder
from evaluation.builder.manifest import read_manifest
from evaluation.datasets.load import load_dataset
from evaluation.domain.players import QueryPlayer
from evaluation.domain.samples import Sample
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.play_match import Played, play
from evaluation.protocol import model_time
from evaluation.sandbox import process_sandbox
from evaluation.sandbox.base import Resources, Sandbox
from evaluation.sandbox.bubblewrap import bubblewrap_works
from evaluation.sandbox.docker_sandbox import RUNNER_LABEL, DockerSandbox
from evaluation.sandbox.host_process import runner_label
from evaluation.sandbox.player_root import Mount, mounts
from evaluation.sandbox.process_sandbox import ProcessSandbox
from tests.evaluation.cheats.notes import in_turn

REPOSITORIES = Path(__file__).resolve().parents[2] / "repos"
CHEATS = sorted(folder for folder in (REPOSITORIES / "cheats").iterdir() if folder.is_dir())
RULES = QueryRules(classes=10, query_budget=60, setup_seconds=30.0, attack_seconds_per_sample=1.0)
SHORT_SETUP = 6.0
"""Seconds of set-up in the matches of those that use up all of it."""

SEED = 8
RESOURCES = Resources(memory_bytes=512 << 20, processes=64, scratch_bytes=32 << 20, log_bytes=64 << 10)
LABELLED_WELL = slice(1, 4)
"""Samples of digits dev whose clean image the honest model labels correctly."""


def expected(cheat: Path) -> dict[str, Any]:
    """What `expected.toml` of a cheat says."""
    return tomllib.loads((cheat / "expected.toml").read_text(encoding="utf-8"))


def reasons_of(wanted: dict[str, Any]) -> list[str]:
    """Every name that the cheat's failures have."""
    reason = wanted.get("reason", [])
    return [reason] if isinstance(reason, str) else list(reason)


def stopped_by_process(cheat: Path) -> bool:
    claim = expected(cheat)["process"]
    return bubblewrap_works() if claim == "bubblewrap" else bool(claim)


GAMES = [pytest.param(cheat, "process", id=f"{cheat.name}-process") for cheat in CHEATS if stopped_by_process(cheat)]
GAMES += [
    pytest.param(cheat, "docker", id=f"{cheat.name}-docker", marks=[pytest.mark.docker, pytest.mark.slow(10)])
    for cheat in CHEATS
    if expected(cheat)["docker"]
]


class Players:
    """The sandboxes, and the players built for them: each at most once in a session.

    In Docker most cheats are in one image, each in a folder of its own: a match needs no build of its own. Nothing
    else may run from an image when its caches are levelled.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sandboxes: dict[str, Sandbox] = {}
        self._players: dict[tuple[str, Path], QueryPlayer] = {}

    def sandbox(self, name: str) -> Sandbox:
        if name not in self._sandboxes:
            self._sandboxes[name] = DockerSandbox() if name == "docker" else ProcessSandbox()
        return self._sandboxes[name]

    def player(self, sandbox: str, repository: Path) -> QueryPlayer:
        key = sandbox, repository
        if key not in self._players:
            if sandbox == "docker" and repository in CHEATS and not expected(repository).get("levelled", False):
                self._players[key] = self._cheat_in_docker(repository)
            else:
                self._players[key] = choose_builder(sandbox).build(repository, on_log=lambda line: None)
        return self._players[key]

    def _cheat_in_docker(self, cheat: Path) -> QueryPlayer:
        all_cheats = self._folder / "cheats"
        if not all_cheats.exists():
            shutil.copytree(cheat.parent, all_cheats)
            for name in ("submission.toml", "main.py"):  # a repository starts a script of its own
                shutil.copy(CHEATS[0] / name, all_cheats)
            (all_cheats / "requirements.txt").write_text("numpy\n")
        manifest = read_manifest(cheat)
        with in_turn(CHEATS[0]):  # one process builds, and the others find the image
            built = choose_builder("docker").build(all_cheats, on_log=lambda line: None)
        there = ("sh", "-c", f'cd {cheat.name} && exec "$@"', "sh")
        return replace(built, name=manifest.title, track=manifest.track, command=(*there, *manifest.run))


@pytest.fixture(scope="session")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Players:
    return Players(tmp_path_factory.mktemp("players"))


@pytest.fixture(scope="session")
def samples() -> list[Sample]:
    return list(load_dataset("digits").samples("dev")[LABELLED_WELL])


@pytest.fixture
def temporary(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty place for temporary files. Not pytest's own: the path of a unix socket is short."""
    with tempfile.TemporaryDirectory(prefix="cheat-") as directory:
        monkeypatch.setattr(tempfile, "tempdir", directory)
        yield Path(directory)


@pytest.fixture(autouse=True)
def _own_packages_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Level the interpreter's packages, where a cheat leaves notes: `test_channels` levels all that a player sees."""
    prefix = Path(sys.prefix).resolve()

    def packages(visible: list[Path], hidden: tuple[Path, ...]) -> list[Mount]:
        found = [mount for mount in mounts(visible, hidden) if mount[1] and prefix.is_relative_to(mount[1])]
        assert found
        return found

    monkeypatch.setattr(process_sandbox, "mounts", packages)


def own_processes() -> set[str]:
    """The children of this process."""
    return {pid for listing in Path("/proc/self/task").glob("*/children") for pid in listing.read_text().split()}


def own_containers() -> list[Any]:
    client = docker.from_env()
    try:
        return client.containers.list(all=True, filters={"label": f"{RUNNER_LABEL}={runner_label()}"})
    finally:
        client.close()


def meet(honest: Players, cheat: Path, sandbox: str, samples: list[Sample]) -> Played:
    """The cheat's match against an honest opponent."""
    wanted = expected(cheat)
    opponent = REPOSITORIES / "players" / ("honest-attack" if wanted["side"] == "model" else "honest-model")
    pair = {wanted["side"]: cheat, "attack" if wanted["side"] == "model" else "model": opponent}
    rules = RULES
    if wanted.get("reason") == "never_connected":
        rules = replace(rules, setup_seconds=SHORT_SETUP)
    elif {"out_of_memory", "inconsistent"} & set(reasons_of(wanted)):  # a busy host is slow to give memory and labels
        rules = replace(rules, attack_seconds_per_sample=20.0)
    return play(
        model=honest.player(sandbox, pair["model"]),
        attack=honest.player(sandbox, pair["attack"]),
        samples=samples,
        rules=rules,
        sandbox=honest.sandbox(sandbox),
        seed=SEED,
        resources=RESOURCES,
        fresh_audit=wanted.get("audited", "inconsistent" in reasons_of(wanted)),
        level_caches=wanted.get("levelled", False),
    )


def noted_nothing(played: Played, cheat: Path) -> bool:
    """Return True if neither instance of a model got the other's note, and both have one number, as the logs say.

    Both drew it by chance, or read what an earlier game left.
    """
    draws = "drew " in (cheat / "main.py").read_text(encoding="utf-8")
    return draws and len(played.model_logs) > 1 and len(set(played.model_logs)) == 1


def check(played: Played, wanted: dict[str, Any]) -> None:
    rows = played.result.samples
    failures = [(str(failure.side), str(failure.reason)) for failure in played.result.failures]
    if wanted.get("outcomes_vary", False) and not failures:
        # the host was so busy that it read other notes, or saw no hurry: then it must gain nothing on any sample
        assert "failed" not in {str(row.outcome) for row in rows}
        return
    assert set(failures) == {(wanted["side"], reason) for reason in reasons_of(wanted)}
    if not wanted.get("outcomes_vary", False):
        assert [str(row.outcome) for row in rows] == wanted["outcomes"]
    assert [row.distance for row in rows if row.outcome == "failed"] == [
        row.worst_case for row in rows if row.outcome == "failed"
    ]
    if "queries" in wanted:
        assert [row.queries for row in rows] == wanted["queries"]
    if "row_reasons" in wanted:
        assert [str(row.reason) for row in rows] == wanted["row_reasons"]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("cheat", "sandbox"), GAMES)
def test_it_is_stopped(
    honest: Players,
    samples: list[Sample],
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    cheat: Path,
    sandbox: str,
) -> None:
    if "out_of_memory" not in reasons_of(expected(cheat)):  # it takes a busy host longer than this to fill the memory
        monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 1.5)
    processes_before = own_processes()
    with in_turn(cheat):
        if expected(cheat).get("levelled", False):  # an earlier test left notes, and it would read wrong labels
            honest.sandbox(sandbox).level_caches(honest.player(sandbox, cheat))
        played = meet(honest, cheat, sandbox, samples)
        for _ in range(9):
            if not noted_nothing(played, cheat):
                break
            played = meet(honest, cheat, sandbox, samples)
    check(played, expected(cheat))
    for log in (*played.model_logs, *played.attack_logs):
        assert len(log) <= RESOURCES.log_bytes
    assert list(temporary.iterdir()) == []
    assert own_processes() <= processes_before
    if sandbox == "docker":
        assert own_containers() == []


@pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_the_honest_players_play(honest: Players, samples: list[Sample], sandbox: str) -> None:
    """The opponents are honest, and good enough that a cheat has something to spoil."""
    played = play(
        model=honest.player(sandbox, REPOSITORIES / "players" / "honest-model"),
        attack=honest.player(sandbox, REPOSITORIES / "players" / "honest-attack"),
        samples=samples,
        rules=replace(RULES, attack_seconds_per_sample=10.0),
        sandbox=honest.sandbox(sandbox),
        seed=1,
        resources=RESOURCES,
        level_caches=False,
    )
    assert [str(row.outcome) for row in played.result.samples] == ["adversarial"] * 3
    assert all(row.distance < row.worst_case for row in played.result.samples)
    assert played.result.failures == ()
    assert played.result.audit.passed


@pytest.mark.parametrize("sandbox", ["process", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_model_that_computes_for_half_of_its_limit_plays(
    honest: Players, samples: list[Sample], sandbox: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The honest twin of the one that sleeps: it has as little of a reserve, but as much by the clock as on a site."""
    monkeypatch.setattr(model_time, "MODEL_GRACE_SECONDS", 1.5)
    monkeypatch.setattr(model_time, "CLOCK_GRACE_FACTOR", 20.0)
    played = play(
        model=honest.player(sandbox, REPOSITORIES / "players" / "computing-model"),
        attack=honest.player(sandbox, REPOSITORIES / "players" / "honest-attack"),
        samples=samples[:1],
        rules=replace(RULES, query_budget=20, attack_seconds_per_sample=10.0),
        sandbox=honest.sandbox(sandbox),
        seed=1,
        resources=RESOURCES,
        fresh_audit=False,
    )
    assert played.result.failures == ()
    assert [row.queries for row in played.result.samples] == [20]


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda folder: folder.name)
def test_every_cheat_says_what_is_expected(cheat: Path) -> None:
    wanted = expected(cheat)
    assert wanted["side"] == cheat.name.split("-", 1)[0]
    assert wanted["docker"] in (True, False)
    assert wanted["process"] in (True, False, "bubblewrap")
    assert wanted["docker"] or wanted["process"] is True, "no sandbox stops it on every host"
    assert len(wanted["outcomes"]) == 3
    assert set(wanted) <= {
        "side",
        "reason",
        "audited",
        "levelled",
        "docker",
        "process",
        "outcomes",
        "outcomes_vary",
        "queries",
        "row_reasons",
    }
