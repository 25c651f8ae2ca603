"""The parts of the query format."""

from __future__ import annotations

from demo.query_format import QueryDemo
from formats.base import Format, register
from formats.query.api import QueryApi
from formats.query.competition import QueryCompetition
from formats.query.pages import QueryPages
from formats.query.submissions.preflight import check_commit
from formats.query.submissions.smoke_test import QuerySmokeTest
from matches.player_builds import build
from rounds.query_format import QueryFormat
from submissions.formats import SubmissionFormat

register(
    Format(
        name="query",
        competition=QueryCompetition(),
        submissions=SubmissionFormat(check_commit, build, QuerySmokeTest.of),
        rounds=QueryFormat(),
        pages=QueryPages(),
        api=QueryApi(),
        demo=QueryDemo(),
    )
)
