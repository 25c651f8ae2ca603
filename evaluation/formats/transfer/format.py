"""The transfer format, for the commands."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

from evaluation.formats.base import EngineFormat, FirstSubmission
from evaluation.formats.transfer.catalogue import TransferBaseline, transfer_baselines
from evaluation.formats.transfer.metadata import METADATA_NAME, parse_metadata
from evaluation.formats.transfer.submission_templates import TransferTemplate, transfer_templates


class Transfer(EngineFormat):
    """See `EngineFormat`."""

    name = "transfer"
    manifests = (METADATA_NAME,)
    first_submissions: ClassVar[Mapping[str, FirstSubmission]] = {
        "attack": FirstSubmission("random-noise", "--format transfer --attack . --defence base-network"),
        "targeted_attack": FirstSubmission("step-target-class", "--format transfer --attack . --defence base-network"),
        "defence": FirstSubmission("base-network", "--format transfer --attack fgsm --defence ."),
    }

    def bundled(self) -> tuple[TransferBaseline, ...]:
        return transfer_baselines()

    def templates(self) -> tuple[TransferTemplate, ...]:
        return transfer_templates()

    def retitle(self, manifest: str, title: str) -> str:
        manifest = json.dumps(json.loads(manifest) | {"title": title}, indent=2, ensure_ascii=False) + "\n"
        parse_metadata(manifest.encode())
        return manifest
