"""Take the titles of opponents out of scores: they follow from the players, whose titles may be hidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import migrations

_AT_ONCE = 500


def take_titles_out(apps: Any, schema_editor: Any) -> None:
    """Remove the titles from the rows of every evaluation."""
    _change_rows(apps, lambda row: row.pop("title", None))


def put_titles_back(apps: Any, schema_editor: Any) -> None:
    """Add the titles of the players again."""
    titles = dict(apps.get_model("submissions", "Player").objects.values_list("pk", "title"))
    _change_rows(apps, lambda row: row.update(title=titles[row["player"]]))


def _change_rows(apps: Any, change: Callable[[dict[str, Any]], object]) -> None:
    evaluations = apps.get_model("leaderboards", "Evaluation").objects
    keys = list(evaluations.exclude(per_opponent=[]).order_by("pk").values_list("pk", flat=True))
    for first in range(0, len(keys), _AT_ONCE):
        some = list(evaluations.filter(pk__in=keys[first : first + _AT_ONCE]).only("per_opponent"))
        for evaluation in some:
            for row in evaluation.per_opponent:
                change(row)
        evaluations.bulk_update(some, ["per_opponent"])


class Migration(migrations.Migration):
    dependencies = [("leaderboards", "0005_standing_tried"), ("submissions", "0011_hidden_submissions")]

    operations = [migrations.RunPython(take_titles_out, put_titles_back)]
