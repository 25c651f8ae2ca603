"""Base classes of the views of the API."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from rest_framework.generics import ListAPIView
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer
from rest_framework.views import APIView

from accounts.models import AccessToken
from api.csv_renderer import CsvRenderer
from core.participant_kit import kit
from evaluation import __version__

VERSION_HEADER = "Gauntlet-Version"
"""The header of every answer with the version of the site, which the command `gauntlet` compares with its own."""
KIT_HEADER = "Gauntlet-Kit"
"""The header with the SHA-256 of the command's wheel that the site serves, which tells builds of a version apart."""

Row = TypeVar("Row", bound=Model)


class ApiView(APIView):
    """Answers a GET with an ETag, and with 304 where the reader has the same answer already."""

    scope_of_changes: ClassVar[AccessToken.Scope] = AccessToken.Scope.SUBMIT
    """What a token needs for requests that change something."""
    body: ClassVar[type[BaseSerializer[Any]] | None] = None
    """The body of a POST, for the OpenAPI document, where the method does not say it."""
    table: ClassVar[str] = ""
    """The name in the answer of the rows that `Accept: text/csv` asks for; empty where the answer is no table."""

    def get_renderers(self) -> list[BaseRenderer]:
        """Return JSON, and CSV where a GET answers with a table."""
        as_csv = [CsvRenderer()] if self.table and self.request.method in SAFE_METHODS else []
        return [*super().get_renderers(), *as_csv]

    @method_decorator(conditional_page)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request."""
        return super().dispatch(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Return the answer with the version of the site, and the build of its kit."""
        response.headers[VERSION_HEADER] = __version__
        if (served := kit()) is not None:
            response.headers[KIT_HEADER] = served.command.sha256
        if self.table:
            patch_vary_headers(response, ["Accept"])
            if following := (getattr(response, "data", None) or {}).get("next"):  # CSV has no other place for it
                response.headers["Link"] = f'<{following}>; rel="next"'
        return super().finalize_response(request, response, *args, **kwargs)


class ListView(ApiView, ListAPIView[Row]):
    """A list in pages, see `api.pagination.NewestFirst`."""

    table = "results"


class WholeListView(ApiView):
    """A short list, see `api.pagination.whole_list`."""

    table = "results"
