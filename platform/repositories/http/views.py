"""Git over HTTP: authentication, access and limits, then `git http-backend`."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import partial
from http import HTTPStatus
from math import ceil
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts.models import User
from accounts.services import use_token
from core import clock
from core.errors import Fault, Refusal
from repositories.http.concurrency_limits import ANYBODY, LIMITER, RETRY_SECONDS, LimitReachedError, Permit
from repositories.http.git_http_backend import BackendProcess
from repositories.http.push_hooks import PushGate, ReceivePack, close_connections, refusal_text
from repositories.http.request_body import Body, RequestCutOffError, RequestTooLongError
from repositories.models import Repository
from repositories.public_copies import public_copy
from repositories.push_budget import PushBudgetRefusal, charged
from repositories.selectors import Access, access_to, public_repository
from repositories.services import push_lock, repository_of

PULL, PUSH = "git-upload-pack", "git-receive-pack"
ADVERTISEMENT = "info/refs"
ONLY_SMART = "Gauntlet: only git's smart HTTP protocol is supported; use git 1.6.6 or newer"
ENCODING = "HTTP_CONTENT_ENCODING"
PASSED_ON = ("CONTENT_TYPE", ENCODING, "HTTP_GIT_PROTOCOL", "REMOTE_ADDR")


@method_decorator(csrf_exempt, name="dispatch")
class _SmartView(View):
    """Base of the git views: finds out which git service a request is for."""

    http_method_names = ["get", "post"]
    limits_its_body = True  # see `pages.site.body_limit`

    def get(self, request: HttpRequest, service: str, **address: Any) -> HttpResponseBase:
        """Answer with the list of refs, before a clone or a push."""
        requested = request.GET.get("service", "") if service == ADVERTISEMENT else ""
        return self._serve(request, service, requested, **address)

    def post(self, request: HttpRequest, service: str, **address: Any) -> HttpResponseBase:
        """Serve the clone or the push."""
        return self._serve(request, service, service, **address)

    def _serve(self, request: HttpRequest, service: str, requested: str, **address: Any) -> HttpResponseBase:
        raise NotImplementedError


class GitView(_SmartView):
    """`TEAM/TRACK.git/SERVICE` for git clients that send an access token as their password."""

    gate: PushGate | None = None

    def _serve(  # type: ignore[override]
        self, request: HttpRequest, service: str, requested: str, *, team: str, track_name: str
    ) -> HttpResponseBase:
        pushing = requested == PUSH
        user = _user(request, "submit" if pushing else "read")
        if user is None:
            return _unauthorised("submit" if pushing else "read")
        access = access_to(team, track_name, user)
        if access is None:
            return _no_repository(team, track_name)
        if reason := access.problem(pushing=pushing):
            return _plain(HTTPStatus.FORBIDDEN, f"Gauntlet: {reason}")
        if requested not in (PULL, PUSH):
            return _plain(HTTPStatus.FORBIDDEN, ONLY_SMART)
        return _streamed(partial(self._exchange, request, access, service, requested))

    def _exchange(self, request: HttpRequest, access: Access, service: str, requested: str) -> BackendProcess:
        repository = repository_of(entry=access.entry, track=access.track)
        variables = _variables(request, repository.path, service, requested) | {"REMOTE_USER": access.user.username}
        with ExitStack() as held:
            # members share the limit of their team; organisers belong to none
            body = _started_body(request, access.user.pk, access.entry.team_id if access.member else None, held)
            if requested == PUSH:
                return self._push(request, access, service, repository, body, variables, held)
            if service == PULL:
                _read_fetch(body, variables)
            # from here on the process releases what is held, even if it fails to start
            return BackendProcess(variables=variables, body=body, clean_up=held.pop_all().close)

    def _push(
        self,
        request: HttpRequest,
        access: Access,
        service: str,
        repository: Repository,
        body: Body,
        variables: Mapping[str, str],
        held: ExitStack,
    ) -> BackendProcess:
        """Start git for a push, or for the list of refs before it; both are charged to the team's push budget."""
        if self.gate is None:
            raise Fault("a GitView without a push gate accepts no push")
        account = held.enter_context(charged(access.entry.team))
        close_connections()
        with account.meter.running():
            receive = None
            if service == PUSH:
                site = request.build_absolute_uri("/").rstrip("/")
                receive = held.enter_context(closing(ReceivePack(self.gate, repository, access.user, site, account)))
                held.enter_context(push_lock(repository.path))
            return BackendProcess(
                variables=variables,
                body=body,
                receive=receive,
                clean_up=held.pop_all().close,
                meter=account.meter,
                cpu_seconds=account.limit,
            )


class PublicGitView(_SmartView):
    """`public/TEAM/TRACK.git/SERVICE` for everybody: the released tags of a repository, read-only.

    It has its own address: git sends its user name only after a 401, so at the team's address members would get the
    public copy. `released` returns the tags of a repository, with their commits.
    """

    released: Callable[[Repository], Mapping[str, str]] | None = None

    def _serve(  # type: ignore[override]
        self, request: HttpRequest, service: str, requested: str, *, team: str, track_name: str
    ) -> HttpResponseBase:
        if requested == PUSH:
            if _user(request, "submit") is None:
                return _unauthorised("submit")
            return _plain(
                HTTPStatus.FORBIDDEN, f"Gauntlet: this copy is read-only; push to /git/{team}/{track_name}.git"
            )
        repository = public_repository(team, track_name)
        tags = self.released(repository) if repository and self.released else {}
        if repository is None or not tags:
            return _no_repository(team, track_name)
        if requested != PULL:
            return _plain(HTTPStatus.FORBIDDEN, ONLY_SMART)
        return _streamed(partial(self._exchange, request, repository, tags, service))

    def _exchange(
        self, request: HttpRequest, repository: Repository, tags: Mapping[str, str], service: str
    ) -> BackendProcess:
        with ExitStack() as held:
            body = _started_body(request, ANYBODY, None, held)
            variables = _variables(request, public_copy(repository, tags), service, PULL)
            if service == PULL:
                _read_fetch(body, variables)
            return BackendProcess(variables=variables, body=body, clean_up=held.pop_all().close)


