"""The commands of `gauntlet` for teams use the API as its OpenAPI document describes it, and nothing else of it."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

import pytest
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from evaluation.cli import main, site_client, submission_log
from evaluation.cli.site_client import SiteClient
from tests.platform.api.openapi import document

COMMANDS = [
    *("whoami", "status", "status 17", "quota", "logs 17", "logs -f 17 --attempt 1", "withdraw 17", "choose 17"),
    *("choose --newest owls/model", "board digits model", "board digits model --page 2 --at 2026-11-23"),
    *("matches", "matches 17", "matches --competition digits", "challenge 17", "challenge 17 boundary --wait"),
    *("pictures 17", "pictures 17 --challenge 3", "pictures 17 --match 5", "prove digits-curves/1 17 FILE --wait"),
]
"""Those of teams but `login`, `init`, `submit` and `fetch`, which ask for more than the API; see test_command.py."""

SCALARS: Mapping[str, Any] = {"string": "text", "integer": 1, "number": 1.5, "boolean": True, "null": None}


class DocumentedSite:
    """A site that knows its document alone: it answers with an example, null wherever that may be if `empty`."""

    def __init__(self, described: dict[str, Any], *, empty: bool) -> None:
        self._described, self._empty = described, empty

    def answer(self, method: str, path: str, body: Any = None) -> bytes:
        """Return an answer. Fail for a request that the document does not have."""
        plain, _, query = path.partition("?")
        operation = self._operation(method.lower(), f"/api/v1/{plain}")
        known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
        assert {name for name, _ in parse_qsl(query)} <= known, path
        if body is not None and (sent := operation.get("requestBody")):
            schema = {**sent["content"][body.media_type]["schema"], "components": self._described["components"]}
            if body.media_type == "application/json":
                Draft202012Validator(schema).validate(json.loads(body.content))
        content = next(each for status, each in operation["responses"].items() if status.startswith("2")).get("content")
        if content is None or "image/png" in content:
            return b""
        return json.dumps(self._example(content["application/json"]["schema"])).encode()

    def _operation(self, method: str, address: str) -> dict[str, Any]:
        found = [path for path in self._described["paths"] if re.fullmatch(re.sub(r"{\w+}", "[^/]+", path), address)]
        assert found, f"{address} is in no document"
        operation: dict[str, Any] = self._described["paths"][found[0]][method]
        return operation

    def _example(self, schema: Mapping[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            return self._example(self._described["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
        for choice in ("allOf", "anyOf", "oneOf"):
            if choice in schema:
                shapes = sorted(schema[choice], key=lambda each: (each.get("type") == "null") != self._empty)
                return self._example(shapes[0], name)
        kinds = schema.get("type", "string")
        kinds = [kinds] if isinstance(kinds, str) else sorted(kinds, key=lambda each: (each == "null") != self._empty)
        if kinds[0] == "object":
            return {each: self._example(shape, each) for each, shape in schema.get("properties", {}).items()}
        if kinds[0] == "array":
            return [self._example(schema["items"])]
        if name == "next":
            return None
        if name in {"over", "final"}:
            return True
        return schema["enum"][-1] if "enum" in schema else SCALARS[kinds[0]]


def unfit(value: Any, hint: Any) -> bool:
    """Return whether a value of an answer is not of the type that the client says."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any or is_dataclass(hint):
        return False
    if origin in (Union, types.UnionType):
        return all(unfit(value, each) for each in inner)
    if origin is list:
        return not isinstance(value, list) or any(unfit(each, inner[0]) for each in value)
    if origin is dict:
        return not isinstance(value, dict) or any(unfit(each, inner[1]) for each in value.values())
    return type(value) is not hint


@pytest.fixture(params=[False, True], ids=["whole", "empty"])
def site(
    request: pytest.FixtureRequest, client: APIClient, db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> dict[str, str]:
    """Commands meet the document in place of a site.

    The fields of their classes are listed with what is wrong with them; lists have less of an object than its address.
    """
    for name, value in {"GAUNTLET_SITE": "https://arena.example", "GAUNTLET_TOKEN": "x"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(submission_log, "EVERY", 0)
    documented = DocumentedSite(document(client), empty=request.param)
    monkeypatch.setattr(SiteClient, "_sent", lambda self, *asked: documented.answer(*asked))
    found: dict[str, str] = {}
    read = site_client.read_answer

    def compared(kind: type[Any], data: Mapping[str, Any]) -> Any:
        hints = get_type_hints(kind)
        for each in fields(kind):
            name = f"{kind.__name__}.{each.name}"
            if each.name not in data:
                found.setdefault(name, "missing")
            elif found.get(name, "missing") in {"missing", ""}:
                found[name] = f"is {data[each.name]!r}" if unfit(data[each.name], hints[each.name]) else ""
        return read(kind, data)

    monkeypatch.setattr(site_client, "read_answer", compared)
    return found


def test_every_path_parameter_and_field_that_commands_use_is_in_the_document(
    site: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("FILE").write_bytes(b"an archive")
    for command in COMMANDS:
        status = main(command.split())
        assert status in {0, 3}, f"{command}: {capsys.readouterr().err}"
    assert len(site) > len(COMMANDS)
    assert {name: problem for name, problem in site.items() if problem} == {}
