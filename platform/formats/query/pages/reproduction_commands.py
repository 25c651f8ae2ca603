"""The commands that play a match again on the reader's computer."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse

from competitions.baseline_files import own_baseline
from competitions.models import SampleSet, Track
from competitions.selectors import rules_in_force
from evaluation.formats.query.rules import QueryRules
from formats.query.challenges.models import Challenge
from formats.query.matches.models import Match, Piece
from formats.query.rounds.match_visibility import Sight
from formats.query.smoke_test_opponents import DIGITS
from formats.query.tracks import MODEL
from pages.competition.development_samples import development_set
from rounds.models import Release, Round
from rounds.release.released_parts import released_tags
from submissions.models import Player

_DEFAULT_PIECE = QueryRules.piece_samples


@dataclass(frozen=True)
class Reproduction:
    """Commands for a shell. `exact`: they play the same match, so they give the same outcomes and distances.

    `code_missing` names the players whose code the reader must have: a directory stands for it.
    """

    commands: Sequence[str]
    exact: bool
    code_missing: Sequence[str]


@dataclass(frozen=True)
class _Source:
    """A directory with a player's code, and the command that makes it; "" where the code is not public."""

    directory: str
    command: str


def reproduction(match: Match, sight: Sight, site_url: str) -> Reproduction | None:
    """Return how to play a match again: exactly where its samples and seed are public, else on development samples.

    None where the competition has no public samples either.
    """
    tracks = {track.name: track for track in match.rules.competition.tracks.all()}
    sources = {player: _source(player, tracks, site_url) for player in (match.model, match.attack)}
    round_ = match.round_match.round if sight.replayable else None
    samples = _released(match, round_, sight.samples, site_url) if round_ else _development(match, site_url)
    if samples is None:
        return None
    play = [
        *("gauntlet", "play"),
        *("--model", sources[match.model].directory, "--attack", sources[match.attack].directory),
        *("--track", match.attack.track_name),
        *samples.options,
        *(_pieces(match, sight) if round_ else ()),
        *("--seed", str(match.seed if round_ else 0)),
        *("--out", f"match-{match.pk}"),
    ]
    commands = [source.command for source in sources.values() if source.command]
    return Reproduction(
        [*commands, *samples.commands, _wrapped(play)],
        exact=round_ is not None,
        code_missing=[player.title for player, source in sources.items() if not source.command],
    )


def challenge_reproduction(challenge: Challenge, site_url: str) -> Reproduction | None:
    """Return how to play a challenge again, exactly: its samples are public, and its seed serves no other match.

    None before it is played, and once the address of the competition has other rules or development samples.
    """
    competition, own, opponent = challenge.rules.competition, challenge.submission.player, challenge.opponent
    in_force = challenge.rules == rules_in_force(competition) and challenge.sample_set == development_set(competition)
    if challenge.progress != Challenge.Progress.PLAYED or not (competition.public and in_force):
        return None
    if own is None or (opponent is not None and opponent.player is None):
        return None
    tracks = {track.name: track for track in competition.tracks.all()}
    mine = _source(own, tracks, site_url)
    if opponent is None or opponent.player is None:
        other = _bundled(challenge.opponent_track, challenge.baseline)
    else:
        other = _source(opponent.player, tracks, site_url)
    model, attack = (mine, other) if challenge.submission.repository.track.name == MODEL else (other, mine)
    play = [
        *("gauntlet", "play", "--model", model.directory, "--attack", attack.directory),
        *("--track", challenge.attack_track),
        *("--competition", f"{site_url}/competitions/{competition.slug}"),
        *("--samples", str(challenge.samples), "--seed", str(challenge.seed)),
        *("--out", f"challenge-{challenge.pk}"),
    ]
    commands = [source.command for source in (mine, other) if source.command]
    titles = ((mine, own.title), (other, opponent.title if opponent else challenge.baseline))
    return Reproduction(
        [*commands, _wrapped(play)],
        exact=True,
        code_missing=[title for source, title in titles if not source.command],
    )


