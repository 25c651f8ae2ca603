"""The virtual teams of the query format and their entries."""

from __future__ import annotations

from demo.virtual_teams import Change, Entry, VirtualTeam


def _titled(old: str, new: str) -> Change:
    return Change("submission.toml", f'title = "{old}"', f'title = "{new}"')


def _shaken_perceptron(seed: int) -> Entry:
    """Return the bundled perceptron with noise on its weights, drawn from `seed`: a different, weaker model."""
    old = 'WEIGHTS = dict(np.load(Path(__file__).with_name("weights.npz"), allow_pickle=False))'
    new = f"""{old}
NOISE = np.random.default_rng({seed})
WEIGHTS = {{name: np.float32(w + NOISE.normal(0, np.abs(w).mean(), w.shape)) for name, w in WEIGHTS.items()}}"""
    title = _titled("Perceptron in numpy alone", f"Shaken perceptron {seed}")
    return Entry("model", "numpy-classifier", (Change("main.py", old, new), title))


def noise_with_draws(draws: int, title: str) -> Entry:
    """Return the bundled Gaussian noise attack with another number of draws per size."""
    change = Change("main.py", "DRAWS = 40", f"DRAWS = {draws}")
    return Entry("untargeted", "gaussian-noise", (change, _titled("Additive Gaussian noise", title)))


READER = VirtualTeam("you", "Your team", (noise_with_draws(8, "My first attack"),))
"""The team of the person who started the demo."""

# a competition has only the entries that work on its images, and whose packages are installed;
# unchanged copies have the digest of a pool's player, so that its matches count for them too
TEAMS = (
    VirtualTeam("owls", "Robust Owls", (Entry("model", "adversarial-logit-pairing"), Entry("model", "compact-robust"))),
    VirtualTeam(
        "herons",
        "Quiet Herons",
        (Entry("untargeted", "iterative-transfer"), Entry("untargeted", "compact-iterative-transfer")),
    ),
    VirtualTeam("otters", "Plain Otters", (Entry("model", "plain-resnet"), Entry("model", "compact-plain"))),
    VirtualTeam("wrens", "Small Wrens", (Entry("model", "numpy-classifier"),)),
    VirtualTeam(
        "foxes",
        "Transfer Foxes",
        (
            Entry("targeted", "targeted-iterative-transfer"),
            Entry("targeted", "compact-targeted-iterative-transfer"),
            Entry("untargeted", "single-step-transfer"),
            Entry("untargeted", "compact-single-step-transfer"),
        ),
        members=("vixen",),
    ),
    VirtualTeam("moles", "Boundary Moles", (Entry("untargeted", "boundary"), Entry("targeted", "targeted-boundary"))),
    VirtualTeam(
        "lynxes",
        "Noisy Lynxes",
        (Entry("model", "frozen-noise"), Entry("model", "efficientnet-lite0", made_for="tiny-imagenet")),
    ),
    VirtualTeam("hares", "Hasty Hares", (Entry("untargeted", "gaussian-noise"),)),
    VirtualTeam(
        "toads", "Salty Toads", (Entry("untargeted", "salt-and-pepper"), Entry("targeted", "targeted-pointwise"))
    ),
    VirtualTeam(
        "newts",
        "Mixing Newts",
        (
            Entry("targeted", "targeted-interpolation"),
            Entry("targeted", "targeted-interpolation", starts="tiny-imagenet"),
        ),
    ),
    VirtualTeam("crows", "Careless Crows", (_shaken_perceptron(1),)),
    VirtualTeam("voles", "Patient Voles", (noise_with_draws(10, "Gaussian noise in few draws"), _shaken_perceptron(2))),
)
