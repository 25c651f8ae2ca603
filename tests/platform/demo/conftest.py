"""The small competition of the transfer format, and submissions to it."""

from __future__ import annotations

from tests.platform.formats.transfer.tournaments.conftest import notifications, submit, transfer

__all__ = ["notifications", "submit", "transfer"]
