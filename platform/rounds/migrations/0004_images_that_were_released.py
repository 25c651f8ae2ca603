from __future__ import annotations

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def note_released_images(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Note of the sample sets whose images rounds released that they are public, those withdrawn since too."""
    released = apps.get_model("rounds", "Release").objects.filter(part__in=["images", "perturbed"])
    sample_sets = apps.get_model("competitions", "SampleSet").objects
    for sample_set, at in released.order_by("-released_at").values_list("round__sample_set", "released_at"):
        sample_sets.filter(pk=sample_set).update(images_public_since=at)


class Migration(migrations.Migration):
    dependencies = [
        ("rounds", "0003_rank_intervals_and_prize_places"),
        ("competitions", "0005_images_public_since"),
    ]

    operations = [migrations.RunPython(note_released_images, migrations.RunPython.noop)]
