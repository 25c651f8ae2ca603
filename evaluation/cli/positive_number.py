"""Numbers of things, as values of options."""

from __future__ import annotations

import argparse


def positive(text: str) -> int:
    """Parse a whole number from 1, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def not_negative(text: str) -> int:
    """Parse a whole number from 0, for argparse."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number
