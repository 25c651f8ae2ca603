"""Audits of a round's matches: which are open, which failed, and on how many samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from django.db.models import QuerySet

from formats.query.matches.models import Match
from formats.query.matches.piece_result import sum_audits


class AuditState(StrEnum):
    """State of a match's audit."""

    PASSED = "passed"
    FAILED = "failed"
    OPEN = "open"


class PieceAudit(NamedTuple):
    """Audit counts of a played piece, of samples `first` to before `end`."""

    first: int
    end: int
    audit: Mapping[str, Any]


def audit_state(audit: Mapping[str, Any]) -> AuditState:
    """Return the state of a match's audit as stored. An open or missing audit has no consequence."""
    if audit.get("open", False):
        return AuditState.OPEN
    return AuditState.PASSED if audit.get("passed", True) else AuditState.FAILED


def open_audits(matches: QuerySet[Match]) -> list[Match]:
    """Return the played matches whose audit is open: they are not finished."""
    played = matches.filter(state=Match.State.PLAYED, audit__open=True)
    return [match for match in played if audit_state(match.audit) is AuditState.OPEN]


def failed_audits(matches: QuerySet[Match]) -> list[Match]:
    """Return the matches whose audit failed, over everything that was played of them."""
    return [match for match in matches.filter(audit__passed=False) if audit_state(match.audit) is AuditState.FAILED]


def failed_on(pieces: Iterable[PieceAudit], ends: Collection[int]) -> tuple[int, ...]:
    """Return those of the sample counts `ends` on whose first samples the audit of a match failed.

    `pieces` are the played ones of the match, in order. Later pieces do not change earlier findings.
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
