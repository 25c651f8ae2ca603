"""The parts of the query format."""

from __future__ import annotations

from importlib import import_module

from formats.base import Format, register
from formats.query import NAME
from formats.query.leaderboards.extensions import evaluate, rank_again
from formats.query.matches.player_builds import build
from formats.query.rounds.round_format import QueryRounds
from formats.query.rules_and_tracks import QueryCompetition
from formats.query.submissions.preflight import check_commit
from formats.query.submissions.smoke_test import QuerySmokeTest
from submissions.formats import SubmissionFormat

import_module("formats.query.extensions")
import_module("formats.query.archived_tables")
register(
    Format(
        name=NAME,
        competition=QueryCompetition(),
        submissions=SubmissionFormat(
            check_commit,
            build,
            QuerySmokeTest.of,
            ready=evaluate,
            eligibility_changed=rank_again,
            played_by_command=True,
        ),
        rounds=QueryRounds(),
        pages="formats.query.pages.QueryPages",
        api="formats.query.api.QueryApi",
        demo="formats.query.demo.query_demo.QueryDemo",
    )
)
