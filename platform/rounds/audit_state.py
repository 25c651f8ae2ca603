"""Audits of a round's matches, read in one place: which are open, which failed, and on how many samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import QuerySet

from matches.models import Match
from matches.piece_result import sum_audits


class AuditState(StrEnum):
    """Where the audit of a match stands."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"


class PieceAudit(NamedTuple):
    """The counts that a played piece, of samples `first` to before `end`, brought."""

    first: int
    end: int
    audit: Mapping[str, Any]


def audit_state(audit: Mapping[str, Any]) -> AuditState:
    """The state of a match's audit as its row has it. Nothing follows from one that is open, nor from none."""
    if audit.get("open", False):
        return AuditState.OPEN
    return AuditState.PASSED if audit.get("passed", True) else AuditState.FAILED


def open_audits(matches: QuerySet[Match]) -> list[Match]:
    """Of matches that are played those whose audit is open: they are not finished."""
    played = matches.filter(state=Match.State.PLAYED, audit__open=True)
    return [match for match in played if audit_state(match.audit) is AuditState.OPEN]


def failed_audits(matches: QuerySet[Match]) -> list[Match]:
    """Those whose audit, over all that was played of them, failed."""
    return [match for match in matches.filter(audit__passed=False) if audit_state(match.audit) is AuditState.FAILED]


def failed_on(pieces: Iterable[PieceAudit], ends: Collection[int]) -> tuple[int, ...]:
    """The numbers among `ends` on whose first so many samples the audit of a match failed.

    `pieces` are those played of the match, in order. What was played beyond changes nothing of what was found before.
    """
    found, audits, end = [], [], 0
    for piece in pieces:
        if piece.first != end:
            break
        audits.append(piece.audit)
        end = piece.end
        if end in ends and audit_state(sum_audits(audits)) is AuditState.FAILED:
            found.append(end)
    return tuple(found)
