"""Pictures of what an attack made of a sample: clean, perturbed, and their amplified difference."""

from __future__ import annotations

from competitions.sample_pictures import sample_picture
from core.errors import Refusal
from evaluation.domain.images import Image
from formats.transfer.tournaments.engine_runs import place_of, stored_images
from formats.transfer.tournaments.models import AttackRun, Run, Tournament


def picture(tournament: Tournament, attack: int, sample: int, name: str) -> bytes:
    """Return a picture of a sample as PNG. Raise `Refusal` if the attack made no image of it, or no picture has it."""
    return sample_picture(tournament.sample_set, sample, name, lambda: _perturbed(tournament, attack, sample))


def _perturbed(tournament: Tournament, attack: int, sample: int) -> Image:
    batch, index = place_of(tournament, sample)
    played = AttackRun.objects.filter(tournament=tournament, attack=attack, batch=batch, state=Run.State.PLAYED)
    run = played.select_related("attack").first()
    if run is None or index >= len(run.hashes) or not run.hashes[index]:
        raise Refusal(f"the attack made no image of sample {sample}", fix="choose another sample")
    ((_, image),) = stored_images(run, [index])
    return image
