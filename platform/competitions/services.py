"""Import and export of competitions, entries and organisers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import IntegrityError, transaction

from accounts import services as accounts
from accounts.models import RESERVED_SLUGS, Team, User
from competitions import competition_file_reader as file
from competitions.baseline_files import keep_baseline, own_baseline, with_own_baselines
from competitions.extension_points import described_rounds, drawn_for_rounds, owns_window, planned_rounds
from competitions.formats import competition_formats
from competitions.freeze_windows import check_free, is_known
from competitions.models import (
    Competition,
    Entry,
    FreezeWindow,
    RulesVersion,
    SampleSet,
    Track,
    new_seed_salt,
)
from competitions.page_texts_in_file import save_pages, written_pages
from competitions.permissions import may, require_not_archived
from competitions.rules_changes import add_rules_version, require_fitting_rules
from competitions.sample_set_selectors import described_sets, overlapping
from competitions.sample_store import keep_samples
from competitions.selectors import effective_windows, other_team
from competitions.terms import accept_terms
from core import clock, event_log
from core.errors import Refusal
from core.roles import Right
from core.time_format import in_words


def import_competition(
    document: Mapping[str, Any],
    *,
    by: User | None = None,
    new_salt: Callable[[], str] = new_seed_salt,
    seen: str | None = None,
) -> Competition:
    """Create or update the competition that a parsed file describes, in one transaction. Safe to repeat.

    Changed rules and terms become the next version. Sample sets never change. Freeze windows are only added; a window
    that an organiser changed since stays as it is. Rounds that are not planned yet are planned. Pages that the file
    does not name stay. `new_salt` makes the secret salt of a new competition. `seen` is the `state_of` the competition
    that a person saw in a preview. Raise `Refusal` naming the places in the file and the fixes, or if the competition
    has changed since the preview.
    """
    read = file.read(document)
    if read.slug in RESERVED_SLUGS and not Competition.objects.filter(slug=read.slug).exists():
        raise Refusal(f"[competition] slug: {read.slug!r} is reserved", fix="choose another slug")
    known = Competition.objects.filter(slug=read.slug).values_list("seed_salt", flat=True).first()
    salt = known or new_salt()
    kept = _keep_new_samples(read, salt)  # outside the transaction, since reading images is slow
    about = read.about | {"smoke_opponent_digest": _keep_opponent(read)}
    tracks = {name: values | {"own_baselines": _keep_baselines(read, name)} for name, values in read.tracks.items()}
    now = clock.now()
    with transaction.atomic():
        if seen is not None:
            list(Competition.objects.select_for_update().filter(slug=read.slug).values_list("pk"))
            require_state(read.slug, seen)
        competition, _ = Competition.objects.update_or_create(
            slug=read.slug, defaults=about, create_defaults=about | {"created_at": now, "seed_salt": salt}
        )
        require_not_archived(competition)
        if competition.seed_salt != salt:  # the parts of two secret orders would overlap
            raise Refusal(f"{read.slug} was imported by somebody else at the same time", fix="import the file again")
        if read.rounds:  # their sample sets are locked before tracks, which an update locks
            list(competition.sample_sets.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        for track_name, values in tracks.items():
            Track.objects.update_or_create(competition=competition, name=track_name, defaults=values)
        _save_rules(competition, read, by)
        for values in read.sample_sets:
            if not competition.sample_sets.filter(name=values["name"]).exists():
                digest, class_names = kept[values["name"]]
                row = competition.sample_sets.create(
                    **values, digest=digest, class_names=list(class_names), imported_at=now
                )
                try:
                    require_secret_images(row)
                except Refusal as refusal:
                    raise Refusal(f"[[sample_sets]] {row.name}: {refusal.problem}", fix=refusal.fix) from refusal
        _save_windows(competition, read)
        planned_rounds.answers(competition, read.rounds, by)
        save_pages(competition, read.pages, by)
        event_log.record("import", competition, by=by, slug=read.slug)
    return competition


def state_of(slug: str) -> str:
    """Return a digest of all that an import can change of a competition, "" if there is none."""
    competition = Competition.objects.filter(slug=slug).first()
    if competition is None:
        return ""
    newest = competition.rules_versions.order_by("-version").values_list("version", flat=True).first()
    content = json.dumps([newest, export_competition(competition)], sort_keys=True, default=str)
    return sha256(content.encode()).hexdigest()


def require_state(slug: str, seen: str) -> None:
    """Raise `Refusal` unless the competition is as somebody has `seen` it."""
    if state_of(slug) != seen:
        raise Refusal(
            f"{slug} has changed since the preview",
            fix="look at the new preview, and confirm that one",
        )


def check_sample_set(row: SampleSet, values: Mapping[str, Any], place: str) -> None:
    """Raise `Refusal` if a file describes the set `row` by other `values`, or the site has drawn it."""
    if row.drawn_from_id is not None:
        raise Refusal(f"{place}: a set of a round has this name", fix="choose another name")
    if row.replaces_id is not None:
        raise Refusal(f"{place}: a validation set drawn by the site has this name", fix="choose another name")
    if _values(row, file.SAMPLE_SET) != values:
        raise Refusal(f"{place}: an imported set cannot be changed", fix="give the new set another name")


def export_competition(competition: Competition) -> dict[str, Any]:
    """Return the content of a file that describes the competition; importing it changes nothing."""
    rules = competition.rules_versions.order_by("-version").first()
    values = dict(rules.values) if rules else {}
    if rules and rules.note:
        values["note"] = rules.note
    written: dict[str, Any] = {
        "competition": _without_defaults(_values(competition, file.ABOUT)),
        "rules": values,
        "tracks": {track.name: _track_table(track) for track in competition.tracks.all()},
        "sample_sets": [_without_defaults(_values(row, file.SAMPLE_SET)) for row in described_sets(competition)],
    }
    windows = [window for window in effective_windows(competition) if not any(owns_window.answers(window))]
    if windows:
        written["freeze_windows"] = [_values(window, file.WINDOW) for window in windows]
    if rounds := [table for tables in described_rounds.answers(competition) for table in tables]:
        written["rounds"] = rounds
    if pages := written_pages(competition):
        written["pages"] = pages
    return written


def enter(*, team: Team, competition: Competition) -> Entry:
    """Enter the team.

    Raise `Refusal` after the end, in an archived competition, for a second entry, and if a member is in another team,
    has a role here or is a superuser.
    """
    if clock.now() >= competition.ends_at:
        raise Refusal(f"{competition} has ended", fix="enter another competition")
    require_not_archived(competition)
    with transaction.atomic():
        Team.objects.select_for_update(no_key=True).get(pk=team.pk)
        try:
            with transaction.atomic():
                entry = Entry.objects.create(team=team, competition=competition, joined_at=clock.now())
        except IntegrityError as error:
            raise Refusal(f"{team} already takes part in a competition", fix="create another team") from error
        for user in User.objects.filter(memberships__team=team).order_by("pk"):
            _require_no_other_team(user, entry)
            if may(user, competition, Right.SEE):
                raise Refusal(f"organisers of {competition} cannot compete in it", fix="enter another competition")
        event_log.record("enter", entry, team=team.pk, competition=competition.pk)
    return entry


def make_team(*, slug: str, name: str, captain: User, competition: Competition, terms: str = "") -> Entry:
    """Create a team and enter it, in one transaction; `terms` is the digest of the terms that the captain accepts.

    Raise `Refusal` as `create_team`, `enter` and `accept_terms` do.
    """
    with transaction.atomic():
        team = accounts.create_team(slug=slug, name=name, captain=captain)
        entry = enter(team=team, competition=competition)
        accept_terms(entry=entry, digest=terms, by=captain)
    return entry


def _require_no_other_team(user: User, entry: Entry) -> None:
    """Lock the person's row, so that of two concurrent entries the second sees the first."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if other := other_team(user, entry):
        raise Refusal(
            f"{user} is already in the team {other} ({other.slug}) of {entry.competition}",
            fix="ask that team's captain to remove them; a person can be in one team per competition",
        )


