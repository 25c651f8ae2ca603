"""The virtual teams of the transfer format and their entries."""

from __future__ import annotations

from demo.virtual_teams import Change, VirtualPush, VirtualTeam
from formats.transfer.tracks import ATTACK, DEFENCE, TARGETED_ATTACK


def _changed(track: str, like: str, old_title: str, title: str, *changes: tuple[str, str]) -> VirtualPush:
    """Return a bundled submission with another title and replaced parts of `main.py`."""
    titled = Change("metadata.json", f'"title": "{old_title}"', f'"title": "{title}"')
    return VirtualPush(track, like, (titled, *(Change("main.py", old, new) for old, new in changes)))


READER = VirtualTeam("you", "Your team", (_changed(ATTACK, "random-noise", "Random noise", "My first attack"),))

# unchanged copies have the digest of a baseline, so that its runs count for them too
TEAMS = (
    VirtualTeam("otters", "Plain Otters", (VirtualPush(DEFENCE, "base-network"),)),
    VirtualTeam("hares", "Hasty Hares", (VirtualPush(ATTACK, "fgsm"),)),
    VirtualTeam(
        "lynxes",
        "Noisy Lynxes",
        (_changed(ATTACK, "random-noise", "Random noise", "Stripes", ("image.shape)", "(1, *image.shape[1:]))")),),
    ),
    VirtualTeam(
        "owls",
        "Robust Owls",
        (_changed(DEFENCE, "jpeg", "JPEG compression", "Strong JPEG compression", ("QUALITY = 75", "QUALITY = 30")),),
    ),
    VirtualTeam(
        "foxes",
        "Transfer Foxes",
        (
            _changed(
                ATTACK,
                "fgsm",
                "Fast gradient sign method",
                "Momentum on one surrogate",
                ("steps=1, step=1.0", "steps=10, step=0.1, momentum=1.0"),
            ),
            _changed(
                TARGETED_ATTACK,
                "step-target-class",
                "Step towards the target class",
                "Five steps towards the target class",
                ("steps=1, step=1.0", "steps=5, step=0.4"),
            ),
        ),
        members=("vixen",),
    ),
)
