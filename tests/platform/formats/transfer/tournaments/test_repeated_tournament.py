"""What a new version of the rules makes again in the transfer format, with the time that it took before."""

from __future__ import annotations

from collections.abc import Callable

from competitions.formats import competition_formats
from competitions.models import Competition
from formats.transfer.tournaments import services
from submissions.models import Submission
from tests.platform.formats.transfer.tournaments.conftest import CHECKSUM, COPY
from tests.platform.formats.transfer.tournaments.results import commit_all


def test_the_tournament_is_played_again(transfer: Competition, submit: Callable[..., Submission]) -> None:
    def sentence() -> str:
        return str(competition_formats.of(transfer).repeated_work(transfer))

    transfer.tracks.update(baselines=[])
    assert sentence() == "No submission is evaluated again."
    tournament = services.make_tournament(transfer)
    assert sentence() == "No submission is evaluated again."
    submit("owls", "attack", COPY)
    submit("bats", "defence", CHECKSUM)
    played = commit_all(tournament)
    assert played == 4
    assert sentence() == "2 submissions are evaluated again: about 1 min of worker time.", "four runs of two seconds"
