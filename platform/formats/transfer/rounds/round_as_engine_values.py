"""Adapter: the rows of a round of the transfer format as values of the engine."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import IO

from competitions.models import RulesVersion, Track
from competitions.origin import signed_slug
from competitions.pseudonyms import public_name
from competitions.sample_store import sample_hashes, samples_of
from core import object_store
from core.errors import Fault
from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.sample_hash import NO_TARGET
from evaluation.formats.transfer.bundle.reader import written_version
from evaluation.formats.transfer.bundle.size_check import check_size as check_outcome_size
from evaluation.formats.transfer.bundle.writer import (
    NARROW_FIELD,
    VERSION,
    BundleAttackRun,
    BundleBatch,
    BundleEntrant,
    BundleLabels,
    Placed,
    TransferHead,
    TransferRecord,
    pairs_of,
    places_of,
    transfer_field_commitment,
    write_body,
)
from evaluation.formats.transfer.results import NO_LABEL
from evaluation.formats.transfer.rules import TransferRules, TransferTrack
from formats.transfer.tournaments.engine_runs import rules_of, sizes_of
from formats.transfer.tournaments.models import DefenceRun, Run, Tournament
from formats.transfer.tournaments.selectors import counts_from_runs
from formats.transfer.tracks import ATTACK_TRACKS
from rounds.models import Round, RoundEntry
from rounds.shared_bundle_values import bundle_submission, written_outcome
from submissions.models import Player

__all__ = [
    "VERSION",
    "Placed",
    "body_of",
    "check_size",
    "commitment_to_field",
    "places_of",
    "record_of",
    "version_of",
]


def check_size(round_: Round, players: Iterable[tuple[Track, Player]], rules: RulesVersion) -> None:
    """Raise `Refusal` where the outcome of the round with `players` might be too large to be verified."""
    attacking = {player.pk: track.name in ATTACK_TRACKS for track, player in players}
    attacks = sum(attacking.values())
    values = rules.rules_as(TransferRules)
    check_outcome_size(attacks, len(attacking) - attacks, round_.sample_set.count, values)


def commitment_to_field(round_: Round, entries: Sequence[RoundEntry], tournament: Tournament, salt: str) -> str:
    """Return the salted hash of the rules, the entries and the tournament's baselines, in their order."""
    head = replace(_head(round_, tournament, _newest(round_)), field_salt=salt)
    return transfer_field_commitment(head, round_.sample_set.count, _entrants(round_, entries, tournament))


def version_of(round_: Round) -> int:
    """Return the version of the lines of a stored outcome, the newest one where there is none."""
    if not round_.outcome or object_store.size(round_.outcome) is None:
        return _newest(round_)
    with object_store.open_object(round_.outcome) as file:
        return written_version(file.readline()) or _newest(round_)


def record_of(
    round_: Round, entries: Sequence[RoundEntry], tournament: Tournament, version: int | None = None
) -> TransferRecord:
    """Return everything that is known about a played round, for lines of `version`, the newest one by default. Players
    appear under their pseudonyms.

    Raise `Fault` if it was never frozen, its entries differ from the commitment of the freeze, or the rows of its runs
    are incomplete or contradict each other.
    """
    head = _head(round_, tournament, version or _newest(round_))
    entrants = _entrants(round_, entries, tournament)
    if transfer_field_commitment(head, round_.sample_set.count, entrants) != round_.field_commitment:
        raise Fault(f"the entries or the rules of {round_} differ from the commitment made at its freeze")
    name = partial(public_name, round_.competition)
    batches = _batches(round_, tournament)
    record = TransferRecord(
        head=head,
        batches=batches,
        entrants=entrants,
        attack_runs=_attack_runs(tournament, name),
        labels=_labels(tournament, [len(batch.hashes) for batch in batches], name),
    )
    _check_counts(record, tournament, name)
    return record


def body_of(round_: Round, record: TransferRecord) -> IO[bytes]:
    """Return an open file with the outcome: equal rounds give equal bytes. Raise `Fault` where it cannot be written."""
    return written_outcome(round_, partial(write_body, record))


def _newest(round_: Round) -> int:
    """Return the version of a round's lines: one frozen by an earlier version of the site has a narrow commitment."""
    return VERSION if round_.bundle_format > NARROW_FIELD else NARROW_FIELD


def _head(round_: Round, tournament: Tournament, version: int) -> TransferHead:
    if round_.rules is None:
        raise Fault(f"{round_} has no rules: it was never frozen")
    return TransferHead(
        competition=signed_slug(round_.competition),
        number=round_.number,
        title=round_.title,
        kind=round_.kind,
        rules_version=round_.rules.version,
        rules=rules_of(tournament),
        seed=tournament.seed,
        commitment=round_.commitment,
        field_salt=round_.field_salt,
        field_commitment=round_.field_commitment,
        version=version,
    )


