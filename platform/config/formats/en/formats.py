"""Formats of dates in the admin, which is in English: those of the settings instead of Django's."""

from __future__ import annotations

from django.conf import settings

DATETIME_FORMAT = settings.DATETIME_FORMAT
