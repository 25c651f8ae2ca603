"""Base classes of the views of the API."""

from __future__ import annotations

from typing import Any, TypeVar

from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views.decorators.http import conditional_page
from rest_framework.generics import ListAPIView
from rest_framework.views import APIView

Row = TypeVar("Row", bound=Model)


class ApiView(APIView):
    """Answers a GET with an ETag, and with 304 where the reader has the same answer already."""

    @method_decorator(conditional_page)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Answer a request."""
        return super().dispatch(request, *args, **kwargs)


class ListView(ApiView, ListAPIView[Row]):
    """A list in pages, see `api.pagination.NewestFirst`."""