def _entrants(round_: Round, entries: Sequence[RoundEntry], tournament: Tournament) -> list[BundleEntrant]:
    """Return each player once, by track, those with submissions in the order of entry before mere baselines.

    Only what the freeze fixed decides which of them is a baseline: a competition may get a new one afterwards.
    """
    submissions: dict[tuple[str, str], list[BundleSubmission]] = {}
    baselines: dict[tuple[str, str], str] = {}
    for entry in sorted(entries, key=lambda entry: entry.order):
        key = entry.track.name, entry.player.digest
        baselines[key] = ""
        submissions.setdefault(key, []).append(bundle_submission(entry))
    entrants = tournament.entrants.filter(submission=None).select_related("track", "player").order_by("pk")
    for entrant in entrants:
        baselines[entrant.track.name, entrant.player.digest] = entrant.player.baseline
    return [
        BundleEntrant(side, public_name(round_.competition, digest), baseline, tuple(submissions.get((of, digest), ())))
        for side in TransferTrack
        for (of, digest), baseline in baselines.items()
        if of == side
    ]


def _batches(round_: Round, tournament: Tournament) -> list[BundleBatch]:
    samples, hashes = samples_of(round_.sample_set), sample_hashes(round_.sample_set, round_.salt)
    batches, start = [], 0
    for epsilon, images in sizes_of(tournament):
        own = samples[start : start + images]
        batches.append(
            BundleBatch(
                epsilon=epsilon,
                hashes=tuple(hashes[start : start + images]),
                labels=tuple(int(sample.label) for sample in own),
                targets=tuple(NO_TARGET if sample.target is None else int(sample.target) for sample in own),
            )
        )
        start += images
    return batches


def _attack_runs(tournament: Tournament, name: Callable[[str], str]) -> dict[tuple[str, int], BundleAttackRun]:
    played = tournament.attack_runs.filter(state=Run.State.PLAYED).order_by("attack", "batch")
    rows = played.values_list("attack__digest", "batch", "hashes", "reason", "artefact")
    return {
        (name(attack), batch): BundleAttackRun(tuple(hashes), reason, artefact)
        for attack, batch, hashes, reason, artefact in rows
    }


def _labels(
    tournament: Tournament, sizes: Sequence[int], name: Callable[[str], str]
) -> dict[tuple[str, str], BundleLabels]:
    """Return the labels of each pair, on every batch; where an attack made nothing, there was nothing to label."""
    made = {
        (attack, batch): count
        for attack, batch, count in tournament.attack_runs.filter(state=Run.State.PLAYED).values_list(
            "attack__digest", "batch", "made"
        )
    }
    rows = DefenceRun.objects.filter(attack_run__tournament=tournament, state=Run.State.PLAYED)
    # two bytes for a label: those of a large round take far less memory than as lists
    found = {
        (attack, defence, batch): (array("h", labels), reason)
        for attack, defence, batch, labels, reason in rows.values_list(
            "attack_run__attack__digest", "defence__digest", "attack_run__batch", "labels", "reason"
        ).iterator(chunk_size=1000)
    }
    attacks = sorted({attack for attack, _ in made})
    entrants = tournament.entrants.exclude(track__name__in=ATTACK_TRACKS)
    given: dict[tuple[str, str], BundleLabels] = {}
    for defence in sorted(set(entrants.values_list("player__digest", flat=True))):
        for attack in attacks:
            labels, reasons = array("h"), []
            for batch, images in enumerate(sizes):
                if made.get((attack, batch)) and (attack, defence, batch) not in found:
                    raise Fault(f"the labels of {defence} on batch {batch} of {attack} are missing")
                own, reason = found.pop((attack, defence, batch), (array("h", [NO_LABEL]) * images, ""))
                labels += own
                reasons.append(reason)
            given[name(attack), name(defence)] = BundleLabels(labels, tuple(reasons))
    return given


def _check_counts(record: TransferRecord, tournament: Tournament, name: Callable[[str], str]) -> None:
    """Raise `Fault` if the labels give other counts than those that were stored with the runs."""
    players = {entrant.player_id: entrant.player for entrant in tournament.entrants.select_related("player")}
    names = {str(key): name(player.digest) for key, player in players.items()}
    attacks = [player for player in players.values() if player.track_name in ATTACK_TRACKS]
    defences = [player for player in players.values() if player.track_name not in ATTACK_TRACKS]
    try:
        derived = {(pair.attack, pair.defence): pair for pair in pairs_of(record)}
        stored = counts_from_runs(tournament, attacks, defences)
    except (KeyError, ValueError) as error:
        raise Fault(f"the runs of {tournament} contradict each other: {error}") from error
    for pair in stored:
        own = replace(pair, attack=names[pair.attack], defence=names[pair.defence])
        if derived.pop((own.attack, own.defence), None) != own:
            raise Fault(f"the labels of {tournament} give other counts than its runs: {own}")
    if derived:
        raise Fault(f"runs of {tournament} are missing: {next(iter(derived.values()))}")
