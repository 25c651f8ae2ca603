"""No app names a higher app's task or relation, not even in a string, where import-linter does not see it.

Lower apps send signals and ask extension points; higher apps answer in their `extensions.py`.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

SAME_WORD = {
    ("accounts/models.py", "submissions"),  # reserved addresses
    ("accounts/models.py", "rounds"),
    *(("accounts/models.py", name) for name in ("challenges", "matches")),
    ("workers/models.py", "round"),  # the label of a priority
    ("api/round_views.py", "standings"),  # of a round, in any format
    ("api/round_views.py", "warnings"),
    ("api/round_act_views.py", "warnings"),  # of a preview
    ("api/round_views.py", "decisions"),  # methods of a format, and the addresses of what they answer
    ("api/submission_views.py", "evaluations"),
    ("api/match_views.py", "matches"),
    ("api/challenge_views.py", "challenges"),
    *(("api/urls.py", name) for name in ("challenges", "decisions", "evaluations", "matches")),
    *((f"pages/manual/{name}.py", "decisions") for name in ("documents", "views")),  # of this project
    ("pages/team/team_page_data.py", "standings"),
    ("pages/team/views.py", "standings"),
    *(
        (f"competitions/{name}.py", "rounds")  # of a file
        for name in ("clone_page", "import_preview", "services", "shifted_dates", "competition_file_reader")
    ),
    ("competitions/season_costs.py", "submissions"),  # a number of them
    ("pages/column_leaderboard_pages.py", "standings"),
    ("rounds/running/dashboard_data.py", "standings"),
}


def ranks(root: Path) -> dict[str, int]:
    """The place of each package and of each label of an app in the import contract, from the lowest."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"].startswith("Site: apps"))
    rank = {app.partition(".")[0]: rank for rank, layer in enumerate(reversed(layers)) for app in layer.split(" | ")}
    return rank | {
        app.label: rank[app.name.partition(".")[0]] for app in apps.get_app_configs() if _own(app.name, rank)
    }


def _own(name: str, rank: dict[str, int]) -> bool:
    return name.partition(".")[0] in rank


def relations(rank: dict[str, int]) -> dict[str, tuple[int, int]]:
    """The names of relations between apps: the rank of the app that makes each, and of the lowest that has the name.

    A name that an app, or a lower one, has for something of its own as well cannot be told apart there.
    """
    upward: dict[str, int] = {}
    lowest: dict[str, int] = {}
    for model in apps.get_models():
        place = rank.get(model._meta.app_label, -1)
        for field in model._meta.get_fields():
            related = field.related_model if field.auto_created and not field.concrete else None
            maker = rank.get(related._meta.app_label, -1) if isinstance(related, type) else place
            if maker > place > -1:
                upward[field.name] = maker
            else:
                lowest[field.name] = min(place, lowest.get(field.name, place))
    return {name: (maker, lowest.get(name, maker)) for name, maker in upward.items()}


def words_of(node: ast.AST) -> list[str]:
    """The names in a string, a keyword (split at "__", as lookups are) or an attribute."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[a-z_]+", node.value):
        return node.value.split("__")
    if isinstance(node, ast.keyword) and node.arg:
        return node.arg.split("__")
    return [node.attr] if isinstance(node, ast.Attribute) else []


def upward_references(
    file: str, source: str, rank: dict[str, int], relation: dict[str, tuple[int, int]]
) -> Iterator[str]:
    """Each name of a higher app in the source of `file`, a path below `platform/`."""
    place = rank[file.split("/")[0]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            task = re.fullmatch(r"([a-z]+)\.\w+", node.value)
            if task and rank.get(task[1], -1) > place:
                yield f"{file}: {node.value}"
        for word in words_of(node):
            if min(relation.get(word, (-1, -1))) > place and (file, word) not in SAME_WORD:
                yield f"{file}: {word}"


def test_no_app_names_a_higher_one(root: Path) -> None:
    rank = ranks(root)
    relation = relations(rank)
    found = [
        reference
        for path in sorted((root / "platform").rglob("*.py"))
        if "migrations" not in path.parts
        for reference in upward_references(
            path.relative_to(root / "platform").as_posix(), path.read_text(), rank, relation
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('notify("leaderboards.score")', "leaderboards.score"),
        ('models.ForeignKey("rounds.Round")', "rounds.Round"),
        ("Player.objects.filter(pool_places__isnull=False)", "pool_places"),
        ('Player.objects.order_by("round_entries__round__title")', "round_entries"),
        ("submission.evaluations.exists()", "evaluations"),
        ('hasattr(window, "round")', "round"),
        ('counts = ("matches_as_model",)', "matches_as_model"),
    ],
)
def test_it_finds_a_planted_one(root: Path, source: str, found: str) -> None:
    rank = ranks(root)
    references = list(upward_references("submissions/planted.py", source, rank, relations(rank)))
    assert f"submissions/planted.py: {found}" in references
    assert not list(upward_references("formats/query/planted.py", source, rank, relations(rank)))
