"""The parts of the transfer format."""

from __future__ import annotations

from demo.transfer_format import TransferDemo
from formats.base import Format, register
from formats.transfer.api import TransferApi
from formats.transfer.competition import TransferCompetition
from formats.transfer.pages import TransferPages
from formats.transfer.submissions.preflight import check_commit
from formats.transfer.submissions.smoke_test import TransferSmokeTest
from rounds.transfer_format import TransferFormat
from submissions.formats import SubmissionFormat
from tournaments.player_builds import build

register(
    Format(
        name="transfer",
        competition=TransferCompetition(),
        submissions=SubmissionFormat(check_commit, build, TransferSmokeTest.of),
        rounds=TransferFormat(),
        pages=TransferPages(),
        api=TransferApi(),
        demo=TransferDemo(),
    )
)
