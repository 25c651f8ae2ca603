"""A round of real players whose files are missing on the host: it rebuilds them from their commits."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pytest_django import Settings

from competitions.sample_store import samples_of
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.runner.play_match import play
from formats.query.matches import player_builds
from formats.query.matches.models import Match
from formats.query.matches.services import replay_failed
from formats.query.rounds.round_advancement import advance_round
from rounds import tasks
from rounds.models import Round
from submissions.models import Player, Submission
from workers.heartbeat import WorkerHeartbeat
from workers.sandboxes import open_sandbox
from workers.worker_loop import play as play_work

if TYPE_CHECKING:
    from tests.platform.rounds.conftest import RoundFixture

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow(15)]

OTHER = f"sha256:{'0' * 64}"


@pytest.fixture
def begun(env: RoundFixture, root: Path, tmp_path: Path) -> Round:
    """A bundled model against an attack that was pushed, on eight samples."""
    model, attack = (env.submission(slug, kind, 0) for slug, kind in (("owls", "model"), ("bats", "untargeted")))
    bundled = player_builds.baseline_player(
        env.competition.tracks.get(name="model"), "numpy-classifier", lambda line: None
    )
    Submission.objects.filter(pk=model.pk).update(player=bundled)
    work, bare = tmp_path / "work", attack.repository.path
    shutil.copytree(root / "tests/repos/site/attack-slow", work, ignore=shutil.ignore_patterns("__pycache__"))
    program = work / "main.py"
    program.write_text(program.read_text().replace("sleep(0.4)", "sleep(0.0)"))
    bare.parent.mkdir(parents=True, exist_ok=True)
    for words in (
        ["init", "--quiet", "--bare", str(bare)],
        ["init", "--quiet"],
        ["add", "--all"],
        ["-c", "user.name=Alice", "-c", "user.email=alice@example.org", "commit", "--quiet", "--message", "attack"],
        ["push", "--quiet", str(bare), "HEAD:refs/heads/main"],
    ):
        subprocess.run(["git", *words], cwd=work, check=True, capture_output=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=work, check=True, capture_output=True, text=True)
    attack.commit = head.stdout.strip()
    attack.player = player_builds.build(attack, lambda line: None)
    attack.save()
    round_ = env.begin(env.plan(samples=8))
    advance_round(round_)
    return round_


def test_a_different_rebuild_stops_the_round_until_it_is_fixed(
    env: RoundFixture, begun: Round, settings: Settings
) -> None:
    def try_once() -> None:
        shutil.rmtree(settings.CHECKOUTS, ignore_errors=True)
        env.clock.forward(minutes=5)
        worker = env.worker(f"arena-{next(env.numbers)}/play/0")
        with WorkerHeartbeat(worker) as heartbeat:
            play_work(worker, heartbeat, seconds=60)
        tasks.advance_round()
        begun.refresh_from_db()

    # as after a change of the base image or SDK on the host: the commit now gives other files
    attack = Player.objects.get(submissions__repository__track__name="untargeted")
    digest = attack.digest
    Player.objects.filter(pk=attack.pk).update(digest=OTHER)
    for _ in range(3):
        try_once()
    match = Match.objects.get(round_match__round=begun)
    assert (match.state, match.sample_results.count()) == ("failed", 0)
    assert (begun.state, begun.stages.count()) == ("playing", 0)
    assert f"was rebuilt with digest {digest}" in begun.problem

    Player.objects.filter(pk=attack.pk).update(digest=digest)
    replay_failed(match, env.organiser)
    try_once()
    assert (begun.state, begun.problem) == ("scored", "")
    players = [
        player_builds.ready_player(player, lambda line: None)
        for player in (match.model, Player.objects.get(pk=attack.pk))
    ]
    undisturbed = play(
        model=players[0],
        attack=players[1],
        samples=samples_of(begun.sample_set),
        rules=match.rules.rules_as(QueryRules),
        sandbox=open_sandbox(),
        seed=match.seed,
        level_caches=False,
    )
    rows = match.sample_results.order_by("sample").values_list("sample", "outcome", "distance")
    assert list(rows) == [(row.sample, str(row.outcome), row.distance) for row in undisturbed.result.samples]
