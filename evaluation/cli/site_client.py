"""A client of the API of a site, version 1: typed answers, and problems as exceptions."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from http import HTTPStatus
from http.client import HTTPException
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from evaluation import __version__
from evaluation.cli.site_version_check import note_version
from evaluation.domain.errors import GauntletError, Refusal

_SECONDS = 60
_MOST_BYTES = 16 << 20
_ATTEMPTS = 3
_LONGEST_PAUSE = 120
"""How many seconds of `Retry-After` a request waits for."""

Answer = TypeVar("Answer")


class SiteRefusal(Refusal):
    """The site refuses a request; `code` names the kind of problem."""

    def __init__(self, code: str, detail: str, *, fix: str = "") -> None:
        super().__init__(detail, fix=fix)
        self.code = code


class UnavailableSiteError(GauntletError):
    """The site does not answer, or has an error of its own."""


@dataclass(frozen=True)
class SiteToken:
    """What the token of a request may do."""

    name: str
    scopes: list[str]
    expires_at: str


@dataclass(frozen=True)
class Profile:
    """Who sends the requests."""

    username: str
    teams: list[str]
    token: SiteToken | None = None


@dataclass(frozen=True)
class SiteDeviceCodes:
    """The codes with which this program signs in: a person types `user_code` at `verification_uri`."""

    device_code: str
    user_code: str
    verification_uri: str
    expires_in: int
    interval: int


@dataclass(frozen=True)
class SiteTrack:
    """A track that a team may submit to; `repository` is its address for git."""

    name: str
    title: str
    repository: str


@dataclass(frozen=True)
class OwnTeam:
    """A team of the person."""

    slug: str
    name: str
    role: str
    competition: str
    tracks: list[SiteTrack]


@dataclass(frozen=True)
class SiteQuota:
    """What a team may still submit to a track."""

    quota: int
    left: int
    next_at: str | None


@dataclass(frozen=True)
class SiteProgress:
    """How far a submission is; `problem` says which platform error keeps it from a score."""

    final: bool
    score: float | None
    rank: int | None
    problem: str = ""


@dataclass(frozen=True)
class SiteSubmission:
    """A submission. What only its team sees is empty for others, and `progress` is None in lists."""

    number: int
    competition: str
    team: str
    track: str
    title: str
    state: str
    received_at: str
    commit: str = ""
    tag: str = ""
    problem: str = ""
    fix: str = ""
    progress: SiteProgress | None = None


@dataclass(frozen=True)
class SiteChallenge:
    """An unranked match; `numbers` and `samples` are None before it is played."""

    number: int
    submission: int
    opponent: str
    opponent_title: str
    track: str
    state: str
    numbers: dict[str, Any] | None = None
    samples: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class SiteOpponent:
    """An opponent that a submission may challenge; a baseline has no team."""

    opponent: str
    track: str
    title: str
    team: str = ""


@dataclass(frozen=True)
class SiteProof:
    """Images against a released model; `outcome` is empty before they are verified."""

    number: int
    state: str
    outcome: str
    images: int
    verdicts: dict[str, int]
    improvements: int


@dataclass(frozen=True)
class SiteLogLine:
    """A line of a log."""

    number: int
    stage: str
    text: str


@dataclass(frozen=True)
class SiteLog:
    """Lines of a log; `attempt` is None before the first build."""

    attempt: int | None
    lines: list[SiteLogLine]
    last: int
    over: bool


@dataclass(frozen=True)
class _Body:
    """What a request sends."""

    content: bytes
    media_type: str

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> _Body:
        """Return values as JSON."""
        return cls(json.dumps(values).encode(), "application/json")


class SiteClient:
    """Requests to one site, with the token of one person."""

    def __init__(self, site: str, token: str = "") -> None:
        self.site = site
        self.token = token
        self._opener = urllib.request.build_opener(NoRedirects())

    def begin_device_login(self, name: str) -> SiteDeviceCodes:
        """Ask for codes to sign in with; the site shows `name` to the person."""
        return _read(SiteDeviceCodes, self._answer("POST", "device/code", {"client": name}))

    def device_token(self, device_code: str) -> str:
        """Return the token after a person confirmed the code. Raise `SiteRefusal` before, and if they refused."""
        return str(self._answer("POST", "device/token", {"device_code": device_code})["access_token"])

    def profile(self) -> Profile:
        """Return who the token belongs to."""
        data = self.get("profile")
        token = data["token"]
        return _read(Profile, {**data, "token": _read(SiteToken, token) if token else None})

    def own_teams(self) -> list[OwnTeam]:
        """Return the teams of the person."""
        return [
            _read(OwnTeam, {**row, "tracks": [_read(SiteTrack, track) for track in row["tracks"]]})
            for row in self.rows("profile/teams")
        ]

    def quota(self, team: str, track: str) -> SiteQuota:
        """Return the quota of a team in a track."""
        return _read(SiteQuota, self.get(f"repositories/{quote(team)}/{quote(track)}/quota"))

    def submission(self, number: int) -> SiteSubmission:
        """Return a submission."""
        return read_submission(self.get(f"submissions/{number}"))

    def submissions(self, **chosen: str) -> Iterator[SiteSubmission]:
        """Yield the submissions with these values, newest first."""
        return (read_submission(row) for row in self.rows("submissions", **chosen))

    def submissions_of(self, team: str, track: str) -> Iterator[SiteSubmission]:
        """Yield the submissions of a repository of the person's team, with their tags, newest first."""
        rows = self.rows(f"repositories/{quote(team)}/{quote(track)}/submissions")
        return (read_submission(row) for row in rows)

    def log(self, number: int, after: int, attempt: int | None = None) -> SiteLog:
        """Return the next lines of a log."""
        of = {"attempt": str(attempt)} if attempt else {}
        data = self.get(f"submissions/{number}/log", after=str(after), **of)
        return _read(SiteLog, {**data, "lines": [_read(SiteLogLine, line) for line in data["lines"]]})

    def withdraw(self, number: int) -> SiteSubmission:
        """Withdraw a submission."""
        return read_submission(self._answer("POST", f"submissions/{number}/withdraw", {}))

    def choose(self, number: int) -> SiteSubmission:
        """Let a submission count instead of the newest one of its team."""
        return read_submission(self._answer("POST", f"submissions/{number}/choose", {}))

    def choose_newest(self, team: str, track: str) -> None:
        """Let the newest submission of a repository count again."""
        self._sent("POST", f"repositories/{quote(team)}/{quote(track)}/choose-newest", _Body.of({}))

    def upload_proof(self, proofs: str, archive: bytes) -> SiteProof:
        """Upload an archive of images against the model with the address `proofs`."""
        return _read(SiteProof, self._json(self._sent("POST", proofs, _Body(archive, "application/octet-stream"))))

    def proof(self, proofs: str, number: int) -> SiteProof:
        """Return a proof against the model with the address `proofs`."""
        return _read(SiteProof, self.get(f"{proofs}/{number}"))

    def opponents(self, submission: int) -> list[SiteOpponent]:
        """Return whom a submission may challenge."""
        return [_read(SiteOpponent, row) for row in self.rows(f"submissions/{submission}/opponents")]

    def request_challenge(self, submission: int, opponent: str) -> SiteChallenge:
        """Request a challenge of a submission."""
        path = f"submissions/{submission}/challenges"
        return _read(SiteChallenge, self._answer("POST", path, {"opponent": opponent}))

    def challenge(self, submission: int, number: int) -> SiteChallenge:
        """Return a challenge of a submission."""
        return _read(SiteChallenge, self.get(f"submissions/{submission}/challenges/{number}"))

    def rows(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, page by page."""
        while True:
            page = self.get(path, **query)
            yield from page["results"]
            if not page["next"]:
                return
            # of its address only the cursor: the token goes to this site alone
            query = dict(parse_qsl(urlsplit(page["next"]).query))

    def get(self, path: str, **query: str) -> Any:
        """Return the answer at `path`. Raise `SiteRefusal`, or `UnavailableSiteError`."""
        return self._answer("GET", f"{path}?{urlencode(query)}" if query else path)

    def content(self, path: str) -> bytes:
        """Return the file at `path`. Raise as `get` does."""
        return self._sent("GET", path)

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._json(self._sent(method, path, None if body is None else _Body.of(body)))

    def _json(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self._unavailable(error) from None

    def _sent(self, method: str, path: str, body: _Body | None = None) -> bytes:
        headers = {"Accept": "application/json", "User-Agent": f"gauntlet/{__version__}"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            headers["Content-Type"] = body.media_type
        data = None if body is None else body.content
        # the scheme is checked by `site_login.site_address`
        request = urllib.request.Request(f"{self.site}/api/v1/{path}", data, headers, method=method)  # noqa: S310
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._received(request)
            except _ThrottledError as throttled:
                time.sleep(throttled.seconds)
        return self._received(request)

    def _received(self, request: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(request, timeout=_SECONDS) as answer:
                note_version(self.site, answer.headers)
                content: bytes = answer.read(_MOST_BYTES)
                return content
        except urllib.error.HTTPError as error:
            with error:
                note_version(self.site, error.headers)
                raise _problem(request.full_url, error) from None
        except (OSError, ValueError, HTTPException) as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception) -> UnavailableSiteError:
        reason = getattr(error, "reason", error)
        return UnavailableSiteError(f"{self.site} does not answer: {reason}\n  fix: try again later")


def read_submission(data: Mapping[str, Any]) -> SiteSubmission:
    """Return a submission from an answer of the API."""
    progress = data.get("progress")
    return _read(SiteSubmission, {**data, "progress": _read(SiteProgress, progress) if progress else None})


class _ThrottledError(SiteRefusal):
    """Too many requests: the same one is accepted in a moment."""

    def __init__(self, code: str, detail: str, *, fix: str, seconds: int) -> None:
        super().__init__(code, detail, fix=fix)
        self.seconds = seconds


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another site would get the token."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


def _problem(address: str, error: urllib.error.HTTPError) -> GauntletError:
    """Return the exception of an answer that is an error."""
    try:
        data = json.loads(error.read(_MOST_BYTES))
        code, detail, fix = str(data["code"]), str(data["detail"]), str(data["fix"])
        if data["accepted_from"] and not fix:
            fix = f"try again from {data['accepted_from']} on"
    except (OSError, ValueError, LookupError, TypeError, RecursionError, HTTPException):
        code, detail, fix = "unknown", f"{address} answers {error.code}", "check the address of the site"
    seconds = error.headers.get("Retry-After", "")
    if error.code == HTTPStatus.TOO_MANY_REQUESTS and seconds.isdecimal() and int(seconds) < _LONGEST_PAUSE:
        return _ThrottledError(code, detail, fix=fix, seconds=int(seconds) + 1)
    if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return UnavailableSiteError(f"{detail}\n  fix: {fix}" if fix else detail)
    return SiteRefusal(code, detail, fix=fix)


def _read(kind: type[Answer], data: Mapping[str, Any]) -> Answer:
    """Return the known fields of an answer; a site of a newer version may have more."""
    known = {each.name for each in fields(kind)}  # type: ignore[arg-type]
    try:
        return kind(**{name: value for name, value in data.items() if name in known})
    except TypeError as error:
        raise SiteRefusal(
            "unknown", f"the site answers otherwise than expected ({error})", fix="use the version that the site has"
        ) from None
