"""The virtual teams of the query format and their entries."""

from __future__ import annotations

from demo.virtual_teams import Change, VirtualPush, VirtualTeam
from formats.query.tracks import MODEL, TARGETED, UNTARGETED


def _titled(old: str, new: str) -> Change:
    return Change("submission.toml", f'title = "{old}"', f'title = "{new}"')


def _shaken_perceptron(seed: int) -> VirtualPush:
    """Return the bundled perceptron with noise on its weights, drawn from `seed`: a different, weaker model."""
    old = 'WEIGHTS = dict(np.load(Path(__file__).with_name("weights.npz"), allow_pickle=False))'
    new = f"""{old}
NOISE = np.random.default_rng({seed})
WEIGHTS = {{name: np.float32(w + NOISE.normal(0, np.abs(w).mean(), w.shape)) for name, w in WEIGHTS.items()}}"""
    title = _titled("Perceptron in numpy alone", f"Shaken perceptron {seed}")
    return VirtualPush(MODEL, "numpy-classifier", (Change("main.py", old, new), title))


def noise_with_draws(draws: int, title: str) -> VirtualPush:
    """Return the bundled Gaussian noise attack with another number of draws per size."""
    change = Change("main.py", "DRAWS = 40", f"DRAWS = {draws}")
    return VirtualPush(UNTARGETED, "gaussian-noise", (change, _titled("Additive Gaussian noise", title)))


READER = VirtualTeam("you", "Your team", (noise_with_draws(8, "My first attack"),))
"""The team of the person who started the demo."""

# a competition has only the entries that work on its images, and whose packages are installed;
# unchanged copies have the digest of a pool's player, so that its matches count for them too
TEAMS = (
    VirtualTeam(
        "owls",
        "Robust Owls",
        (
            VirtualPush(MODEL, "adversarial-logit-pairing"),
            # compact-robust is wrong on most images: with it, every untargeted attack of a small round could score 0
            VirtualPush(MODEL, "efficientnet-lite2-smoothed", made_for="tiny-imagenet"),
        ),
    ),
    VirtualTeam(
        "herons",
        "Quiet Herons",
        (
            VirtualPush(UNTARGETED, "iterative-transfer"),
            VirtualPush(UNTARGETED, "compact-iterative-transfer"),
        ),
    ),
    VirtualTeam(
        "otters",
        "Plain Otters",
        (VirtualPush(MODEL, "plain-resnet"), VirtualPush(MODEL, "efficientnet-lite1", made_for="tiny-imagenet")),
    ),
    VirtualTeam("wrens", "Small Wrens", (VirtualPush(MODEL, "numpy-classifier"),)),
    VirtualTeam(
        "foxes",
        "Transfer Foxes",
        (
            VirtualPush(TARGETED, "targeted-iterative-transfer"),
            VirtualPush(TARGETED, "compact-targeted-iterative-transfer"),
            VirtualPush(UNTARGETED, "single-step-transfer"),
            VirtualPush(UNTARGETED, "compact-single-step-transfer"),
        ),
        members=("vixen",),
    ),
    VirtualTeam(
        "moles",
        "Boundary Moles",
        (VirtualPush(UNTARGETED, "boundary"), VirtualPush(TARGETED, "targeted-boundary")),
    ),
    VirtualTeam(
        "lynxes",
        "Noisy Lynxes",
        (
            VirtualPush(MODEL, "frozen-noise"),
            VirtualPush(MODEL, "efficientnet-lite0", made_for="tiny-imagenet"),
        ),
    ),
    VirtualTeam("hares", "Hasty Hares", (VirtualPush(UNTARGETED, "gaussian-noise"),)),
    VirtualTeam(
        "toads",
        "Salty Toads",
        (VirtualPush(UNTARGETED, "salt-and-pepper"), VirtualPush(TARGETED, "targeted-pointwise")),
    ),
    VirtualTeam(
        "newts",
        "Mixing Newts",
        (
            VirtualPush(TARGETED, "targeted-interpolation"),
            VirtualPush(TARGETED, "targeted-interpolation", starts="tiny-imagenet"),
        ),
    ),
    VirtualTeam(
        "finches",
        "Filtering Finches",
        (VirtualPush(UNTARGETED, "boundary-filter"), VirtualPush(TARGETED, "targeted-boundary-filter")),
    ),
    VirtualTeam(
        "swifts",
        "Circling Swifts",
        (VirtualPush(UNTARGETED, "cgba"), VirtualPush(TARGETED, "targeted-cgba")),
    ),
    VirtualTeam(
        "ibises",
        "Spectral Ibises",
        (VirtualPush(UNTARGETED, "qeba"), VirtualPush(TARGETED, "targeted-qeba")),
    ),
    VirtualTeam("terns", "Turning Terns", (VirtualPush(UNTARGETED, "surfree"),)),
    VirtualTeam("geckos", "Geometric Geckos", (VirtualPush(UNTARGETED, "geoda"),)),
    VirtualTeam(
        "toucans",
        "Tangent Toucans",
        (VirtualPush(UNTARGETED, "tangent"), VirtualPush(TARGETED, "targeted-tangent")),
    ),
    VirtualTeam(
        "frogs",
        "Jumping Frogs",
        (VirtualPush(UNTARGETED, "hopskipjump"), VirtualPush(TARGETED, "targeted-hopskipjump")),
    ),
    VirtualTeam("crows", "Careless Crows", (_shaken_perceptron(1),)),
    VirtualTeam("voles", "Patient Voles", (noise_with_draws(10, "Gaussian noise in few draws"), _shaken_perceptron(2))),
)
