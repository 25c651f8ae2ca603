"""The transfer format: attacks send images, and defences label them (NIPS 2017 competition)."""

from __future__ import annotations

NAME = "transfer"
"""Its name in the files of competitions, in addresses and in the database."""
