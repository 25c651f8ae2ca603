"""A client of the API of a site, version 1: typed answers, and problems as exceptions."""

from __future__ import annotations

import json
import time
import types
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from email.message import Message
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection, IncompleteRead
from ssl import SSLEOFError
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl, quote, urlencode

from evaluation import __version__
from evaluation.cli.site_version_check import note_version
from evaluation.domain.errors import GauntletError, Refusal

_SECONDS = 60
_MOST_BYTES = 16 << 20
_ATTEMPTS = 3
_LONGEST_PAUSE = 120
"""How many seconds of `Retry-After` a request waits for."""

THROTTLED = "throttled"
"""The code of too many requests."""

Answer = TypeVar("Answer")


class SiteRefusal(Refusal):
    """The site refuses a request; `code` names the kind of problem."""

    def __init__(self, code: str, detail: str, *, fix: str = "") -> None:
        super().__init__(detail, fix=fix)
        self.code = code


class UnavailableSiteError(GauntletError):
    """The site does not answer, or has an error of its own."""


class UnexpectedAnswerError(UnavailableSiteError):
    """Something answers at the address of a site, and not as the API of a site of this version does."""

    def __init__(self, site: str, problem: str) -> None:
        super().__init__(
            f"{site} does not answer as a site of Gauntlet that this command knows: {problem}\n"
            f"  fix: open {site} in a browser: the address may be wrong, or a proxy may ask you to sign in first; "
            f"if it is the site, {site}/docs#gauntlet says how to get the command that belongs to it"
        )


class AnswerShapeError(ValueError):
    """An answer does not have the fields and types that this program expects. The message names the first one."""


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
class SiteDeviceToken:
    """The token of a program whose code a person has confirmed."""

    access_token: str


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
class SiteNumbers:
    """The numbers of a challenge."""

    median: float


@dataclass(frozen=True)
class SiteSampleResult:
    """What became of a sample of a challenge."""

    sample: int
    outcome: str
    distance: float
    queries: int


@dataclass(frozen=True)
class SiteChallenge:
    """An unranked match; `numbers` and `samples` are None before it is played."""

    number: int
    submission: int
    opponent: str
    opponent_title: str
    track: str
    state: str
    numbers: SiteNumbers | None = None
    samples: list[SiteSampleResult] | None = None


@dataclass(frozen=True)
class SiteMatch:
    """A match behind a score."""

    key: str
    track: str
    attack: str
    model: str
    state: str
    numbers: dict[str, Any] | None = None


@dataclass(frozen=True)
class SitePicturedSample:
    """A sample whose pictures a site shows, with their names."""

    sample: int
    pictures: list[str] = field(default_factory=lambda: ["clean", "perturbed"])


@dataclass(frozen=True)
class SitePicturedMatch:
    """A match or a challenge whose pictures a site shows; `samples` is None where they are secret."""

    samples: list[SitePicturedSample] | None


@dataclass(frozen=True)
class SiteBuild:
    """An attempt to build a submission."""

    attempt: int


@dataclass(frozen=True)
class SiteBuilds:
    """The builds of a submission, which only its team and the organisers see."""

    number: int
    builds: list[SiteBuild] | None = None


@dataclass(frozen=True)
class SiteColumn:
    """A column of numbers of a leaderboard."""

    name: str


@dataclass(frozen=True)
class SiteStanding:
    """A row of a leaderboard, without its numbers; a baseline has no team."""

    rank: int | None
    team: str | None
    submission: int | None


@dataclass(frozen=True)
class SiteColumns:
    """The columns of a leaderboard, in formats that name them."""

    columns: list[SiteColumn]


