"""The addresses of the API without a version, and those that name nothing."""

from __future__ import annotations

from typing import NoReturn

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView

from api.address_prefix import PREFIX

_MOVED = ("competitions", "signing-keys", "submissions", "repositories")
"""What the addresses without a version began with."""


class PermanentRedirect(HttpResponseRedirect):
    """A redirect that keeps method and body."""

    status_code = 308


@csrf_exempt  # it does nothing but name the new address
def moved(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer an address without a version with the same one of version 1, or with a problem document."""
    if rest == "v1":
        rest = ""
    if rest and rest.split("/")[0] not in _MOVED:
        unknown: HttpResponse = UnknownAddress.as_view()(request)
        return unknown
    query = request.META.get("QUERY_STRING", "")
    return PermanentRedirect(f"{PREFIX}{rest}{'?' if query else ''}{query}")


@extend_schema(exclude=True)
class UnknownAddress(APIView):
    """An address that names nothing."""

    def initial(self, request: Request, *args: object, **kwargs: object) -> NoReturn:
        """Raise 404, whatever the method."""
        raise NotFound("the API has no such address")
