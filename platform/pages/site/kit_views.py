"""The kit of participants: its page, the files of requirements for pip, its wheels, and a package index of them."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from django.views.decorators.vary import vary_on_headers

from core.participant_kit import COMMAND, Kit, Wheel, kit
from pages.site.brand_views import YEAR

INDEX_JSON = "application/vnd.pypi.simple.v1+json"
_INDEX_HTML = "application/vnd.pypi.simple.v1+html"


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show what the kit is, the commands that install it, and its files."""
    found = _kit()
    files = [(wheel, address_of(request, wheel)) for wheel in found.wheels.values()]
    command = f"{COMMAND} @ {address_of(request, found.command)}#sha256={found.command.sha256}"
    return render(request, "pages/site/kit.html", {"kit": found, "files": files, "command": command})


@require_safe
def requirements(request: HttpRequest) -> HttpResponse:
    """Return a file of requirements: the command's wheel and all that it needs, in the site's versions and with hashes.

    pip refuses any other file, and installs without looking up a name of this program in any index.
    """
    found = _kit()
    address = address_of(request, found.command)
    return _text(f"{COMMAND} @ {address} --hash=sha256:{found.command.sha256}\n{found.packages}")


@require_safe
def requirements_players(request: HttpRequest) -> HttpResponse:
    """Return the file of requirements of the command with the packages of bundled players, with the pins of this site.

    It has the hash of the wheel alone: which build of PyTorch it is, the participant chooses by an index.
    """
    wheel = _kit().command
    pins = request.build_absolute_uri(reverse("pages:kit_pins"))
    return _text(f"{COMMAND}[players] @ {address_of(request, wheel)}#sha256={wheel.sha256}\n--constraint {pins}\n")


@require_safe
def pins(request: HttpRequest) -> HttpResponse:
    """Return the versions of packages with which the site runs players."""
    return _text(_kit().pins)


@require_safe
@cache_control(public=True, max_age=YEAR, immutable=True)
def file(request: HttpRequest, key: str, name: str) -> FileResponse:
    """Return a wheel of the kit. Raise 404 for anything else, such as the one before an update."""
    found = _kit()
    wheel = next((each for each in found.wheels.values() if (each.key, each.name) == (key, name)), None)
    if wheel is None:
        raise Http404("the kit has no such file")
    return FileResponse(found.open(wheel), content_type="application/octet-stream")


@require_safe
@vary_on_headers("Accept")
def index(request: HttpRequest) -> HttpResponse:
    """Return the projects of the package index (PEP 503, and PEP 691 for clients that ask for JSON)."""
    projects = list(_kit().wheels)
    if _wants_json(request):
        return _index_json({"projects": [{"name": name} for name in projects]})
    context = {"title": "Simple index", "links": [(f"{name}/", name, "") for name in projects]}
    return render(request, "pages/site/kit_index.html", context, content_type=_html_of(request))


@require_safe
@vary_on_headers("Accept")
def project(request: HttpRequest, name: str) -> HttpResponse:
    """Return the files of a project of the package index. Raise 404 for a project that it does not have."""
    wheel = _kit().wheels.get(name)
    if wheel is None:
        raise Http404("the index has no such project")
    address = address_of(request, wheel)
    if _wants_json(request):
        described = {
            "filename": wheel.name,
            "url": address,
            "hashes": {"sha256": wheel.sha256},
            "requires-python": wheel.python,
            "size": wheel.size,
        }
        return _index_json({"name": name, "versions": [wheel.version], "files": [described]})
    links = [(f"{address}#sha256={wheel.sha256}", wheel.name, wheel.python)]
    context = {"title": f"Links for {name}", "links": links}
    return render(request, "pages/site/kit_index.html", context, content_type=_html_of(request))


def address_of(request: HttpRequest, wheel: Wheel) -> str:
    """Return the whole address of a wheel."""
    return request.build_absolute_uri(reverse("pages:kit_file", args=[wheel.key, wheel.name]))


def _kit() -> Kit:
    found = kit()
    if found is None:
        raise Http404("this site has no kit")
    return found


def _text(content: str) -> HttpResponse:
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


def _wants_json(request: HttpRequest) -> bool:
    return request.get_preferred_type([_INDEX_HTML, "text/html", INDEX_JSON]) == INDEX_JSON


def _html_of(request: HttpRequest) -> str:
    kind = _INDEX_HTML if request.get_preferred_type(["text/html", _INDEX_HTML]) == _INDEX_HTML else "text/html"
    return f"{kind}; charset=utf-8"


def _index_json(content: dict[str, Any]) -> JsonResponse:
    return JsonResponse({"meta": {"api-version": "1.1"}, **content}, content_type=INDEX_JSON)
