"""The virtual teams of the query format and their entries."""

from __future__ import annotations

from demo.virtual_teams import Change, VirtualPush, VirtualTeam


def _titled(old: str, new: str) -> Change:
    return Change("submission.toml", f'title = "{old}"', f'title = "{new}"')


def _shaken_perceptron(seed: int) -> VirtualPush:
    """Return the bundled perceptron with noise on its weights, drawn from `seed`: a different, weaker model."""
    old = 'WEIGHTS = dict(np.load(Path(__file__).with_name("weights.npz"), allow_pickle=False))'
    new = f"""{old}
NOISE = np.random.default_rng({seed})
WEIGHTS = {{name: np.float32(w + NOISE.normal(0, np.abs(w).mean(), w.shape)) for name, w in WEIGHTS.items()}}"""
    title = _titled("Perceptron in numpy alone", f"Shaken perceptron {seed}")
    return VirtualPush("model", "numpy-classifier", (Change("main.py", old, new), title))


def noise_with_draws(draws: int, title: str) -> VirtualPush:
    """Return the bundled Gaussian noise attack with another number of draws per size."""
    change = Change("main.py", "DRAWS = 40", f"DRAWS = {draws}")
    return VirtualPush("untargeted", "gaussian-noise", (change, _titled("Additive Gaussian noise", title)))


READER = VirtualTeam("you", "Your team", (noise_with_draws(8, "My first attack"),))
"""The team of the person who started the demo."""

# a competition has only the entries that work on its images, and whose packages are installed;
# unchanged copies have the digest of a pool's player, so that its matches count for them too
TEAMS = (
    VirtualTeam(
        "owls",
        "Robust Owls",
        (VirtualPush("model", "adversarial-logit-pairing"), VirtualPush("model", "compact-robust")),
    ),
    VirtualTeam(
        "herons",
        "Quiet Herons",
        (
            VirtualPush("untargeted", "iterative-transfer"),
            VirtualPush("untargeted", "compact-iterative-transfer"),
        ),
    ),
    VirtualTeam(
        "otters",
        "Plain Otters",
        (VirtualPush("model", "plain-resnet"), VirtualPush("model", "compact-plain")),
    ),
    VirtualTeam("wrens", "Small Wrens", (VirtualPush("model", "numpy-classifier"),)),
    VirtualTeam(
        "foxes",
        "Transfer Foxes",
        (
            VirtualPush("targeted", "targeted-iterative-transfer"),
            VirtualPush("targeted", "compact-targeted-iterative-transfer"),
            VirtualPush("untargeted", "single-step-transfer"),
            VirtualPush("untargeted", "compact-single-step-transfer"),
        ),
        members=("vixen",),
    ),
    VirtualTeam(
        "moles",
        "Boundary Moles",
        (VirtualPush("untargeted", "boundary"), VirtualPush("targeted", "targeted-boundary")),
    ),
    VirtualTeam(
        "lynxes",
        "Noisy Lynxes",
        (
            VirtualPush("model", "frozen-noise"),
            VirtualPush("model", "efficientnet-lite0", made_for="tiny-imagenet"),
        ),
    ),
    VirtualTeam("hares", "Hasty Hares", (VirtualPush("untargeted", "gaussian-noise"),)),
    VirtualTeam(
        "toads",
        "Salty Toads",
        (VirtualPush("untargeted", "salt-and-pepper"), VirtualPush("targeted", "targeted-pointwise")),
    ),
    VirtualTeam(
        "newts",
        "Mixing Newts",
        (
            VirtualPush("targeted", "targeted-interpolation"),
            VirtualPush("targeted", "targeted-interpolation", starts="tiny-imagenet"),
        ),
    ),
    VirtualTeam("crows", "Careless Crows", (_shaken_perceptron(1),)),
    VirtualTeam("voles", "Patient Voles", (noise_with_draws(10, "Gaussian noise in few draws"), _shaken_perceptron(2))),
)
