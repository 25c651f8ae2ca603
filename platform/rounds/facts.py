"""Adapter: a round's rows, as the engine's values."""

from __future__ import annotations
