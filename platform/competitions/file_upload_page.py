"""The page of the admin on which a superuser uploads a competition's file, sees what it does, and confirms."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.forms import CharField, FileField, Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminFileFieldWidget

from competitions.import_preview import ImportPreview, preview
from competitions.import_warnings import import_notes
from competitions.services import import_competition
from competitions.toml_text import MOST_BYTES, parsed
from core import platform_error_report
from core.errors import Fault, Refusal, refusals_of

if TYPE_CHECKING:
    from accounts.models import User

log = logging.getLogger(__name__)


class UploadForm(Form):
    """The file."""

    file = FileField(
        widget=UnfoldAdminFileFieldWidget,
        label="File of the competition",
        help_text="TOML in UTF-8. Nothing is stored before you have seen what it makes or changes.",
    )


class ConfirmForm(Form):
    """The text of the file whose preview a person has seen, and the state of the competition at that time."""

    text = CharField(max_length=MOST_BYTES, strip=False)
    seen = CharField(max_length=64, required=False)


@dataclass(frozen=True)
class Uploaded:
    """What the page shows of a file: its preview, or its errors."""

    text: str
    preview: ImportPreview | None
    errors: Sequence[Refusal]


def upload_page(request: HttpRequest, by: User, context: dict[str, Any]) -> HttpResponse:
    """Answer with the form, with the preview of an uploaded file, or with the import of a confirmed one."""
    form = UploadForm(request.POST or None, request.FILES or None)
    shown: Uploaded | None = None
    confirmed = ConfirmForm(request.POST) if "confirmed" in request.POST else None
    if confirmed is not None and confirmed.is_valid():
        form, text = UploadForm(), confirmed.cleaned_data["text"]
        try:
            competition = import_competition(
                parsed(text.encode(), "the file"), by=by, seen=confirmed.cleaned_data["seen"]
            )
        except Refusal as refusal:
            shown = uploaded(text.encode(), refusals_of(refusal))
        except Fault as fault:
            platform_error_report.report(log, fault, "a competition could not be imported")
            shown = Uploaded(text, None, [Refusal(f"platform error: {fault}", fix="try again later")])
        else:
            messages.success(request, f"{competition.title} is imported.")
            for note in import_notes(competition):
                messages.warning(request, note)
            return redirect("admin:competitions_competition_change", competition.pk)
    elif confirmed is None and form.is_valid():
        shown = _read(form.cleaned_data["file"])
    context |= {"title": "Import a competition", "form": form, "shown": shown}
    return TemplateResponse(request, "admin/competitions/upload.html", context)


def _read(file: UploadedFile[Any]) -> Uploaded:
    if (file.size or 0) > MOST_BYTES:
        refusal = Refusal(f"the file has more than {MOST_BYTES >> 20} MiB", fix="upload the TOML file, not the images")
        return Uploaded("", None, [refusal])
    return uploaded(file.read())


def uploaded(content: bytes, errors: Sequence[Refusal] = ()) -> Uploaded:
    """Return what is shown of a file; `errors` are those of its import, which follow its preview."""
    text = content.decode("utf-8", errors="replace")
    try:
        return Uploaded(text, preview(parsed(content, "the file")), errors)
    except Refusal as refusal:
        return Uploaded(text, None, errors or refusals_of(refusal))
