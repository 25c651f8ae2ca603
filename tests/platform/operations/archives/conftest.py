"""A played season of a format, and another site on which nothing of it is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import connection
from pytest_django import Settings

from accounts.models import User
from accounts.services import create_team
from competitions.models import Competition
from core import clock
from core.site_identity import require_identity
from formats.query.matches.models import Match
from formats.transfer.tournaments.models import PairTotal
from rounds.models import Round
from rounds.objections.closing import answer
from rounds.objections.filing import file_objection
from rounds.release.released_parts import release
from tests.emptying import _delete_rows
from tests.platform.conftest import FakeClock
from tests.platform.faults.conftest import calls, season
from tests.platform.faults.seasons import Season

__all__ = ["calls", "season"]

OLD, NEW = "https://old.example.org", "https://new.example.org"


def folders(settings: Settings, state: Path) -> None:
    """Let the site have its files in `state`."""
    state.mkdir(exist_ok=True)
    settings.STATE, settings.REPOSITORIES, settings.CHECKOUTS = state, state / "repositories", state / "checkouts"
    objects = settings.STORAGES["objects"] | {"OPTIONS": {"location": state / "objects"}}
    settings.STORAGES = settings.STORAGES | {"objects": objects}


@pytest.fixture
def played(season: Season, the_clock: FakeClock, settings: Settings) -> Competition:
    """The competition after a published final, of which everything that can be is released."""
    settings.SITE_ADDRESS = OLD
    require_identity()
    for phase in season.phases:
        the_clock.forward(minutes=1)
        phase.begin()
        season.site.go_on(lambda: True)
    Round.objects.update(objection_days=7)
    round_ = Round.objects.get()
    olga = User.objects.get(username="olga")
    team = season.site.competition.entries.order_by("pk").first()
    assert team is not None
    captain = User.objects.get(username=team.team.slug)
    objection = file_objection(round_=round_, by=captain, text="We see it otherwise.", match=_match(round_))
    answer(objection=objection, upheld=False, by=olga, reason="We do not.")
    # curves have no perturbed images, and submissions of 2017 name no licence
    without = {"curves": "perturbed", "transfer": "code"}.get(season.site.competition.format)
    for part in {"bundle", "images", "code", "perturbed"} - {without}:
        release(round_=round_, part=part, by=olga, reason="It is over.")
    return season.site.competition


def _match(round_: Round) -> str:
    """Return the name of a match of the round, in the words of its format; "" if it has none."""
    if (match := Match.objects.filter(round_match__round=round_).first()) is not None:
        return str(match.pk)
    pair = PairTotal.objects.filter(tournament__round=round_).first()
    return f"{pair.attack_id}/{pair.defence_id}" if pair else ""


@pytest.fixture
def other_site(settings: Settings, tmp_path: Path) -> Callable[[], None]:
    """Leaves the site: another one has an empty database, folders and a signing key of its own."""

    def leave() -> None:
        folders(settings, tmp_path / f"other-{len(list(tmp_path.iterdir()))}")
        (settings.STATE / "signing-key").write_text("09" * 32)
        settings.SITE_ADDRESS = NEW
        _delete_rows(connection)
        cache.clear()
        require_identity()

    return leave


def others_come_first() -> None:
    """Let another olga and other owls be on the site."""
    olga = User.objects.create_user("Olga", "olga@elsewhere.example.org")
    create_team(slug="owls", name="Owls", captain=olga)
    Competition.objects.create(
        slug="another", title="Another", starts_at=clock.now(), ends_at=clock.now() + timedelta(days=1),
        created_at=clock.now(),
    )  # fmt: skip
