"""`manage.py leaderboards rebuild`."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from io import StringIO
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from competitions.models import Entry
from core import clock
from leaderboards.models import Evaluation, Pool, Standing
from leaderboards.tasks import score
from matches.models import SampleResult
from submissions.models import Submission

if TYPE_CHECKING:
    from tests.platform.conftest import FakeClock
    from tests.platform.leaderboards.conftest import Arena


def rebuild(*options: str) -> str:
    out = StringIO()
    call_command("leaderboards", "rebuild", *options, stdout=out)
    return out.getvalue()


def rows() -> list[Any]:
    """Everything that a rebuild derives, to the last bit."""
    return [*Evaluation.objects.order_by("pk").values(), *Standing.objects.order_by("pk").values()]


@pytest.fixture
def filled(arena: Arena, the_clock: FakeClock, entry: Entry, alice: User, attack_pool: Pool, model_pool: Pool) -> Arena:
    """Two teams on two boards, over two days."""
    doves = arena.entry("doves")
    for day, (owls, others) in enumerate([(1.0, 2.0), (3.1, 2.7)]):
        arena.score(arena.submission(entry, "model", alice), owls)
        arena.score(arena.submission(doves, "untargeted", alice), others)
        if day == 0:
            arena.score(arena.submission(doves, "model", alice), others)
        the_clock.forward(days=1)
    return arena


def test_it_works(filled: Arena) -> None:
    before = rows()
    assert filled.table("model") == [(1, "owls", 2), (2, "doves", 1)]
    assert rebuild() == "0 of 5 scores and 0 of 3 standings differed.\n"
    assert rows() == before


def test_it_gives_back_exactly_what_was_lost(filled: Arena) -> None:
    before = rows()
    Evaluation.objects.update(value=7.0, low=None, per_opponent=[])
    Standing.objects.filter(track__kind="model").update(rank=9)
    Standing.objects.filter(track__kind="untargeted").update(previous_rank=4)
    assert rebuild("--competition", "digits") == "5 of 5 scores and 3 of 3 standings differed.\n"
    assert rows() == before


def test_it_makes_missing_standings_again(filled: Arena) -> None:
    before = filled.table("model"), filled.table("untargeted")
    Standing.objects.all().delete()
    rebuild()
    assert (filled.table("model"), filled.table("untargeted")) == before


def test_a_board_of_old_scores_does_not_move_with_the_clock(filled: Arena, the_clock: FakeClock) -> None:
    before = rows()
    the_clock.at += timedelta(days=30)
    rebuild()
    assert rows() == before


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_boards_stay_what_a_rebuild_gives(
    filled: Arena, the_clock: FakeClock, entry: Entry, alice: User, seed: int
) -> None:
    draw = random.Random(seed)
    for _ in range(10):
        the_clock.forward(hours=draw.randint(1, 30))
        chosen = draw.choice(list(Submission.objects.all()))
        act = draw.choice(["score", "disqualify", "reinstate", "withdraw"])
        if act == "score":
            filled.score(filled.submission(entry, "model", alice), draw.choice([1.0, 2.0, 4.0]))
        elif act == "withdraw":
            Submission.objects.filter(pk=chosen.pk).update(state="withdrawn")
        else:
            disqualified = clock.now() if act == "disqualify" else None
            Submission.objects.filter(pk=chosen.pk).update(disqualified_at=disqualified)
        score(track=chosen.repository.track_id)
        assert re.fullmatch(r"0 of \d+ scores and 0 of \d+ standings differed\.\n", rebuild())


def test_it_rejects_scores_whose_rows_are_gone(filled: Arena) -> None:
    SampleResult.objects.filter(sample=5).delete()
    with pytest.raises(CommandError, match=r"lacks some of its 6 samples\. What came before it is rebuilt"):
        rebuild()


def test_it_rejects_an_unknown_competition(filled: Arena) -> None:
    with pytest.raises(CommandError, match=r"No competition is called 'letters'\. There are: digits"):
        rebuild("--competition", "letters")
