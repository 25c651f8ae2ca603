"""The Django app of accounts."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People, teams and tokens."""

    name = "accounts"
    verbose_name = "Accounts and teams"  # the admin lists the app of e-mail addresses as "Accounts"

    def ready(self) -> None:
        """Register the system checks."""
        import_module("accounts.checks")
