"""The development samples of a competition as an archive."""

from __future__ import annotations

import io
import re
import zipfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from django.test import Client

from accounts.models import User
from competitions import sample_archive
from competitions.models import Competition, Organiser, SampleSet
from competitions.sample_store import samples_of
from core.concurrent_archive_limit import AT_A_TIME, making_archive
from evaluation.datasets.load import load_dataset

ADDRESS = "/competitions/digits/development.zip"


def downloaded(client: Client) -> bytes:
    return bytes(client.get(ADDRESS).getvalue())


def test_the_downloaded_archive_loads_as_the_samples_of_the_site(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet], tmp_path: Path
) -> None:
    """`gauntlet` reads what the page links to, and loads the site's own samples."""
    Competition.objects.update(data_source="From UCI, under CC BY 4.0.")
    assert f'href="{ADDRESS}"' in client.get("/competitions/digits/data").content.decode()
    path = tmp_path / "development.zip"
    path.write_bytes(downloaded(client))
    dataset = load_dataset(f"released:{path}")
    expected = samples_of(sample_sets["development"])
    found = dataset.samples("round")
    assert [(each.label, each.target) for each in found] == [(each.label, each.target) for each in expected]
    assert all(np.array_equal(a.image, b.image) for a, b in zip(found, expected, strict=True))
    assert dataset.class_names == tuple(map(str, range(10)))
    with zipfile.ZipFile(path) as archive:
        assert "From UCI, under CC BY 4.0." in archive.read("LICENCE.md").decode()


def test_it_is_made_once_and_again_when_its_licence_changes(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    make = sample_archive._development_archive

    def counted(samples: SampleSet, licence: str) -> bytes:
        made.append(licence)
        return make(samples, licence)

    monkeypatch.setattr(sample_archive, "_development_archive", counted)
    assert downloaded(client) == downloaded(client)
    assert len(made) == 1
    Competition.objects.update(data_source="Another licence.")
    with zipfile.ZipFile(io.BytesIO(downloaded(client))) as archive:
        assert "Another licence." in archive.read("LICENCE.md").decode()
    assert len(made) == 2


def test_few_are_made_at_a_time(client: Client, competition: Competition, sample_sets: dict[str, SampleSet]) -> None:
    with ExitStack() as others:
        for _ in range(AT_A_TIME):
            others.enter_context(making_archive())
        assert (client.get(ADDRESS).status_code, client.get(ADDRESS)["Retry-After"]) == (503, "30")
        assert client.get("/competitions/digits/data").status_code == 200
    content = downloaded(client)
    with ExitStack() as others:
        for _ in range(AT_A_TIME):
            others.enter_context(making_archive())
        assert downloaded(client) == content, "a stored archive is not made again"


def test_only_people_who_see_the_competition_get_it(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet], alice: User, olga: User
) -> None:
    Competition.objects.update(public=False)
    assert client.get(ADDRESS).status_code == 404
    client.force_login(alice)
    assert client.get(ADDRESS).status_code == 404
    assert Organiser.objects.filter(user=olga).exists()
    client.force_login(olga)
    assert downloaded(client)


def test_without_samples_there_is_none(client: Client, competition: Competition) -> None:
    assert client.get(ADDRESS).status_code == 404


def test_its_loaders_load_it(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet], tmp_path: Path
) -> None:
    """Those of numpy and PyTorch run; that of TensorFlow, which is not installed, is Python."""
    with zipfile.ZipFile(io.BytesIO(downloaded(client))) as archive:
        archive.extractall(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (tmp_path / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    by_numpy, by_torch, by_tensorflow = (block.replace('load(".")', f'load("{tmp_path}")') for block in blocks)
    names: dict[str, object] = {}
    exec(by_numpy + by_torch, names)  # noqa: S102 - the README of this repository
    dataset = names["dataset"]
    expected = samples_of(sample_sets["development"])
    assert [int(label) for _, label, _ in dataset] == [each.label for each in expected]  # type: ignore[attr-defined]
    first = dataset[0][0].permute(1, 2, 0).numpy() * 255  # type: ignore[index]
    np.testing.assert_allclose(first, expected[0].image, atol=1e-3)
    compile(by_tensorflow, "README.md", "exec")
