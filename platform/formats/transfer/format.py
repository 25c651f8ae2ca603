"""The parts of the transfer format."""

from __future__ import annotations

from demo.transfer_format import TransferDemo
from formats.base import Format, register
from formats.transfer import NAME
from formats.transfer.api import TransferApi
from formats.transfer.competition import TransferCompetition
from formats.transfer.pages import TransferPages
from rounds.transfer_format import TransferFormat
from submissions import transfer_builds
from submissions.formats import SubmissionFormat
from submissions.transfer_smoke_test import transfer_smoke_test

register(
    Format(
        name=NAME,
        competition=TransferCompetition(),
        submissions=SubmissionFormat(transfer_builds.build, transfer_smoke_test),
        rounds=TransferFormat(),
        pages=TransferPages(),
        api=TransferApi(),
        demo=TransferDemo(),
    )
)
