"""The query format, for the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import ClassVar

from evaluation.builder.manifest import MANIFEST_NAME, parse_manifest
from evaluation.formats.base import EngineFormat, FirstSubmission
from evaluation.formats.query.catalogue import Baseline, baselines
from evaluation.formats.query.submission_templates import QueryTemplate, query_templates
from evaluation.formats.query.submissions_2018.manifest_2018 import FILE_NAME as CROWDAI_NAME


class Query(EngineFormat):
    """See `EngineFormat`."""

    name = "query"
    manifests = (MANIFEST_NAME, CROWDAI_NAME)
    first_submissions: ClassVar[Mapping[str, FirstSubmission]] = {
        "model": FirstSubmission("numpy-classifier", "--model . --attack gaussian-noise"),
        "untargeted": FirstSubmission("gaussian-noise", "--model numpy-classifier --attack ."),
        "targeted": FirstSubmission("targeted-interpolation", "--model numpy-classifier --attack ."),
    }

    def bundled(self) -> tuple[Baseline, ...]:
        return baselines()

    def templates(self) -> tuple[QueryTemplate, ...]:
        return query_templates()

    def retitle(self, manifest: str, title: str) -> str:
        value = json.dumps(title, ensure_ascii=False)  # TOML writes a basic string like JSON
        manifest = re.sub(r"(?m)^title = .*$", lambda _: f"title = {value}", manifest)
        parse_manifest(manifest.encode())
        return manifest
