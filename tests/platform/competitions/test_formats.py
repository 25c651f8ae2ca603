"""What every format says about competitions, and the reader of its rules."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from competitions.formats import (
    TrackSide,
    TrackSpec,
    competition_formats,
    format_choices,
    track_choices,
    track_title,
)
from competitions.models import Competition, RulesVersion, Track
from competitions.rules import LEAST_ACCURACY, check_rules, format_of
from competitions.rules_reader import RuleKind, RulesReader
from competitions.services import import_competition
from core.errors import Refusal
from core.parts_by_format import ByFormat
from evaluation.domain.images import ImageShape
from evaluation.formats.registry import format_called, formats
from submissions.models import Player
from tests.platform.formats.transfer.tournaments.conftest import content


@dataclass(frozen=True)
class ToyRules:
    """Rules of a format that exists only here."""

    name: str = "toy"
    version: int = 1
    format: str = "toy"
    shape: ImageShape = ImageShape(2, 2, 3)
    classes: int = 10
    share: float = 0.5
    days: tuple[str, ...] = ("monday",)

    def __post_init__(self) -> None:
        if self.classes > 20:
            raise ValueError("classes must be at most 20")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


TOY = RulesReader(
    ToyRules,
    site_values={LEAST_ACCURACY: 0.25},
    kinds={"days": RuleKind(lambda value: isinstance(value, list) and bool(value), tuple)},
)


@pytest.fixture(params=[each.name for each in formats])
def name(request: pytest.FixtureRequest) -> str:
    """The name of each format."""
    return str(request.param)


def test_rules_are_read_as_those_of_their_format_alone(name: str) -> None:
    version = RulesVersion(values={"format": name}, version=1)
    assert version.rules_as(type(version.engine_rules)) is version.engine_rules
    with pytest.raises(Refusal, match=f"these rules are of the {name} format") as refused:
        version.rules_as(ToyRules)
    assert refused.value.fix == "use a competition of the toy format"


def test_the_site_has_the_formats_and_tracks_of_the_engine(name: str) -> None:
    assert list(competition_formats)[: len(formats)] == [each.name for each in formats]
    tracks = competition_formats[name].tracks
    assert [track.name for track in tracks] == list(format_called(name).first_submissions)
    assert {track.side for track in tracks} == set(TrackSide)


def test_rules_without_values_are_those_of_the_competition_that_had_them_first(name: str) -> None:
    reader = competition_formats[name].rules
    rules = reader.read({}, 3)
    assert (rules.format, rules.version) == (name, 3)
    assert LEAST_ACCURACY in reader.site_values
    assert reader.names == set(rules.as_dict()) - {"version"} | set(reader.site_values)
    again = {key: value for key, value in json.loads(json.dumps(rules.as_dict())).items() if key != "version"}
    assert reader.read(again, 3) == rules, "a file can write every value that JSON shows"


def test_choices_come_from_the_registry() -> None:
    assert [name for name, _ in format_choices()] == list(competition_formats)
    tracks = [track.name for each in competition_formats for track in competition_formats[each].tracks]
    assert [name for name, _ in track_choices()] == list(dict.fromkeys(tracks))
    assert Track(name="targeted_attack").get_name_display() == "targeted attack"
    assert Competition(format="transfer").get_format_display().startswith("transfer: ")
    assert Competition().format == "query"


@pytest.fixture
def third_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that is registered beside the query format, and has one of its names of tracks."""
    parts: ByFormat[Any] = ByFormat()
    parts.register("query", competition_formats["query"])
    tracks = (TrackSpec("model", "toy model", TrackSide.DEFENCE), TrackSpec("noise", "toy noise", TrackSide.ATTACK))
    parts.register("toy", SimpleNamespace(title="toys", tracks=tracks))
    monkeypatch.setattr("competitions.formats.competition_formats", parts)


def test_competitions_tracks_and_players_may_have_a_third_format(third_format: None) -> None:
    fields = Competition._meta.get_field("format"), Track._meta.get_field("name"), Player._meta.get_field("track_name")
    for field, choice in zip(fields, [("toy", "toys"), ("noise", "toy noise"), ("noise", "toy noise")], strict=True):
        assert choice in (field.choices or ())


def test_two_formats_may_have_tracks_of_one_name(third_format: None) -> None:
    assert dict(track_choices())["model"] == "model"
    assert track_title(Competition(format="query"), "model") == "model"
    assert track_title(Competition(format="toy"), "model") == "toy model"


@pytest.mark.parametrize("value", ["chess", ["query"], {"query": 1}, 1, None])
def test_an_unknown_format_is_refused(value: object) -> None:
    with pytest.raises(Refusal, match="the rule format is") as refusal:
        check_rules({"format": value})
    assert refusal.value.fix == "use one of: query, transfer, curves"
    assert format_of({}) == "query"


def test_an_opponent_of_smoke_tests_is_refused_where_the_format_has_none(db: None) -> None:
    document = content()
    document["competition"]["smoke_opponent"] = "numpy-classifier"
    with pytest.raises(
        Refusal, match=r"\[competition\] smoke_opponent: no smoke test of the transfer format"
    ) as refusal:
        import_competition(document)
    assert refusal.value.fix == "remove the line"


def test_a_reader_takes_values_of_the_types_of_the_defaults() -> None:
    values = {"share": 1, "days": ["friday"], "shape": [4, 4, 1], "classes": 3, LEAST_ACCURACY: 0.1}
    expected = ToyRules(version=2, share=1, days=("friday",), shape=ImageShape(4, 4, 1), classes=3)
    assert TOY.read(values, 2) == expected


@pytest.mark.parametrize(
    ("values", "problem", "fix"),
    [
        ({"epsilons": [1]}, "unknown rules: epsilons", "use only: classes, days, "),
        ({"version": 2}, "unknown rules: version", "use only: "),
        ({"share": 0}, "the rule share is 0", "give a value like 0.5"),
        ({"share": float("inf")}, "the rule share is inf", "give a value like 0.5"),
        ({"share": True}, "the rule share is True", "give a value like 0.5"),
        ({"classes": True}, "the rule classes is True", "give a value like 10"),
        ({"classes": 0}, "the rule classes is 0", "give a value like 10"),
        ({"classes": 21}, "the rules are not valid: classes must be at most 20", "correct the value"),
        ({"days": []}, r"the rule days is \[\]", "give a value like ['monday']"),
        ({"shape": [4, 4]}, r"the rule shape is \[4, 4\]", "give a value like [2, 2, 3]"),
        ({"name": 1}, "the rule name is 1", "give a value like 'toy'"),
        ({"format": "query"}, "the rule format is 'query'", "give a value like 'toy'"),
    ],
)
def test_a_reader_names_a_wrong_value_and_a_right_one(values: dict[str, Any], problem: str, fix: str) -> None:
    with pytest.raises(Refusal, match=problem) as refusal:
        TOY.read(values, 1)
    assert refusal.value.fix.startswith(fix)
