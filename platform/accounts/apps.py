"""The Django app of accounts."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """People, teams and tokens."""

    name = "accounts"
