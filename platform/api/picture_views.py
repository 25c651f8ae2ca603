"""Pictures of samples in the API, as PNG; and those of smoke tests, which all formats have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from api.access import check_inside, one_of, submission_of
from api.base_views import ApiView, WholeListView
from api.pagination import list_of, whole_list
from competitions.sample_pictures import CLEAN, NAMES
from core.picture_answers import picture_answer
from submissions.models import Build
from submissions.smoke_test_pictures import KeptSample, kept, picture

picture_schema = extend_schema(responses={(200, "image/png"): OpenApiTypes.BINARY})


class SmokeSampleSerializer(serializers.Serializer[Any]):
    """A sample of a smoke test, and what became of it.

    `clean_label` is the label that a model gave to the clean image, `found` that of the perturbed one, both null where
    no model was asked. `pictures` are their names.
    """

    sample = serializers.IntegerField()
    label = serializers.IntegerField()  # type: ignore[assignment] # a field of the answer, not that of a serializer
    target = serializers.IntegerField(allow_null=True)
    clean_label = serializers.IntegerField(allow_null=True)
    found = serializers.IntegerField(allow_null=True)
    distance = serializers.FloatField(allow_null=True)
    queries = serializers.IntegerField(allow_null=True)
    largest_change = serializers.IntegerField(allow_null=True)
    pictures = serializers.ListField(child=serializers.CharField())


class ListSmokeSamples(WholeListView):
    """The pictured samples of a smoke test, for the team and the organisers; none after 30 days."""

    @extend_schema(responses=list_of(SmokeSampleSerializer))
    def get(self, request: Request, number: int, attempt: int) -> Response:
        """Return all of them."""
        rows = [_values(place, each) for place, each in enumerate(kept(_build(request, number, attempt)))]
        return whole_list(SmokeSampleSerializer(rows, many=True).data)


class ShowSmokePicture(ApiView):
    """A picture of a smoke test, for the team and the organisers."""

    @picture_schema
    def get(self, request: Request, number: int, attempt: int, sample: int, name: str) -> HttpResponse:
        """Return the picture with one of the names that its sample lists."""
        build = _build(request, number, attempt)
        return picture_answer(lambda: picture(build, sample, name), NotFound)


def _build(request: Request, number: int, attempt: int) -> Build:
    submission = submission_of(request, number)
    check_inside(request, submission.repository.entry)
    return one_of(submission.builds.all(), "attempt", attempt=attempt)


def _values(place: int, sample: KeptSample) -> Mapping[str, Any]:
    steps = [step.picture for step in sample.path if step.picture]
    return {**vars(sample), "sample": place, "pictures": [*(NAMES if sample.perturbed else (CLEAN,)), *steps]}
