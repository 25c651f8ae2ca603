"""Answers of the site beside its OpenAPI document."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from jsonschema import Draft202012Validator


def document(client: Any) -> dict[str, Any]:
    """Return the document that the site serves."""
    response = client.get(reverse("api:openapi"))
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    found: dict[str, Any] = response.json()
    return found


def check_answer(described: dict[str, Any], path: str, method: str, response: Any) -> None:
    """Check an answer against what the document says of its status, for an address as it stands there."""
    name, answers = f"{method} {path}", described["paths"][path][method]["responses"]
    answer = answers.get(str(response.status_code), answers["default"])
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    assert media_type in answer.get("content", {"": None}), name
    if "json" not in media_type:
        return
    schema = {**answer["content"][media_type]["schema"], "components": described["components"]}
    found = Draft202012Validator(schema).iter_errors(response.json())
    problems = [f"{name}: {each.json_path}: {each.message}" for each in found]
    assert problems == []
