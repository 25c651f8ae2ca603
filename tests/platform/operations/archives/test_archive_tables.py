"""Every table, JSON column and digest has a decision: what an archive does with it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.apps import apps
from django.db.models import CharField, JSONField, Model

from accounts.models import Team, User
from competitions.models import Competition
from core.models import Event
from operations.archives.archive_tables import LEFT_OUT, Tables

EXPORTED = {
    "accounts": "Membership Team User",
    "challenges": "Challenge",
    "competitions": "Announcement Competition CompetitionOrigin Entry FreezeWindow FrozenLeaderboards Organiser Page "
    "RulesVersion SampleSet TermsAcceptance TermsVersion Track",
    "core": "Event",
    "curves_format": "Benchmark Improvement ModelScore Proof",
    "leaderboards": "Evaluation Evaluation_matches Pool PoolPlace Rejudging Resamples Snapshot Standing "
    "SubmissionChoice",
    "matches": "Match Piece SampleResult",
    "query_rounds": "Decision GonePlayer RoundMatch RoundPool RoundStage RoundWarning",
    "repositories": "Repository",
    "rounds": "Objection Release Round RoundEntry",
    "submissions": "Build LogChunk Player QuotaSlot Submission",
    "tournaments": "AttackRun DefenceRun Entrant PairTotal RepeatRun Tournament",
}
"""The tables of which somebody decided that another site may have every column, but for those that are cleared."""

JSON_WITHOUT_KEYS = {
    "challenges.Challenge.results",
    "competitions.CompetitionOrigin.signing_keys",
    "competitions.FreezeWindow.earlier_values",
    "competitions.RulesVersion.values",
    "competitions.SampleSet.class_names",
    "competitions.Track.baselines",
    "competitions.Track.own_baselines",
    "core.Event.data",  # `RowWriter` has its keys
    "curves_format.ModelScore.budgets",
    "curves_format.ModelScore.curve",
    "curves_format.Proof.verdicts",
    "matches.Match.audit",
    "matches.Piece.audit",
    "matches.Piece.failures",
    "query_rounds.RoundStage.counted",
    "query_rounds.RoundStage.panel",
    "submissions.Build.checks",
    "submissions.Player.command",
    "tournaments.AttackRun.hashes",
    "tournaments.AttackRun.notes",
    "tournaments.DefenceRun.labels",
    "tournaments.DefenceRun.rows",
    "tournaments.RepeatRun.labels",
}

DIGESTS_OF_NO_OBJECT = {
    "competitions.Competition.seed_salt",
    "competitions.TermsVersion.digest",
    "rounds.Objection.outcome",
    "rounds.Release.key",
    "rounds.Round.commitment",
    "rounds.Round.field_commitment",
    "rounds.Round.field_salt",
    "rounds.Round.salt",
    "submissions.Player.commit",
    "submissions.QuotaSlot.commit",
    "submissions.Submission.commit",
}


def leading_to_a_competition() -> Iterator[type[Model]]:
    """Yield the tables with a path of foreign keys to a competition or a team."""
    found: set[type[Model]] = {Competition, Team}
    models = apps.get_models(include_auto_created=True)
    for _ in models:
        found |= {
            model
            for model in models
            if any(field.remote_field and field.remote_field.model in found for field in model._meta.concrete_fields)
        }
    yield from found


def of_archives() -> set[type[Model]]:
    return {table.model for table in Tables().ordered}


def test_every_table_of_a_competition_is_exported_or_left_out_for_a_reason() -> None:
    decided = {f"{app}.{name}" for app, names in EXPORTED.items() for name in names.split()}
    assert {model._meta.label for model in of_archives()} == decided
    assert set(leading_to_a_competition()) == (of_archives() | LEFT_OUT.keys()) - {User, Event}
    assert all(LEFT_OUT.values())


def test_of_people_an_archive_has_the_name_alone() -> None:
    assert [column.name for column in Tables().columns(User)] == ["username"]


def test_every_json_column_is_renamed_or_has_no_key() -> None:
    tables = Tables()
    json = {
        column
        for model in of_archives()
        for column in tables.columns(model)
        if isinstance(column, JSONField) and column.name not in tables.keys_in(model)
    }
    assert {f"{column.model._meta.label}.{column.name}" for column in json} == JSON_WITHOUT_KEYS


def test_every_digest_names_an_object_or_something_else() -> None:
    tables = Tables()
    objects = {(each.model, each.column) for each in tables.objects}
    digests = {
        f"{model._meta.label}.{column.name}"
        for model in of_archives()
        for column in tables.columns(model)
        if isinstance(column, CharField) and column.max_length == 64 and (model, column.name) not in objects
    }
    assert digests == DIGESTS_OF_NO_OBJECT


def test_a_table_comes_after_those_that_its_rows_name() -> None:
    tables = Tables()
    place = {table.model: number for number, table in enumerate(tables.ordered)}
    for table in tables.ordered:
        named = {column.remote_field.model for column in tables.columns(table.model) if column.remote_field}
        named |= {model for each in tables.keys_in(table.model).values() for one in each for model in one.models}
        assert all(place[other] < place[table.model] for other in named - {table.model}), table.label


def test_no_archive_has_a_column_that_sounds_like_a_secret_of_the_site_or_of_a_person() -> None:
    names = {f"{m._meta.label}.{c.name}" for m in of_archives() for c in Tables().columns(m)}
    assert not {name for name in names if re.search(r"password|token|email|nonce|session|host|worker$", name)}
