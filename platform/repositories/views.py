"""git over HTTP: who asks, for what, and then `git http-backend` itself."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from http import HTTPStatus
from pathlib import Path

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts.models import User
from accounts.selectors import is_member
from accounts.services import use_token
from core.errors import Fault, Refusal
from repositories.http.backend import BackendProcess
from repositories.http.concurrency import ANYBODY, LIMITER, RETRY_SECONDS, LimitReachedError, Permit
from repositories.http.push_lock import PushLock
from repositories.http.receive_pack import ReceivePack, close_connections
from repositories.http.request_body import Body, RequestCutOffError
from repositories.models import Repository
from repositories.public_copies import public_copy
from repositories.push_gate import Push, PushGate
from repositories.selectors import access_problem, place_of, public_repository
from repositories.services import repository_of

PULL, PUSH = "git-upload-pack", "git-receive-pack"
ADVERTISEMENT = "info/refs"
ONLY_SMART = "Gauntlet: only git's smart HTTP is spoken here; use git 1.6.6 or newer"
PASSED_ON = ("CONTENT_TYPE", "HTTP_CONTENT_ENCODING", "HTTP_GIT_PROTOCOL", "REMOTE_ADDR")


@method_decorator(csrf_exempt, name="dispatch")
class _SmartView(View):
    """Tells a git client's requests apart: what it will want comes before it is answered."""

    http_method_names = ["get", "post"]

    def get(self, request: HttpRequest, team: str, track_name: str, service: str) -> HttpResponseBase:
        """What refs there are, before a clone or a push."""
        wanted = request.GET.get("service", "") if service == ADVERTISEMENT else ""
        return self._serve(request, team, track_name, service, wanted)

    def post(self, request: HttpRequest, team: str, track_name: str, service: str) -> HttpResponseBase:
        """The clone or the push itself."""
        return self._serve(request, team, track_name, service, service)

    def _serve(self, request: HttpRequest, team: str, track_name: str, service: str, wanted: str) -> HttpResponseBase:
        raise NotImplementedError


class GitView(_SmartView):
    """Serves `TEAM/KIND.git/SERVICE` to a git client that names an access token as its password."""

    gate: PushGate | None = None

    def _serve(self, request: HttpRequest, team: str, track_name: str, service: str, wanted: str) -> HttpResponseBase:
        pushing = wanted == PUSH
        user = _user(request, "submit" if pushing else "read")
        if user is None:
            return _unknown_caller("submit" if pushing else "read")
        place = place_of(team, track_name, user)
        if place is None:
            return _no_repository(team, track_name)
        if reason := access_problem(user, place[0], pushing=pushing):
            return _say(HTTPStatus.FORBIDDEN, f"Gauntlet: {reason}")
        if wanted not in (PULL, PUSH):
            return _say(HTTPStatus.FORBIDDEN, ONLY_SMART)
        repository = repository_of(entry=place[0], track=place[1])
        return _streamed(partial(self._exchange, request, repository, user, service, wanted))

    def _exchange(
        self, request: HttpRequest, repository: Repository, user: User, service: str, wanted: str
    ) -> BackendProcess:
        variables = _variables(request, repository.path, service, wanted) | {"REMOTE_USER": user.username}
        with ExitStack() as held:
            # members share what their team may have; organisers belong to none
            team = repository.entry.team_id if is_member(user, repository.entry.team) else None
            body = _awaited(request, user.pk, team, held)
            receive = None
            if service == PUSH:
                receive = self._receiver(request, repository, user).answer
                held.callback(PushLock(repository.path).leave)
            # from here on the exchange holds them, even if it does not start
            return BackendProcess(variables=variables, body=body, receive=receive, clean_up=held.pop_all().close)

    def _receiver(self, request: HttpRequest, repository: Repository, user: User) -> ReceivePack:
        if self.gate is None:
            raise Fault("a GitView without a door takes no push")
        site = request.build_absolute_uri("/").rstrip("/")
        return ReceivePack(self.gate, Push(repository=repository, user=user, updates=(), site_url=site))


