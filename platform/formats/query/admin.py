"""Admin of the query format."""

from __future__ import annotations

from importlib import import_module

import_module("formats.query.rounds.admin")
