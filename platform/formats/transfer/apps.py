"""The Django app of the transfer format."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class TransferConfig(AppConfig):
    """The transfer format."""

    name = "formats.transfer"
    label = "transfer_format"
    verbose_name = "Transfer format"

    def ready(self) -> None:
        """Register the format."""
        import_module("formats.transfer.format")
