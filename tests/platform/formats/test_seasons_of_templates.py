"""Each template of a competition, imported with its dates ahead: all of its rounds are played to their release."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from celery import current_app

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition, Organiser
from competitions.services import enter, import_competition
from competitions.shifted_dates import shifted
from core import worker_notifications
from evaluation.cli import main
from rounds.models import Release, Round
from rounds.planning.plan import plan_round
from rounds.publishing.publication import publish
from rounds.release.released_parts import release
from rounds.release.signing_keys import public_key
from rounds.running import lifecycle
from rounds.site_verification import verify
from tests.platform.bundle_content import bundle_content
from tests.platform.conftest import FakeClock
from tests.platform.formats.conftest import submit_ready
from tests.platform.formats.simulated_work import play, sweep_and_play

TEMPLATES = {
    "avc-2018": ["Development round 1", "Development round 2", "Final"],
    "decision-1000": ["Development round", "Final"],
    "nips-2017": ["Development round 1", "Development round 2", "Development round 3", "Final"],
    "digits-transfer": ["Development round", "Final"],
    "digits-decision-1000": ["Development round", "Final"],
    "digits-curves": [],
    "digits-white-box": [],
}
"""The rounds that each template plans: those of the benchmark leave that to organisers."""

SAMPLES = 2

Season: TypeAlias = Callable[[str], tuple[Competition, dict[str, Any]]]


def on_few_digits(document: dict[str, Any]) -> dict[str, Any]:
    """Return the competition on a few digits for each set, and without baselines: nothing is built."""
    small = {"source": "digits", "split": "final", "order": "secret", "count": SAMPLES}
    sets = [each | small | {"skip": SAMPLES * number} for number, each in enumerate(document["sample_sets"])]
    rules = document["rules"] | {"shape": [64, 64, 3], "classes": 10}
    if "batch_images" in rules:
        rules["batch_images"] = SAMPLES
    about = {key: value for key, value in document["competition"].items() if key != "smoke_opponent"}
    tracks = {name: values | {"baselines": []} for name, values in document["tracks"].items()}
    return document | {"competition": about, "sample_sets": sets, "rules": rules, "tracks": tracks}


@pytest.fixture
def season(db: None, root: Path, the_clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Season:
    """Import a template for tomorrow, when two teams have a ready submission to each track; return the file, too."""

    def begin(template: str) -> tuple[Competition, dict[str, Any]]:
        document = tomllib.loads((root / "competitions" / f"{template}.toml").read_text(encoding="utf-8"))
        starts_at = the_clock.at + timedelta(days=1)
        document = shifted(on_few_digits(document), starts_at)
        competition = import_competition(document)
        the_clock.at = starts_at
        for slug in ("owls", "foxes"):
            captain = User.objects.create_user(slug, f"{slug}@example.org")
            entry = enter(team=create_team(slug=slug, name=slug.title(), captain=captain), competition=competition)
            for track in competition.tracks.all():
                submit_ready(entry, track, captain)
        return competition, document

    monkeypatch.setattr(worker_notifications, "_send", lambda task, keys: None)
    current_app.loader.import_default_modules()  # as a worker does when it starts
    return begin


def test_all_templates_are_here(root: Path) -> None:
    assert TEMPLATES.keys() == {path.stem for path in (root / "competitions").glob("*.toml")}


@pytest.mark.slow(15)
@pytest.mark.parametrize("template", TEMPLATES)
def test_every_round_is_played_from_its_window_to_its_release(
    season: Season, template: str, the_clock: FakeClock, tmp_path: Path
) -> None:
    competition, document = season(template)
    olga = User.objects.create_user("olga", "olga@example.org")
    Organiser.objects.create(competition=competition, user=olga)
    rounds = list(competition.rounds.order_by("number"))
    assert [each.title for each in rounds] == TEMPLATES[template]
    rounds = rounds or [_planned_final(competition, olga, the_clock)]
    assert [each.kind for each in rounds] == ["development"] * (len(rounds) - 1) + ["final"]
    for round_ in rounds:
        _play(round_, olga, the_clock)
    bundle = tmp_path / "final.jsonl"
    bundle.write_bytes(bundle_content(rounds[-1]))
    published = ["--samples", rounds[-1].commitment, "--field", rounds[-1].field_commitment]
    assert main(["verify", str(bundle), "--key", public_key(), *published]) == 0
    assert set(Release.objects.values_list("round", "part")) == {
        (each.pk, part) for each in rounds for part in ("bundle", "images")
    }
    assert sweep_and_play() > 0, "the leaderboards"
    assert verify(competition).differences == ()
    import_competition(document)
    assert list(competition.rounds.order_by("number").values_list("state", flat=True)) == ["published"] * len(rounds)


def _planned_final(competition: Competition, olga: User, the_clock: FakeClock) -> Round:
    """Olga plans the final on the samples that the template has for it."""
    return plan_round(
        competition=competition, title="Final", kind="final", schedule="", guard=False, samples=SAMPLES,
        source=competition.sample_sets.get(purpose="final"), by=olga,
        starts_at=the_clock.at + timedelta(hours=1), ends_at=the_clock.at + timedelta(hours=2),
    )  # fmt: skip


def _play(round_: Round, olga: User, the_clock: FakeClock) -> None:
    """The site freezes the round when its window begins; Olga starts, publishes and releases it."""
    assert the_clock.at < round_.window.starts_at
    the_clock.at = round_.window.starts_at
    current_app.tasks["rounds.sweep"]()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("frozen", "")
    lifecycle.start(round_=round_, by=olga)
    current_app.tasks["rounds.sweep"]()
    while play():
        current_app.tasks["rounds.sweep"]()
    round_.refresh_from_db()
    assert (round_.state, round_.problem) == ("scored", "")
    the_clock.at = round_.window.ends_at
    publish(round_=round_, by=olga)
    for part in ("bundle", "images"):
        release(round_=round_, part=part, by=olga, reason="It is over.")
