"""The parts of the query format."""

from __future__ import annotations

from formats.base import Format, register
from formats.query.api import QueryApi
from formats.query.competition import QueryCompetition
from formats.query.demo.query_demo import QueryDemo
from formats.query.pages import QueryPages
from leaderboards.evaluation_basis import FORMAT
from leaderboards.extensions import evaluate, rank_again
from rounds.query_format import QueryFormat
from submissions import player_builds
from submissions.formats import SubmissionFormat
from submissions.smoke_test import smoke_test

register(
    Format(
        name=FORMAT,
        competition=QueryCompetition(),
        submissions=SubmissionFormat(player_builds.build, smoke_test, ready=evaluate, eligibility_changed=rank_again),
        rounds=QueryFormat(),
        pages=QueryPages(),
        api=QueryApi(),
        demo=QueryDemo(),
    )
)
