"""The admin page of uploaded data sets, and the form of the upload."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.forms import CharField, FileField, Form, SlugField
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.defaultfilters import linebreaksbr
from django.template.response import TemplateResponse
from unfold.decorators import action
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from accounts.selectors import signed_in_user
from competitions.models import Competition, DataSetUpload, UploadedDataSet
from competitions.new_competition_page import new_competition_page
from competitions.uploaded_data_sets import LIMITS, request_data_set, sample_sets_text
from core.administration.admin_base_classes import ReadOnlyAdmin, is_superuser
from core.administration.link_columns import labelled, linked
from core.errors import Refusal
from evaluation.domain.errors import DatasetRefusal


class DataSetUploadForm(Form):
    """Name, licence and archive of a data set."""

    name = SlugField(
        max_length=40,
        widget=UnfoldAdminTextInputWidget,
        help_text='Letters, digits and hyphens. A competition names the set by it: source = "uploaded:NAME".',
    )
    licence = CharField(
        max_length=2000,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Licence and source of the images, and who may publish them: development images are public.",
    )
    archive = FileField(
        widget=UnfoldAdminFileFieldWidget,
        help_text=f"ZIP with CLASS/IMAGE or SPLIT/CLASS/IMAGE, all images of one size, at most {LIMITS.files:,} files "
        f"and {LIMITS.bytes >> 30} GiB unpacked.",
    )


@admin.register(UploadedDataSet)
class UploadedDataSetAdmin(ReadOnlyAdmin):
    """Data sets that superusers uploaded. Any competition can take its images from them."""

    list_display = ("name", "images", "class_count", "image_size", "repeated", "uploaded_by", "uploaded_at")
    list_select_related = ("uploaded_by",)
    search_fields = ("name", "licence")
    actions_detail = ("make_competition",)
    fields = (
        *("name", "licence", "images", "sizes_of_splits", "classes", "image_size", "repeated", "in_sample_sets"),
        *("file_part", "digest", "uploaded_by", "uploaded_at"),
    )
    readonly_fields = ("images", "sizes_of_splits", "classes", "image_size", "in_sample_sets", "file_part")

    @admin.display(description="classes")
    def class_count(self, row: UploadedDataSet) -> int:
        """Return the number of classes."""
        return len(row.class_names)

    @admin.display(description="splits")
    def sizes_of_splits(self, row: UploadedDataSet) -> str:
        """Return the number of images of each split."""
        return "; ".join(f"{name}: {number:,}" for name, number in row.splits.items())

    @admin.display(description="classes")
    def classes(self, row: UploadedDataSet) -> str:
        """Return the names of the classes, in the order of their labels."""
        return f"{len(row.class_names)}: {', '.join(row.class_names)}"

    @admin.display(description="images that sample sets had already")
    def in_sample_sets(self, row: UploadedDataSet) -> str:
        """Return how many images each sample set of the site had when the data set was uploaded."""
        return "; ".join(f"{name}: {number:,}" for name, number in row.shared.items()) or "none"

    @admin.display(description="image size")
    def image_size(self, row: UploadedDataSet) -> str:
        """Return height and width in pixels, and the channels."""
        return " x ".join(map(str, row.shape))

    @admin.display(description="for the competition's file")
    def file_part(self, row: UploadedDataSet) -> str:
        """Return tables for a competition's file, to be copied."""
        return sample_sets_text(row)

    @action(description="Make a competition", permissions=["add"])  # type: ignore[untyped-decorator]
    def make_competition(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Make a competition of the images, by an import of its file."""
        images: UploadedDataSet | None = self.get_object(request, object_id)
        if images is None:
            raise Http404
        competitions = self.admin_site._registry[Competition]
        return new_competition_page(
            request, images, self.admin_site.each_context(request) | {"opts": competitions.opts}
        )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return is_superuser(request)

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        """Show the form, or have the uploaded images prepared."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = DataSetUploadForm(request.POST or None, request.FILES or None)
        if form.is_valid():
            try:
                upload = request_data_set(**form.cleaned_data, by=signed_in_user(request))
            except Refusal as refusal:
                field = "archive" if isinstance(refusal, DatasetRefusal) else "name"
                form.add_error(field, f"{refusal.problem}. Fix: {refusal.fix}.")
            else:
                messages.success(request, f"{upload.name} is uploaded. A worker prepares its images; you can leave.")
                return redirect("admin:competitions_datasetupload_change", upload.pk)
        context = self.admin_site.each_context(request) | {
            "opts": self.opts,
            "title": "Upload a data set",
            "form": form,
        }
        return TemplateResponse(request, "admin/competitions/upload_data_set.html", context)


@admin.register(DataSetUpload)
class DataSetUploadAdmin(ReadOnlyAdmin):
    """Uploads of data sets: how far workers are with them, and why some failed."""

    list_display = (
        "name",
        labelled("state", {"queued": "info", "running": "warning", "done": "success", "failed": "danger"}),
        "progress",
        linked("data_set"),
        "uploaded_by",
        "uploaded_at",
        "ended_at",
    )
    list_filter = ("state",)
    list_select_related = ("data_set", "uploaded_by")
    search_fields = ("name", "problem")
    fields = (
        *("name", "state", "progress", "why", "data_set", "licence", "uploaded_by", "uploaded_at", "ended_at"),
        *("attempts", "faults", "next_attempt_at"),
    )
    readonly_fields = ("progress", "why")

    @admin.display(description="images")
    def progress(self, row: DataSetUpload) -> str:
        """Return how many images were read, of how many."""
        if row.total is None:
            return "the archive is being unpacked" if row.state == DataSetUpload.State.RUNNING else ""
        return f"{row.images:,} of {row.total:,}"

    @admin.display(description="problem", empty_value="")
    def why(self, row: DataSetUpload) -> str:
        """Return why it failed or waits, and the fix, on the lines that they have."""
        return linebreaksbr(row.problem)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the upload, on a page that refreshes itself until the upload has ended."""
        response: HttpResponse = super().change_view(request, object_id, form_url, extra_context)
        shown: DataSetUpload | None = self.get_object(request, object_id)
        if shown is not None and shown.state in DataSetUpload.OPEN:
            response.headers["Refresh"] = "3"
        return response