class PublicGitView(_SmartView):
    """Serves `public/TEAM/KIND.git/SERVICE` to anybody: the released tags of a repository, for reading.

    An address of its own: git names its user only when it is refused, so at the team's address its members would be
    given the public copy. `released` tells the tags of a repository, and their commits.
    """

    released: Callable[[Repository], Mapping[str, str]] | None = None

    def _serve(self, request: HttpRequest, team: str, track_name: str, service: str, wanted: str) -> HttpResponseBase:
        if wanted == PUSH:
            if _user(request, "submit") is None:
                return _unknown_caller("submit")
            return _say(
                HTTPStatus.FORBIDDEN, f"Gauntlet: this is a copy for reading; push to /git/{team}/{track_name}.git"
            )
        repository = public_repository(team, track_name)
        tags = self.released(repository) if repository and self.released else {}
        if repository is None or not tags:
            return _no_repository(team, track_name)
        if wanted != PULL:
            return _say(HTTPStatus.FORBIDDEN, ONLY_SMART)
        return _streamed(partial(self._exchange, request, repository, tags, service))

    def _exchange(
        self, request: HttpRequest, repository: Repository, tags: Mapping[str, str], service: str
    ) -> BackendProcess:
        with ExitStack() as held:
            body = _awaited(request, ANYBODY, None, held)
            variables = _variables(request, public_copy(repository, tags), service, PULL)
            return BackendProcess(variables=variables, body=body, clean_up=held.pop_all().close)


def _awaited(request: HttpRequest, user: int, team: int | None, held: ExitStack) -> Body:
    """The body of `request` once its first bytes are there, and with it a turn; `held` gives both back.

    Raises `RequestCutOffError` and `LimitReachedError`. Until then no git is started: a connection that is only held
    open costs a thread, for which `ConcurrencyLimiter` has a bound.
    """
    body = held.enter_context(closing(Body(request)))
    turn = Permit(user, team, drop=partial(body.cut_off, "nothing came, and others needed its place"))
    LIMITER.wait(turn)
    held.callback(LIMITER.leave, turn)
    close_connections()
    body.wait()
    LIMITER.begin(turn)
    return body


def _variables(request: HttpRequest, path: Path, service: str, wanted: str) -> dict[str, str]:
    """What `git http-backend` is told of a request to the bare repository `path`."""
    return {name: request.META[name] for name in PASSED_ON if request.META.get(name)} | {
        "GIT_PROJECT_ROOT": str(path.parent.resolve()),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{path.name}/{service}",
        "QUERY_STRING": f"service={wanted}" if service == ADVERTISEMENT else "",
        "REQUEST_METHOD": request.method or "",
    }


def _streamed(start: Callable[[], BackendProcess]) -> HttpResponseBase:
    try:
        exchange = start()
        status, headers = exchange.head()
    except Refusal as refusal:
        return _say(HTTPStatus.LENGTH_REQUIRED, f"Gauntlet: {refusal}")
    except LimitReachedError as busy:
        response = _say(HTTPStatus.SERVICE_UNAVAILABLE, f"Gauntlet: {busy}")
        response["Retry-After"] = str(RETRY_SECONDS)
        return response
    except RequestCutOffError as broken:
        return _say(HTTPStatus.BAD_REQUEST, f"Gauntlet: {broken}")
    return StreamingHttpResponse(exchange, status=status, headers=headers)


def _no_repository(team: str, track_name: str) -> HttpResponse:
    return _say(HTTPStatus.NOT_FOUND, f"Gauntlet: there is no repository {team}/{track_name}.git here")


def _user(request: HttpRequest, scope: str) -> User | None:
    track_name, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if track_name.lower() != "basic":
        return None
    try:
        _, _, plain = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    token = use_token(plain, scope) if plain else None
    return token.user if token else None


def _unknown_caller(scope: str) -> HttpResponse:
    response = _say(
        HTTPStatus.UNAUTHORIZED,
        f'Gauntlet: give any user name, and as password an access token of yours that is valid and has scope "{scope}"',
    )
    response["WWW-Authenticate"] = 'Basic realm="Gauntlet: the password is an access token", charset="UTF-8"'
    return response


def _say(status: HTTPStatus, text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
