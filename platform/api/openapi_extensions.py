"""How the OpenAPI document describes the operations of the API."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc
from drf_spectacular.utils import Direction
from rest_framework.permissions import SAFE_METHODS

from accounts.models import AccessToken
from api.address_prefix import PREFIX
from api.csv_renderer import CsvRenderer
from api.serializers import ProblemSerializer
from core.problem_details import CONTENT_TYPE


class Operation(AutoSchema):
    """An operation in the document; every one may answer with a problem document."""

    def get_operation_id(self) -> str:
        """Return the name of the view, which has one purpose."""
        name = type(self.view).__name__
        return f"{name[0].lower()}{name[1:]}"

    def get_description(self) -> str:  # type: ignore[override]
        """Return what the view shows or does."""
        return get_doc(type(self.view))

    def get_summary(self) -> str:
        """Return the first sentence of it."""
        return self.get_description().partition(". ")[0].partition(".\n")[0].rstrip(".")

    def get_tags(self) -> list[str]:
        """Return the kind of object that the address begins with."""
        return [self.path.removeprefix(PREFIX).split("/")[0] or "index"]

    def get_request_serializer(self) -> Any:
        """Return the body that the view declares, else what the library finds."""
        declared = getattr(self.view, "body", None) if self.method == "POST" else None
        return declared or super().get_request_serializer()

    def get_extensions(self) -> dict[str, Any]:
        """Return the scope that a token needs, as `x-scope`."""
        changes = getattr(self.view, "scope_of_changes", AccessToken.Scope.SUBMIT)
        return {"x-scope": (AccessToken.Scope.READ if self.method in SAFE_METHODS else changes).value}

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        for body in bodies.values():
            if CsvRenderer.media_type in body.get("content", {}):
                body["content"][CsvRenderer.media_type] = {"schema": {"type": "string"}}
        problem = self._get_response_for_code(  # type: ignore[no-untyped-call]
            ProblemSerializer, "default", [CONTENT_TYPE], direction
        )
        return bodies | {"default": problem}


class ClosedBody(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """A body that has no other names than its own."""

    target_class = "api.request_bodies.BodySerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """Return the schema of the body."""
        found: dict[str, Any] = auto_schema._map_serializer(  # type: ignore[no-untyped-call]
            self.target, direction, bypass_extensions=True
        )
        return found | {"additionalProperties": False}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The access token in the OpenAPI document."""

    target_class = "api.authentication.TokenAuthentication"
    name = "accessToken"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return how the token is sent."""
        return {"type": "http", "scheme": "bearer", "description": "An access token of your account page."}


def any_of(result: dict[str, Any], generator: object, request: object, public: bool) -> dict[str, Any]:
    """Let an answer fit several formats, of which one may extend another; a hook of the settings."""
    for shape in result["components"]["schemas"].values():
        if shape.keys() == {"oneOf"}:
            shape["anyOf"] = shape.pop("oneOf")
    return result


def of_version_1(endpoints: list[Any]) -> list[Any]:
    """Return the endpoints that the document describes; a hook of the settings."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith(PREFIX)]