@dataclass(frozen=True)
class _Samples:
    options: Sequence[str]
    commands: Sequence[str] = ()


def _source(player: Player, tracks: Mapping[str, Track], site_url: str) -> _Source:
    if player.baseline and own_baseline(tracks[player.track_name], player.baseline):
        return _Source(f"path/to/{player.baseline}", "")
    if player.baseline:
        return _bundled(player.track_name, player.baseline)
    if player.repository is None:
        return _Source(f"path/to/{player.track_name}", "")
    team, track = player.repository.entry.team.slug, player.repository.track.name
    tag = next((tag for tag, commit in released_tags(player.repository).items() if commit == player.commit), None)
    directory = f"{team}-{track}"
    if tag is None:
        return _Source(f"path/to/{directory}", "")
    address = shlex.quote(f"{site_url}/git/public/{team}/{track}.git")
    return _Source(directory, f"git clone --branch {shlex.quote(tag)} {address} {directory}")


def _bundled(track_name: str, name: str) -> _Source:
    """Return a copy of a baseline that comes with the site."""
    quoted = shlex.quote(name)
    return _Source(name, f"gauntlet new {track_name} {quoted} --like {quoted}")


def _development(match: Match, site_url: str) -> _Samples | None:
    """Return the development samples and the rules, by the address of the competition where that has both.

    Else the bundled digits by name, and other data as the site publishes them: a source may be a path of this host, and
    the first images of a data set are not those of a set in a secret order.
    """
    competition = match.rules.competition
    sample_set = development_set(competition)
    if sample_set is None:
        return None
    if competition.public and match.rules == rules_in_force(competition):
        return _Samples(("--competition", f"{site_url}/competitions/{competition.slug}"))
    chosen = ("--samples", str(sample_set.count), *_budget(match))
    if sample_set.source == DIGITS and sample_set.order == SampleSet.Order.PUBLISHED and sample_set.skip == 0:
        return _Samples(("--dataset", DIGITS, "--split", sample_set.split, *chosen))
    file = f"{competition.slug}-development.zip"
    where = site_url + reverse("pages:development_archive", args=[competition.slug])
    return _Samples(("--dataset", f"released:{file}", *chosen), (f"curl -o {file} {shlex.quote(where)}",))


def _budget(match: Match) -> Sequence[str]:
    return "--budget", str(match.rules.rules_as(QueryRules).query_budget)


def _released(match: Match, round_: Round, count: int | None, site_url: str) -> _Samples:
    where = reverse("pages:round_file", args=[round_.competition.slug, round_.number, Release.Part.IMAGES])
    file = f"{round_.competition.slug}-round-{round_.number}-images.zip"
    first = ("--samples", str(count)) if count else ()
    options = ("--dataset", f"released:{file}", *first, *_budget(match))
    return _Samples(options, (f"curl -o {file} {shlex.quote(site_url + where)}",))


def _wrapped(command: Sequence[str]) -> str:
    """Return a command with a line for each option and its value."""
    lines = [shlex.join(command[:2])]
    for name, value in zip(command[2::2], command[3::2], strict=True):
        lines.append(f"  {name} {shlex.quote(value)}")
    return " \\\n".join(lines)


def _pieces(match: Match, sight: Sight) -> Sequence[str]:
    """Return the option with the sizes of the pieces, () where they are those that the command uses itself."""
    pieces = match.pieces.filter(state=Piece.State.PLAYED).order_by("first")
    if sight.samples is not None:
        pieces = pieces.filter(first__lt=sight.samples)
    sizes = list(pieces.values_list("count", flat=True))
    if all(size == _DEFAULT_PIECE for size in sizes[:-1]) and (not sizes or sizes[-1] <= _DEFAULT_PIECE):
        return ()
    return ("--pieces", ",".join(map(str, sizes)))
