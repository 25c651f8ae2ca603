"""The curves format: released models are benchmarked by the attacks of the rules (Dong et al. 2020)."""

from __future__ import annotations

NAME = "curves"
"""Its name in the files of competitions, in addresses and in the database."""
