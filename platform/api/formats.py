"""What of the API differs by the format of a competition. Everything else is the same for all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.contrib.auth.models import AnonymousUser
from rest_framework import serializers

from accounts.models import User
from competitions.models import Competition, Track
from core.errors import Refusal
from core.parts_by_format import ByFormat
from repositories.models import Repository
from rounds.models import Round
from submissions.models import Submission
from submissions.selectors import newer_ready

JsonSerializer = type[serializers.Serializer[Any]]


@dataclass(frozen=True)
class AnswerShapes:
    """The serializers of what a format answers, for the OpenAPI document; `sample` is a row of a match."""

    leaderboard: JsonSerializer
    place: JsonSerializer
    evaluation: JsonSerializer
    numbers: JsonSerializer | None = None
    sample: JsonSerializer | None = None


@dataclass(frozen=True)
class RoundResult:
    """What a published round shows, as values for JSON: the places by track, best first, and the warnings."""

    standings: Mapping[str, Collection[Any]]
    warnings: Collection[Any] = ()


@dataclass(frozen=True)
class SubmissionProgress:
    """How far a submission is: its score and rank where it has them.

    `final`: it does not change any more unless the submission is measured again. `problem` says why it has no score,
    where platform errors are the cause.
    """

    final: bool
    score: float | None = None
    rank: int | None = None
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class MatchAnswer:
    """A match as a person sees it. Players are named by their titles, and by their submissions if they have any.

    `numbers` are null before it is played, `samples` has a row for each sample where these are public.
    """

    key: str
    track: str
    state: str
    model: str
    model_submission: int | None
    attack: str
    attack_submission: int | None
    numbers: Mapping[str, Any] | None
    samples: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class ChallengeAnswer:
    """An unranked match that a team requested. `opponent` is named as in the request.

    `state` is waiting, playing, played, failed (by platform errors, and not counted) or cancelled. `numbers` and
    `samples` are null before it is played.
    """

    number: int
    submission: int
    opponent: str
    opponent_title: str
    track: str
    state: str
    requested_by: str
    requested_at: datetime
    played_at: datetime | None
    rules: int
    sample_set: str
    numbers: Mapping[str, Any] | None
    samples: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True, kw_only=True)
class OpponentAnswer:
    """An opponent that a submission may challenge. `opponent` is what a request names it by.

    `submission` is its number, null for a baseline, which has no `team` either.
    """

    opponent: str
    track: str
    title: str
    team: str = ""
    submission: int | None = None


@dataclass(frozen=True)
class Picture:
    """A picture of a sample; `name` is one of `competitions.sample_pictures.NAMES`."""

    sample: int
    name: str


class ApiFormat(Protocol):
    """What the API answers of competitions of a format. All values are plain ones for JSON."""

    @property
    def shapes(self) -> AnswerShapes:
        """The serializers of its answers."""

    @property
    def submission_fields(self) -> Mapping[str, serializers.Field[Any, Any, Any, Any]]:
        """The fields that say how a submission scored, or how far its evaluation is.

        Every submission of the site has them; they are null for those of other formats.
        """

    def submission(self, submission: Submission, *, inside: bool) -> Mapping[str, Any]:
        """Return the `submission_fields` of a submission, as the public sees them, or its team and the organisers."""

    def progress(self, submission: Submission, *, inside: bool) -> SubmissionProgress:
        """Return how far a submission is that is not rejected or withdrawn, for the same people."""

    def evaluations(self, submission: Submission, *, inside: bool) -> Sequence[Mapping[str, Any]]:
        """Return what a submission was measured on, the newest first, for the same people."""

    def matches(self, submission: Submission, user: User | AnonymousUser) -> Sequence[MatchAnswer]:
        """Return the matches that its newest score is made of, without samples, as far as the person sees them."""

    def match(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None
    ) -> MatchAnswer | None:
        """Return a match with its samples, as far as the person sees it; None for an unknown or hidden one.

        It is behind the leaderboards, or one of a round (`played`), where a key may name another one.
        """

    def match_picture(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None, picture: Picture
    ) -> bytes | None:
        """Return a picture of a sample of a match as PNG; None where the person sees none. Raise `Refusal`."""

    def choose(self, submission: Submission, by: User) -> None:
        """Let a submission count instead of the newest one of its team. Raise `Refusal`."""

    def choose_newest(self, repository: Repository, by: User) -> None:
        """Let the newest submission of a repository count again. Raise `Refusal`."""

    def challenges(self, submission: Submission) -> Sequence[ChallengeAnswer]:
        """Return the challenges of a submission, the newest first, without samples."""

    def challenge(self, submission: Submission, number: int) -> ChallengeAnswer | None:
        """Return a challenge of a submission with its samples; None for an unknown one."""

    def challenge_picture(self, submission: Submission, number: int, picture: Picture) -> bytes | None:
        """Return a picture of a sample of a challenge as PNG; None where there is none to see. Raise `Refusal`."""

    def opponents(self, submission: Submission) -> Sequence[OpponentAnswer]:
        """Return whom a submission may challenge: baselines, then submissions."""

    def request_challenge(self, submission: Submission, opponent: str, by: User) -> tuple[int, bool]:
        """Request a challenge; return its number, and whether it is new: a repeated request gets the first one.

        Raise `Refusal`, also in a format that offers none.
        """

    def re_evaluate(self, submission: Submission, by: User, reason: str) -> None:
        """Measure a submission again for an organiser. Raise `Refusal`, also in a format that has no evaluations."""

    def leaderboard(
        self, track: Track, user: User | AnonymousUser, page: str, at: datetime | None
    ) -> Mapping[str, Any]:
        """Return the requested page of a track's leaderboard as the person sees it, or the nearest one.

        `at` is a past time, None for now. Raise `Refusal` in a format that keeps no past leaderboards.
        """

    def round_result(self, published: Round) -> RoundResult:
        """Return the result of a published round."""

    def decisions(self, published: Round, user: User | AnonymousUser) -> Sequence[Mapping[str, Any]]:
        """Return what the stages of a published round decided, in order, as far as the person sees it."""


class WithoutMatches:
    """The answers of a format in which entries meet nobody."""

    def matches(self, submission: Submission, user: User | AnonymousUser) -> Sequence[MatchAnswer]:
        return ()

    def match(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None
    ) -> MatchAnswer | None:
        return None

    def match_picture(
        self, competition: Competition, key: str, user: User | AnonymousUser, *, played: Round | None, picture: Picture
    ) -> bytes | None:
        return None


class WithoutChallenges:
    """The answers of a format that offers no challenges."""

    def challenges(self, submission: Submission) -> Sequence[ChallengeAnswer]:
        return ()

    def challenge(self, submission: Submission, number: int) -> ChallengeAnswer | None:
        return None

    def challenge_picture(self, submission: Submission, number: int, picture: Picture) -> bytes | None:
        return None

    def opponents(self, submission: Submission) -> Sequence[OpponentAnswer]:
        return ()

    def request_challenge(self, submission: Submission, opponent: str, by: User) -> tuple[int, bool]:
        """Raise `Refusal`."""
        raise Refusal(
            "competitions of this format offer no challenges", fix="play on your own computer: gauntlet tournament"
        )


class WithoutEvaluations:
    """The answers of a format that measures submissions without evaluations."""

    def re_evaluate(self, submission: Submission, by: User, reason: str) -> None:
        """Raise `Refusal`."""
        raise Refusal(
            f"{submission} is in a competition whose format has no evaluations",
            fix="replay what failed in the lists of that format",
        )


class NewestCounts:
    """The answers of a format in which the newest submission counts, and rounds have no stages."""

    @staticmethod
    def counts_no_more(submission: Submission) -> bool:
        """Return whether a newer submission took its place, so that it gets no score any more."""
        return newer_ready(submission).exists()

    def decisions(self, published: Round, user: User | AnonymousUser) -> Sequence[Mapping[str, Any]]:
        return ()

    def choose(self, submission: Submission, by: User) -> None:
        """Raise `Refusal`: there is no choice."""
        raise Refusal(
            "in this competition the newest submission of a team counts",
            fix="withdraw newer submissions to make an older one count",
        )

    def choose_newest(self, repository: Repository, by: User) -> None:
        """Raise `Refusal`: it counts already."""
        raise Refusal("in this competition the newest submission of a team counts", fix="no action needed")


def only_now(at: datetime | None) -> None:
    """Raise `Refusal` for a past time, in a format that keeps no past leaderboards."""
    if at is not None:
        raise Refusal("this competition keeps no past leaderboards", fix="leave at= out")


api_formats: ByFormat[ApiFormat] = ByFormat("api")
"""The answers of each format."""