@dataclass(frozen=True)
class SiteBoard:
    """A page of a leaderboard of any format."""

    rows: list[dict[str, Any]]
    frozen_since: str | None = None


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
        self._opener = urllib.request.build_opener(NoRedirects(), _PlainHandler(), _SecureHandler())

    def begin_device_login(self, name: str) -> SiteDeviceCodes:
        """Ask for codes to sign in with; the site shows `name` to the person."""
        return self.read(SiteDeviceCodes, self._answer("POST", "device/code", {"client": name}))

    def device_token(self, device_code: str) -> str:
        """Return the token after a person confirmed the code. Raise `SiteRefusal` before, and if they refused."""
        answer = self._answer("POST", "device/token", {"device_code": device_code})
        return self.read(SiteDeviceToken, answer).access_token

    def profile(self) -> Profile:
        """Return who the token belongs to."""
        return self.read(Profile, self.get("profile"))

    def own_teams(self) -> list[OwnTeam]:
        """Return the teams of the person."""
        return [self.read(OwnTeam, row) for row in self.rows("profile/teams")]

    def submission(self, number: int) -> SiteSubmission:
        """Return a submission."""
        return self.read(SiteSubmission, self.get(f"submissions/{number}"))

    def submissions(self, **chosen: str) -> Iterator[SiteSubmission]:
        """Yield the submissions with these values, newest first."""
        return (self.read(SiteSubmission, row) for row in self.rows("submissions", **chosen))

    def submissions_of(self, team: str, track: str) -> Iterator[SiteSubmission]:
        """Yield the submissions of a repository of the person's team, with their tags, newest first."""
        rows = self.rows(f"repositories/{quote(team)}/{quote(track)}/submissions")
        return (self.read(SiteSubmission, row) for row in rows)

    def log(self, number: int, after: int, attempt: int | None = None) -> SiteLog:
        """Return the next lines of a log."""
        of = {"attempt": str(attempt)} if attempt else {}
        return self.read(SiteLog, self.get(f"submissions/{number}/log", after=str(after), **of))

    def withdraw(self, number: int) -> SiteSubmission:
        """Withdraw a submission."""
        return self.read(SiteSubmission, self._answer("POST", f"submissions/{number}/withdraw", {}))

    def choose(self, number: int) -> SiteSubmission:
        """Let a submission count instead of the newest one of its team."""
        return self.read(SiteSubmission, self._answer("POST", f"submissions/{number}/choose", {}))

    def choose_newest(self, team: str, track: str) -> None:
        """Let the newest submission of a repository count again."""
        if self._sent("POST", f"repositories/{quote(team)}/{quote(track)}/choose-newest", _Body.of({})):
            raise UnexpectedAnswerError(self.site, "it sends something where nothing is to be said")

    def upload_proof(self, proofs: str, archive: bytes) -> SiteProof:
        """Upload an archive of images against the model with the address `proofs`."""
        answer = self._json(self._sent("POST", proofs, _Body(archive, "application/octet-stream")))
        return self.read(SiteProof, answer)

    def proof(self, proofs: str, number: int) -> SiteProof:
        """Return a proof against the model with the address `proofs`."""
        return self.read(SiteProof, self.get(f"{proofs}/{number}"))

    def opponents(self, submission: int) -> list[SiteOpponent]:
        """Return whom a submission may challenge."""
        return [self.read(SiteOpponent, row) for row in self.rows(f"submissions/{submission}/opponents")]

    def request_challenge(self, submission: int, opponent: str) -> SiteChallenge:
        """Request a challenge of a submission."""
        path = f"submissions/{submission}/challenges"
        return self.read(SiteChallenge, self._answer("POST", path, {"opponent": opponent}))

    def challenge(self, submission: int, number: int) -> SiteChallenge:
        """Return a challenge of a submission."""
        return self.read(SiteChallenge, self.get(f"submissions/{submission}/challenges/{number}"))

    def rows(self, path: str, **query: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list, page by page."""
        while True:
            page = self.read(_Page, self.get(path, **query))
            yield from page.results
            if not page.next:
                return
            # of its address only the cursor: the token goes to this site alone
            query = dict(parse_qsl(page.next.partition("?")[2].partition("#")[0]))

    def get(self, path: str, **query: str) -> Any:
        """Return the answer at `path`, whatever JSON it is. Raise `SiteRefusal`, or `UnavailableSiteError`."""
        return self._answer("GET", f"{path}?{urlencode(query)}" if query else path)

    def read(self, kind: type[Answer], data: Any) -> Answer:
        """Return an answer of this site as `kind`. Raise `UnexpectedAnswerError` if it is none."""
        try:
            return read_answer(kind, data)
        except AnswerShapeError as error:
            raise UnexpectedAnswerError(self.site, str(error)) from None

    def content(self, path: str) -> bytes:
        """Return the file at `path`. Raise as `get` does."""
        return self._sent("GET", path)

    def _answer(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._json(self._sent(method, path, None if body is None else _Body.of(body)))

    def _json(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            problem = "it sends something else than JSON" if content else "it sends nothing"
            raise UnexpectedAnswerError(self.site, problem) from None

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
            answer: HTTPResponse
            with self._opener.open(request, timeout=_SECONDS) as answer:
                note_version(self.site, answer.headers)
                content = answer.read(_MOST_BYTES)
                if answer.length:  # the connection broke, which the library does not say
                    raise IncompleteRead(content, answer.length)
                return content
        except urllib.error.HTTPError as error:
            with error:
                note_version(self.site, error.headers)
                raise self._problem(request.full_url, error) from None
        except (OSError, ValueError, HTTPException) as error:
            raise self._unavailable(error) from None

    def _unavailable(self, error: Exception) -> UnavailableSiteError:
        reason = getattr(error, "reason", error)
        return UnavailableSiteError(f"{self.site} does not answer: {reason}\n  fix: try again later")

    def _problem(self, address: str, error: urllib.error.HTTPError) -> GauntletError:
        """Return the exception of an answer that is an error."""
        problem, text = _problem_details(error), f"{address} answers {error.code}"
        detail, fix = (problem.detail, problem.fix) if problem else (text, "try again later")
        if error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return UnavailableSiteError(f"{detail}\n  fix: {fix}" if fix else detail)
        if error.code == HTTPStatus.TOO_MANY_REQUESTS:
            seconds = _pause(error.headers)
            if seconds is None:
                return SiteRefusal(THROTTLED, detail, fix=fix)
            return _ThrottledError(THROTTLED, detail, fix=fix, seconds=seconds)
        if problem is None:
            to = error.headers.get("Location", "")
            return UnexpectedAnswerError(self.site, f"{text} and leads to {to}" if to else text)
        return SiteRefusal(problem.code, detail, fix=fix)


class _ThrottledError(SiteRefusal):
    """Too many requests: the same one is accepted in a moment."""

    def __init__(self, code: str, detail: str, *, fix: str, seconds: int) -> None:
        super().__init__(code, detail, fix=fix)
        self.seconds = seconds


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: another site would get the token."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


class _UploadConnection(HTTPConnection):
    """Also reads the answer of a site that refuses a request, and ends the connection, before it has read the body."""

    def request(self, *arguments: Any, **options: Any) -> None:
        try:
            super().request(*arguments, **options)
        except (BrokenPipeError, ConnectionResetError, SSLEOFError):
            if self.sock is None:
                raise


class _SecureConnection(_UploadConnection, HTTPSConnection):
    """The same with TLS."""


class _PlainHandler(urllib.request.HTTPHandler):
    def http_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_UploadConnection, request)


class _SecureHandler(urllib.request.HTTPSHandler):
    def https_open(self, request: urllib.request.Request) -> HTTPResponse:
        return self.do_open(_SecureConnection, request)


@dataclass(frozen=True)
class _Page:
    """A page of a list."""

    results: list[dict[str, Any]]
    next: str | None


@dataclass(frozen=True)
class _ProblemDetails:
    """A problem document, of which every error of the API is one."""

    code: str
    detail: str
    fix: str
    accepted_from: str | None


def _problem_details(error: urllib.error.HTTPError) -> _ProblemDetails | None:
    """Return the problem document of an answer, None if it is none."""
    try:
        problem = read_answer(_ProblemDetails, json.loads(error.read(_MOST_BYTES)))
    except (OSError, ValueError, RecursionError, HTTPException):
        return None
    if problem.accepted_from and not problem.fix:
        return replace(problem, fix=f"try again from {problem.accepted_from} on")
    return problem


def _pause(headers: Message) -> int | None:
    """Return for how many seconds to wait, None where an answer does not say it, or for too long."""
    text = headers.get("Retry-After", "")
    if not text.isdecimal() or len(text) > len(str(_LONGEST_PAUSE)) or int(text) >= _LONGEST_PAUSE:
        return None
    return int(text) + 1


def read_answer(kind: type[Answer], data: Any) -> Answer:
    """Return the known fields of an answer; a site of a newer version may have more. Raise `AnswerShapeError`."""
    if not isinstance(data, Mapping):
        raise AnswerShapeError(f"{_named(data)} in place of an object")
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]
        if each.name in data:
            try:
                values[each.name] = _fitting(hints[each.name], data[each.name])
            except AnswerShapeError as error:
                raise AnswerShapeError(f"{each.name}: {error}") from None
        elif each.default is MISSING and each.default_factory is MISSING:
            raise AnswerShapeError(f"{each.name} is missing")
    return kind(**values)


def _fitting(hint: Any, value: Any) -> Any:
    """Return a value of an answer as a field with this type has it. Raise `AnswerShapeError`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is types.UnionType:  # with None, which is its second type
        return None if value is None else _fitting(inner[0], value)
    if is_dataclass(hint) and isinstance(hint, type):
        return read_answer(hint, value)
    if origin is list and isinstance(value, list):
        return [_fitting(inner[0], each) for each in value]
    if origin is dict and isinstance(value, dict):
        return {name: _fitting(inner[1], each) for name, each in value.items()}
    # a whole number is a number, too
    if hint is Any or type(value) is hint or (hint is float and type(value) is int):
        return value
    raise AnswerShapeError(f"{_named(value)} in place of {_TYPES[origin or hint]}")


def _named(value: Any) -> str:
    """Return what a value of JSON is, in words."""
    return _TYPES[type(value)]


_TYPES: Mapping[Any, str] = {
    dict: "an object", list: "a list", str: "a text", int: "a whole number", float: "a number",
    bool: "a truth value", types.NoneType: "null",
}  # fmt: skip
"""The types of JSON, in words."""
