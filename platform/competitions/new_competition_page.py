"""The page of the admin on which a superuser makes a competition of an uploaded data set: a form, then the preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.forms import ChoiceField
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from unfold.widgets import UnfoldAdminSelectWidget

from competitions.clone_page import CloneForm, moment_field
from competitions.file_upload_page import UploadForm, uploaded
from competitions.formats import competition_formats, format_choices
from competitions.models import SampleSet
from competitions.toml_text import written
from competitions.uploaded_data_set_models import UploadedDataSet
from competitions.uploaded_data_sets import sample_set_tables

ABOUT = (
    "The images are split into four parts, in a secret order: for development, validation, a round and the final. "
    "Rules have the defaults of the format. You see everything before it is stored; texts and rules are changed "
    "afterwards."
)
SHARED = "An image that is public in one competition cannot be secret in another. Upload other images."


class NewCompetitionForm(CloneForm):
    """What a new competition needs. Its texts and rules are changed afterwards."""

    field_order = ("title", "slug", "format", "starts_at", "ends_at")

    format = ChoiceField(choices=format_choices, widget=UnfoldAdminSelectWidget, help_text="It never changes.")
    starts_at = moment_field("Start", "In UTC.")
    ends_at = moment_field("End", "In UTC.")

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        starts_at, ends_at = (self.cleaned_data.get(name) for name in ("starts_at", "ends_at"))
        if starts_at and ends_at and starts_at >= ends_at:
            self.add_error("ends_at", "It ends before it starts. Choose a later time.")
        return cleaned


def new_competition_page(request: HttpRequest, images: UploadedDataSet, context: dict[str, Any]) -> HttpResponse:
    """Answer with the form, or with the preview of the import, which the page of the import confirms."""
    form = NewCompetitionForm(request.POST or None, initial={"title": images.name.capitalize(), "slug": images.name})
    if form.is_valid():
        text = written(document_of(images, **form.cleaned_data))
        context |= {"title": "Import a competition", "form": UploadForm(), "shown": uploaded(text.encode())}
        return TemplateResponse(request, "admin/competitions/upload.html", context)
    users = SampleSet.objects.filter(source=images.source).values_list("competition__title", flat=True).distinct()
    used = f"These images are already in use by {', '.join(users)}. {SHARED}" if users else ""
    context |= {"title": f"A competition of {images}", "form": form, "about": ABOUT, "warning": used}
    return TemplateResponse(request, "admin/competitions/before_preview.html", context)


def document_of(images: UploadedDataSet, *, format: str, **about: Any) -> Mapping[str, Any]:  # noqa: A002
    """Return the content of the file of a hidden competition of the data set, of which it uses all images."""
    return {
        "competition": about | {"data_source": images.licence, "public": False, "new_validation_set": False},
        "rules": {
            "format": format, "name": about["slug"], "shape": images.shape, "classes": len(images.class_names),
        },
        "tracks": {each.name: {"title": f"{each.title.capitalize()}s"} for each in competition_formats[format].tracks},
        "sample_sets": sample_set_tables(images),
    }  # fmt: skip
