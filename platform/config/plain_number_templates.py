"""Django's templates, where a number is formatted only by a filter that says so.

By default Django formats each variable that is a number, also where it is a coordinate, the value of a form or a part
of an address, which programs read with a point and without separators. It also takes time.
"""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates, Template
from django.template.context import make_context
from django.utils.safestring import SafeString


class PlainNumbers(DjangoTemplates):
    """The backend of all templates, those of the admin and of libraries included."""

    def get_template(self, template_name: str) -> PlainTemplate:
        """Return a template by its name. Raise `TemplateDoesNotExist`."""
        return PlainTemplate(super().get_template(template_name).template, self)


class PlainTemplate(Template):
    """A template whose variables are not formatted."""

    def render(self, context: dict[str, Any] | None = None, request: HttpRequest | None = None) -> SafeString:
        """Render the template."""
        plain = make_context(context, request, autoescape=self.backend.engine.autoescape)
        plain.use_l10n = False
        return self.template.render(plain)
