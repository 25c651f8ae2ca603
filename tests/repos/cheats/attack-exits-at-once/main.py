"""Ends before it has connected."""

from __future__ import annotations

raise SystemExit("no")
