"""Path converters of the pages."""

from __future__ import annotations

from django.urls.converters import IntConverter


class KeyConverter(IntConverter):
    """The key of a row: a number that every database can compare with one."""

    regex = "[0-9]{1,18}"
