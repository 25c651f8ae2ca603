"""The query format: attacks ask models for labels, under a budget (Adversarial Vision Challenge, 2018)."""

from __future__ import annotations

NAME = "query"
"""Its name in the files of competitions, in addresses and in the database."""