class HostGitView(_SmartView):
    """`hosts/NUMBER.git/SERVICE` for worker hosts without the folder of repositories: every commit, read-only.

    `number_of_host` returns the number of the credential that a token belongs to, None for an unknown token.
    """

    number_of_host: Callable[[str], int | None] | None = None

    def _serve(  # type: ignore[override]
        self, request: HttpRequest, service: str, requested: str, *, number: int
    ) -> HttpResponseBase:
        host = self.number_of_host(_password(request)) if self.number_of_host else None
        if host is None:
            return _plain(HTTPStatus.UNAUTHORIZED, "Gauntlet: the credential of this host is unknown or revoked")
        if requested != PULL:
            return _plain(HTTPStatus.FORBIDDEN, ONLY_SMART)
        repository = Repository.objects.filter(pk=number).first()
        if repository is None or not repository.path.is_dir():
            return _plain(HTTPStatus.NOT_FOUND, f"Gauntlet: there is no repository {number}")
        return _streamed(partial(self._exchange, request, host, repository, service))

    def _exchange(self, request: HttpRequest, host: int, repository: Repository, service: str) -> BackendProcess:
        with ExitStack() as held:
            # users have positive numbers
            body = _started_body(request, -host, None, held)
            variables = _variables(request, repository.path, service, PULL)
            if service == PULL:
                _read_fetch(body, variables)
            return BackendProcess(variables=variables, body=body, clean_up=held.pop_all().close)


def _started_body(request: HttpRequest, user: int, team: int | None, held: ExitStack) -> Body:
    """Return the body of `request` after its first bytes arrived and a permit is held; `held` releases both.

    Raise `RequestCutOffError` and `LimitReachedError`. git starts only after that: a connection that is only held open
    costs a thread, and `ConcurrencyLimiter` bounds these.
    """
    body = held.enter_context(closing(Body(request)))
    permit = Permit(user, team, drop=partial(body.cut_off, "no data arrived, and other requests needed its place"))
    LIMITER.wait(permit)
    held.callback(LIMITER.release, permit)
    close_connections()
    body.wait()
    LIMITER.start(permit)
    return body


def _read_fetch(body: Body, variables: dict[str, str]) -> None:
    """Read the request of a clone or fetch, whose length is limited, and pass it on without its encoding."""
    body.read_fetch(variables.pop(ENCODING, ""))


def _variables(request: HttpRequest, path: Path, service: str, requested: str) -> dict[str, str]:
    """Return the CGI variables of `git http-backend` for a request to the bare repository `path`."""
    return {name: request.META[name] for name in PASSED_ON if request.META.get(name)} | {
        "GIT_PROJECT_ROOT": str(path.parent.resolve()),
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": f"/{path.name}/{service}",
        "QUERY_STRING": f"service={requested}" if service == ADVERTISEMENT else "",
        "REQUEST_METHOD": request.method or "",
    }


def _streamed(start: Callable[[], BackendProcess]) -> HttpResponseBase:
    try:
        exchange = start()
        status, headers = exchange.head()
    except PushBudgetRefusal as refusal:
        now = clock.now()
        seconds = ceil((refusal.accepted_from - now).total_seconds())
        return _for_now(HTTPStatus.TOO_MANY_REQUESTS, refusal_text(refusal, now), max(1, seconds))
    except Refusal as refusal:
        return _plain(HTTPStatus.LENGTH_REQUIRED, f"Gauntlet: {refusal}")
    except RequestTooLongError as too_long:
        return _plain(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"Gauntlet: {too_long}")
    except LimitReachedError as limit:
        return _for_now(HTTPStatus.SERVICE_UNAVAILABLE, f"Gauntlet: {limit}", RETRY_SECONDS)
    except RequestCutOffError as cut_off:
        return _plain(HTTPStatus.BAD_REQUEST, f"Gauntlet: {cut_off}")
    return StreamingHttpResponse(exchange, status=status, headers=headers)


def _no_repository(team: str, track_name: str) -> HttpResponse:
    return _plain(HTTPStatus.NOT_FOUND, f"Gauntlet: there is no repository {team}/{track_name}.git")


def _user(request: HttpRequest, scope: str) -> User | None:
    plain = _password(request)
    token = use_token(plain, scope) if plain else None
    return token.user if token else None


def _password(request: HttpRequest) -> str:
    """Return the password that git sends; "" if it sends none."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except ValueError:  # no base64, no ASCII, or no UTF-8 in it
        return ""


def _unauthorised(scope: str) -> HttpResponse:
    response = _plain(
        HTTPStatus.UNAUTHORIZED,
        f'Gauntlet: access denied; use any user name, and as password a valid access token with scope "{scope}"',
    )
    response["WWW-Authenticate"] = 'Basic realm="Gauntlet: the password is an access token", charset="UTF-8"'
    return response


def _for_now(status: HTTPStatus, text: str, seconds: int) -> HttpResponse:
    response = _plain(status, text)
    response["Retry-After"] = str(seconds)
    return response


def _plain(status: HTTPStatus, text: str) -> HttpResponse:
    return HttpResponse(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
