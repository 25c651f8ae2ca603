"""The parts of the transfer format."""

from __future__ import annotations

from importlib import import_module

from formats.base import Format, register
from formats.transfer import NAME
from formats.transfer.rounds.round_format import TransferRounds
from formats.transfer.rules_and_tracks import TransferCompetition
from formats.transfer.submissions.preflight import check_commit
from formats.transfer.submissions.smoke_test import TransferSmokeTest
from formats.transfer.tournaments.extensions import advance
from formats.transfer.tournaments.player_builds import build
from submissions.formats import SubmissionFormat

import_module("formats.transfer.extensions")
import_module("formats.transfer.archived_tables")
register(
    Format(
        name=NAME,
        competition=TransferCompetition(),
        submissions=SubmissionFormat(
            check_commit,
            build,
            TransferSmokeTest.of,
            ready=advance,
            eligibility_changed=advance,
            played_by_command=True,
        ),
        rounds=TransferRounds(),
        pages="formats.transfer.pages.TransferPages",
        api="formats.transfer.api.TransferApi",
        demo="formats.transfer.demo.transfer_demo.TransferDemo",
    )
)
