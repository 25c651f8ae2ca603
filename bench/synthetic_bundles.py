"""Rounds of both formats with drawn results, of any size, as records of the engine from which bundles are written."""

from __future__ import annotations

from array import array
from dataclasses import replace
from hashlib import sha256

import numpy as np

from evaluation.bundle.bundle_submission import BundleSubmission
from evaluation.bundle.canonical_json import commitment_of
from evaluation.domain.images import ImageShape
from evaluation.domain.players import TrackName
from evaluation.formats.query.bundle.writer import (
    BundleHead,
    BundlePiece,
    BundleSample,
    Record,
    field_commitment_of,
)
from evaluation.formats.query.results import Outcome
from evaluation.formats.query.rules import QueryRules
from evaluation.formats.query.tournament.round_state import RoundEntrant, RoundFacts, SampleRow, advance, piece_ends
from evaluation.formats.transfer.bundle.writer import (
    BundleAttackRun,
    BundleBatch,
    BundleEntrant,
    BundleLabels,
    TransferHead,
    TransferRecord,
    transfer_field_commitment,
)
from evaluation.formats.transfer.results import NO_LABEL
from evaluation.formats.transfer.rules import Opponents, TransferRules, TransferTrack
from evaluation.formats.transfer.runner.batches import batch_sizes

SALT = "5" * 64
WORST = 20.0


def transfer_record(
    seed: int, sides: tuple[int, int, int], samples: int, rules: TransferRules | None = None
) -> TransferRecord:
    """Return a played round of the transfer format with so many attacks, targeted attacks and defences.

    Every seventh attack omits images and every fifth defence labels, so that coverages differ.
    """
    rules = rules or TransferRules(shape=ImageShape(8, 8, 3), batch_images=7, classes=5, opponents=_opponents(seed))
    chance = np.random.default_rng(seed)
    entrants = [
        BundleEntrant(track, f"{track}-{number}", "", (_submission(f"team {(number + seed) % 9}"),))
        for track, count in zip(TransferTrack, sides, strict=True)
        for number in range(count)
    ]
    entrants[0] = replace(entrants[0], baseline="noop", submissions=())
    truth = chance.integers(rules.classes, size=samples).astype(np.int16)
    targets = ((truth + chance.integers(1, rules.classes, size=samples)) % rules.classes).astype(np.int16)
    hashes = [_sha(f"{seed} sample {number}") for number in range(samples)]
    batches, at = [], 0
    for epsilon, images in batch_sizes(samples, rules, seed):
        here = slice(at, at + images)
        columns = (tuple(column[here].tolist()) for column in (truth, targets))
        batches.append(BundleBatch(epsilon, tuple(hashes[here]), *columns))
        at += images
    ends = np.cumsum([len(batch.hashes) for batch in batches])
    runs: dict[tuple[str, int], BundleAttackRun] = {}
    labels: dict[tuple[str, str], BundleLabels] = {}
    attacks = [entrant for entrant in entrants if entrant.track.is_attack]
    for number, attack in enumerate(attacks):
        made = chance.random(samples) > (0.1 if number % 7 == 3 else 0)
        digests = [_sha(f"{seed} {attack.player} {image}") if there else "" for image, there in enumerate(made)]
        for batch, end in enumerate(ends):
            own = tuple(digests[end - len(batches[batch].hashes) : end])
            runs[attack.player, batch] = BundleAttackRun(own, "" if all(own) else "too_slow", _sha(attack.player))
        for place, defence in enumerate(entrant for entrant in entrants if not entrant.track.is_attack):
            right = chance.random(samples) > 0.1 + 0.6 * ((number * 31 + place * 17) % 97) / 97
            given = np.where(right, truth, chance.integers(rules.classes + 1, size=samples).astype(np.int16))
            given[~made] = NO_LABEL
            if place % 5 == 2:
                given[chance.random(samples) < 0.05] = NO_LABEL
            labels[attack.player, defence.player] = BundleLabels(array("h", given.tobytes()), ("",) * len(batches))
    head = TransferHead("transfer", 1, "Synthetic", "final", 1, rules, seed, commitment_of(hashes), SALT, "")
    head = replace(head, field_commitment=transfer_field_commitment(head, samples, entrants))
    return TransferRecord(head, batches, entrants, runs, labels)


def query_record(seed: int, sides: tuple[int, int, int], samples: int, schedule: str) -> Record:
    """Return a round of the query format, played to its end, with so many models, attacks and targeted attacks.

    Some pairs are of one team, distances are often equal, and some models fail audits.
    """
    entrants = tuple(
        RoundEntrant(track, f"{track}-{number}", (f"team {(number * 7 + seed) % 11}",), number == 1)
        for track, count in zip(TrackName, sides, strict=True)
        for number in range(count)
    )
    priors = {track: tuple(one.player for one in reversed(entrants) if one.track is track) for track in TrackName}
    facts = RoundFacts(schedule, False, samples, True, entrants, priors, {})
    ends = piece_ends(schedule, samples, False)
    models, attacks = (
        [one.player for one in entrants if (one.track is TrackName.MODEL) is side] for side in (True, False)
    )
    if models and seed % 3 == 0:
        failed = {(models[-1], attack): tuple(ends) for attack in attacks}
        facts = replace(facts, failed_audits=failed, kept={models[-1]: "by hand"} if seed % 2 else {})
    results: dict[tuple[str, str], dict[int, SampleRow]] = {}
    while not (state := advance(facts)).over:
        for ask in state.requests:
            pair = ask.model, ask.attack
            if len(results.get(pair, {})) < ask.upto:
                results[pair] = dict(enumerate(_rows(seed, *pair, samples)[: ask.upto]))
        facts = replace(facts, results=results)
    submissions = {one.player: (_submission(one.teams[0]),) for one in entrants}
    eligible = dict.fromkeys(submissions, (True,))
    hashes = [_sha(f"{seed} sample {number}") for number in range(samples)]
    head = BundleHead("query", 1, "Synthetic", "final", 1, QueryRules().as_dict(), commitment_of(hashes), SALT, "")
    head = replace(head, field_commitment=field_commitment_of(head, facts, submissions, eligible))
    pieces = {
        pair: tuple(BundlePiece(end, _sha(f"{pair} {end}")) for end in sorted({*ends, len(rows)}) if end <= len(rows))
        for pair, rows in results.items()
    }
    seeds = {pair: 2**62 + place for place, pair in enumerate(results)}
    return Record(head, facts, [BundleSample(each, WORST) for each in hashes], submissions, seeds, pieces, eligible)


def _rows(seed: int, model: str, attack: str, samples: int) -> list[SampleRow]:
    chance = np.random.default_rng([seed, *_sha(f"{model} {attack}").encode()[:8]])
    skill = (
        np.random.default_rng([seed, *model.encode()]).random()
        + np.random.default_rng([seed, *attack.encode()]).random()
    )
    # one decimal only: equal distances and equal means are frequent
    distances = np.round(np.minimum(chance.lognormal(3 * skill - 1.5, 0.8, samples), WORST), 1).tolist()
    queries = chance.integers(1000, size=samples).tolist()
    rows = []
    for distance, count in zip(distances, queries, strict=True):
        outcome = Outcome.FAILED if distance == WORST else Outcome.ADVERSARIAL if distance else Outcome.CLEAN_WRONG
        rows.append(SampleRow(outcome, distance, count))
    return rows


def _opponents(seed: int) -> Opponents:
    return list(Opponents)[seed % 2]


def _submission(team: str) -> BundleSubmission:
    return BundleSubmission(team, "c" * 40, "Käuze", "MIT", eligible=True)


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()
