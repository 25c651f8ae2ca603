"""Fixtures for tests of competitions: sets that rounds draw from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from competitions.models import Competition, RulesVersion, SampleSet
from competitions.sample_store import keep_samples
from evaluation.formats.query.rules import QueryRules


@pytest.fixture
def keep_set(competition: Competition, rules: RulesVersion) -> Callable[..., SampleSet]:
    """Factory that imports digits for a purpose."""

    def keep(name: str, split: str, purpose: str = "test", count: int = 12) -> SampleSet:
        digest, class_names = keep_samples(
            source="digits", split=split, count=count, target_seed=7, rules=rules.rules_as(QueryRules)
        )
        return SampleSet.objects.create(
            competition=competition,
            name=name,
            purpose=purpose,
            source="digits",
            split=split,
            count=count,
            target_seed=7,
            digest=digest,
            class_names=list(class_names),
            imported_at=competition.created_at,
        )

    return keep


@pytest.fixture
def source(keep_set: Callable[..., SampleSet]) -> SampleSet:
    """Twelve secret samples."""
    return keep_set("test-1", "test-1")
