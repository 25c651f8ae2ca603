"""The rules and tracks of the query format."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_noop

from competitions.models import Competition
from competitions.rules import COUNTING_SUBMISSION, LEAST_ACCURACY, NEWEST
from competitions.rules_reader import RulesReader
from evaluation.formats.query.rules import QueryRules
from formats.query.smoke_opponents import keep_opponent
from formats.query.smoke_test_notes import smoke_test_notes
from formats.query.tracks import TRACKS


class QueryCompetition:
    """See `competitions.formats.CompetitionFormat`."""

    title = gettext_noop("queries: attacks ask models")
    tracks = TRACKS
    # the challenge of 2018 asked for half of the images
    rules = RulesReader(QueryRules, site_values={LEAST_ACCURACY: 0.5, COUNTING_SUBMISSION: NEWEST})
    without_baselines = "Its first pool is built from the first ready submissions."

    def keep_opponent(self, name: str) -> str:
        return keep_opponent(name)

    def smoke_test_notes(self, competition: Competition) -> Iterator[str]:
        yield from smoke_test_notes(competition)
