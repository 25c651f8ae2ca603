"""The parts of the transfer format."""

from __future__ import annotations

from importlib import import_module

from formats.base import Format, register
from formats.transfer import NAME
from formats.transfer.api import TransferApi
from formats.transfer.competition import TransferCompetition
from formats.transfer.demo.transfer_demo import TransferDemo
from formats.transfer.pages import TransferPages
from formats.transfer.rounds.interface import TransferRounds
from submissions import transfer_builds
from submissions.formats import SubmissionFormat
from submissions.transfer_smoke_test import transfer_smoke_test
from tournaments.extensions import advance

import_module("formats.transfer.extensions")
register(
    Format(
        name=NAME,
        competition=TransferCompetition(),
        submissions=SubmissionFormat(
            transfer_builds.build, transfer_smoke_test, ready=advance, eligibility_changed=advance
        ),
        rounds=TransferRounds(),
        pages=TransferPages(),
        api=TransferApi(),
        demo=TransferDemo(),
    )
)
