"""Proofs in the API: uploads that lower what is best known of a released model, and what became of them."""

from __future__ import annotations

from collections import Counter
from typing import IO, Any, cast

from django.db.models import Count, Q, QuerySet
from django.http import FileResponse
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import APIException, NotFound
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from api.access import competition_of, one_of, signed_in
from api.base_views import ApiView, ListView
from api.described_error import DescribedError
from api.serializers import AnswerSerializer
from core import object_store
from core.errors import Refusal
from formats.curves.best_known.proof_uploads import MOST_BYTES, too_large, upload
from formats.curves.best_known.released_models import released_models
from formats.curves.best_known.upload_rate import count_upload
from formats.curves.models import Proof
from rounds.models import Round, RoundEntry

ARCHIVE = "application/octet-stream"


class ProofSerializer(AnswerSerializer[Proof]):
    """A proof. `outcome` is empty until it is verified.

    `verdicts` counts what the model said of its images. `improvements` is the number of distances that it lowered.
    """

    number = serializers.IntegerField(source="pk")
    by = serializers.CharField(source="by.username")
    verdicts = serializers.SerializerMethodField()
    improvements = serializers.IntegerField(source="lowered")

    class Meta:
        model = Proof
        fields = (
            *("number", "by", "state", "outcome", "reason", "images", "verdicts", "improvements"),
            *("uploaded_at", "verified_at"),
        )

    @extend_schema_field(serializers.DictField(child=serializers.IntegerField()))
    def get_verdicts(self, proof: Proof) -> dict[str, int]:
        """Return how many images have each verdict."""
        return Counter(proof.verdicts)


class ArchiveParser(BaseParser):
    """Takes a body as it is."""

    media_type = ARCHIVE

    def parse(  # type: ignore[override] # views that use it expect bytes
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None
    ) -> bytes:
        """Return all of it; the view has looked at its length before."""
        return stream.read()


class TooLargeProofError(DescribedError, APIException):
    """The archive has too many bytes."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    code = "invalid"

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.problem)
        self.fix = refusal.fix


class ListProofs(ListView[Proof]):
    """The verified proofs against a released model, and for who uploaded them also the others, newest first."""

    serializer_class = ProofSerializer
    parser_classes = (ArchiveParser,)
    limits_its_body = True

    def get_queryset(self) -> QuerySet[Proof]:
        """Return those that the reader sees."""
        return _shown(self.request, **self.kwargs)

    @extend_schema(
        operation_id="uploadProof",
        description=f"Upload an archive of images (NumPy .npz, or JSON), of at most {MOST_BYTES >> 20} MiB.",
        request={ARCHIVE: OpenApiTypes.BINARY},
        responses={201: ProofSerializer},
    )
    def post(self, request: Request, **place: Any) -> Response:
        """Check the form of an upload, and queue it for verification."""
        by, entry = signed_in(request), _entry(request, **place)
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > MOST_BYTES:
            raise TooLargeProofError(too_large())
        count_upload(request)
        if not request.data:
            raise Refusal("no file was uploaded", fix="send an archive of images as the body")
        made = upload(entry=entry, by=by, content=cast("bytes", request.data))
        shown = _shown(request, **place).get(pk=made.pk)
        return Response(ProofSerializer(shown).data, status=status.HTTP_201_CREATED)


class ShowProof(ApiView):
    """A proof: a verified one, or one of yours."""

    @extend_schema(responses=ProofSerializer)
    def get(self, request: Request, proof: int, **place: Any) -> Response:
        """Return the proof with this number."""
        return Response(ProofSerializer(one_of(_shown(request, **place), "proof", pk=proof)).data)


class DownloadProof(ApiView):
    """The images of a verified proof, as NumPy .npz: they are what proves it."""

    @extend_schema(responses={(200, ARCHIVE): OpenApiTypes.BINARY})
    def get(self, request: Request, proof: int, **place: Any) -> FileResponse:
        """Return the archive."""
        found = one_of(_shown(request, **place).filter(outcome=Proof.Outcome.VERIFIED), "verified proof", pk=proof)
        return FileResponse(object_store.open_object(found.content), content_type=ARCHIVE)


def _shown(request: Request, **place: Any) -> QuerySet[Proof]:
    seen = Q(outcome=Proof.Outcome.VERIFIED)
    if isinstance(request.user, User):
        seen |= Q(by=request.user)
    shown = _entry(request, **place).proofs.filter(seen).select_related("by")
    return shown.annotate(lowered=Count("improvements"))


def _entry(request: Request, slug: str, number: int, submission: int) -> RoundEntry:
    """Return a released model that the user may see. Raise 404 otherwise."""
    round_: Round = one_of(competition_of(request, slug).rounds.all(), "round", number=number)
    entry = released_models(round_).filter(submission=submission).first()
    if entry is None:
        raise NotFound("there is no such model, or it is not released")
    return entry


_proofs = "competitions/<slug:slug>/rounds/<int:number>/models/<int:submission>/proofs"

addresses = [
    path(_proofs, ListProofs.as_view(), name="proofs"),
    path(f"{_proofs}/<int:proof>", ShowProof.as_view(), name="proof"),
    path(f"{_proofs}/<int:proof>/images", DownloadProof.as_view(), name="proof_images"),
]