def _keep_new_samples(read: file.Document, salt: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    present = {row.name: row for row in SampleSet.objects.filter(competition__slug=read.slug)}
    kept = {}
    for number, values in enumerate(read.sample_sets, 1):
        place = f"[[sample_sets]] number {number} ({values['name']})"
        row = present.get(values["name"])
        if row is None:
            arguments = {key: values[key] for key in ("source", "split", "skip", "count", "target_seed")}
            if values["order"] == SampleSet.Order.SECRET:
                arguments["salt"] = f"{salt} {values['split']}"
            try:
                kept[values["name"]] = keep_samples(**arguments, rules=read.engine_rules(1))
            except Refusal as refusal:
                raise Refusal(f"{place}: {refusal.problem}", fix=refusal.fix) from refusal
        else:
            check_sample_set(row, values, place)
    return kept


def require_secret_images(row: SampleSet) -> None:
    """Raise `Refusal` where an image would be secret and public: in a set whose images were released, or in a round.

    The result is valid until the current transaction ends, for rounds of the competition of `row`.
    """
    Competition.objects.select_for_update(no_key=True).get(pk=row.competition_id)
    if row.secret:
        released = SampleSet.objects.exclude(images_public_since=None)
        if (other := overlapping(row, released)) and other.images_public_since:
            raise Refusal(
                f"it shares images with {other}, public since {in_words(other.images_public_since)}",
                fix="choose other samples: another split, or a larger skip",
            )
        return
    for drawn in drawn_for_rounds.answers():
        if other := overlapping(row, drawn):
            raise Refusal(
                f"it would make images public with which a round is still to be played, those of {other}",
                fix="choose other samples, or wait until the round is published or cancelled",
            )


def _keep_opponent(read: file.Document) -> str:
    """Store the opponent that the file names, if it is a directory, and return its digest.

    For a directory that was stored before and is not on this host, return the stored digest.
    """
    name = read.about["smoke_opponent"]
    before = Competition.objects.filter(slug=read.slug, smoke_opponent=name).first()
    if not name:
        return ""
    if before is not None and before.smoke_opponent_digest and not Path(name).expanduser().is_dir():
        return before.smoke_opponent_digest
    try:
        return competition_formats[read.about["format"]].keep_opponent(name)
    except Refusal as refusal:
        raise Refusal(f"[competition] smoke_opponent: {refusal.problem}", fix=refusal.fix) from refusal


def _keep_baselines(read: file.Document, track_name: str) -> dict[str, Any]:
    """Store the directories that a track lists as baselines; return its column of them.

    One that was stored before and is not on this host stays as it is. Raise `Refusal` naming the track and the fix.
    """
    track = Track.objects.filter(competition__slug=read.slug, name=track_name).first()
    before = track.own_baselines if track else {}
    checks = competition_formats[read.about["format"]]
    given = {}
    try:
        for name, directory in read.tracks[track_name]["own_baselines"].items():
            source = Path(directory).expanduser()
            if source.is_dir():
                checks.check_baseline(track_name, source, read.engine_rules(1))
                given[name] = keep_baseline(directory)
            elif name not in before:
                raise Refusal(f"{directory} is no directory", fix="give the directory of a submission on this host")
        return with_own_baselines(before, given)
    except Refusal as refusal:
        raise Refusal(f"[tracks.{track_name}] baselines: {refusal.problem}", fix=refusal.fix) from refusal


def _track_table(track: Track) -> dict[str, Any]:
    """Return a track as a file has it, with directories as they were given."""
    values = _values(track, file.TRACK)
    own = {name: own_baseline(track, name) for name in track.baselines}
    return values | {"baselines": [kept.directory if kept else name for name, kept in own.items()]}


def _save_rules(competition: Competition, read: file.Document, by: User | None) -> None:
    newest = competition.rules_versions.order_by("-version").first()
    if newest is not None and newest.values == read.rules:
        if read.note is not None:
            RulesVersion.objects.filter(pk=newest.pk).update(note=read.note)
        return
    require_fitting_rules(competition, read.rules)
    add_rules_version(competition, newest, read.rules, note=read.note or "", by=by)


def _save_windows(competition: Competition, read: file.Document) -> None:
    for number, values in enumerate(read.freeze_windows, 1):
        if not is_known(competition, values):
            window = FreezeWindow(competition=competition, **values)
            try:
                check_free(window)
            except Refusal as refusal:
                raise Refusal(f"[[freeze_windows]] number {number}: {refusal.problem}", fix=refusal.fix) from refusal
            window.save()


def _without_defaults(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value
        for key, value in values.items()
        if key not in file.OMITTED_DEFAULTS or value != file.OMITTED_DEFAULTS[key]
    }


def _values(row: Any, columns: tuple[str, ...]) -> dict[str, Any]:
    found = {column: getattr(row, column) for column in columns}
    return {key: value.replace("\r\n", "\n") if isinstance(value, str) else value for key, value in found.items()}
