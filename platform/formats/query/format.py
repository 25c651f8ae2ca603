"""The parts of the query format."""

from __future__ import annotations

from importlib import import_module

from formats.base import Format, register
from formats.query import NAME
from formats.query.api import QueryApi
from formats.query.competition import QueryCompetition
from formats.query.demo.query_demo import QueryDemo
from formats.query.pages import QueryPages
from formats.query.rounds.interface import QueryRounds
from leaderboards.extensions import evaluate, rank_again
from submissions import player_builds
from submissions.formats import SubmissionFormat
from submissions.smoke_test import smoke_test

import_module("formats.query.extensions")
register(
    Format(
        name=NAME,
        competition=QueryCompetition(),
        submissions=SubmissionFormat(player_builds.build, smoke_test, ready=evaluate, eligibility_changed=rank_again),
        rounds=QueryRounds(),
        pages=QueryPages(),
        api=QueryApi(),
        demo=QueryDemo(),
    )
)
