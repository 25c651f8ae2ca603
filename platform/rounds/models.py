"""Rounds of any format: their entries, releases and keys."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q, UniqueConstraint

from accounts.models import Team
from competitions.models import Competition, FreezeWindow, RulesVersion, SampleSet, Track
from submissions.models import Player, Submission


class Round(models.Model):
    """Frozen tournament of all tracks of a competition on its own secret samples."""

    class Kind(models.TextChoices):
        DEVELOPMENT = "development", "development round"
        FINAL = "final", "final"

    class State(models.TextChoices):
        PLANNED = "planned", "planned"
        FROZEN = "frozen", "frozen"
        PLAYING = "playing", "playing"
        PAUSED = "paused", "paused"
        SCORED = "scored", "scored"
        PUBLISHED = "published", "published"
        CANCELLED = "cancelled", "cancelled"

    UNDER_WAY = (State.FROZEN, State.PLAYING, State.PAUSED, State.SCORED)

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="rounds")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=120)
    kind = models.CharField(max_length=11, choices=Kind.choices)
    schedule = models.CharField(max_length=8)
    """The name of one of the schedules of its format, `rounds.formats.RoundFormat.schedules`."""
    guard = models.BooleanField(
        default=False,
        help_text="Keep entrants not significantly worse than 5th place (sign test, 5 %), up to 30 % more.",
    )
    window = models.OneToOneField(FreezeWindow, on_delete=models.PROTECT, related_name="round")
    sample_set = models.OneToOneField(SampleSet, on_delete=models.PROTECT, related_name="round")
    """Drawn for this round from an imported set, in a secret order."""
    salt = models.CharField(max_length=64, editable=False)
    """Secret until the images are released."""
    commitment = models.CharField(max_length=64, editable=False)
    """The salted hash of the sample list, public from the planning."""
    field_salt = models.CharField(max_length=64, blank=True, editable=False)
    """Secret until the bundle is released."""
    field_commitment = models.CharField(max_length=64, blank=True, editable=False)
    """The salted hash of the entries, their order and the rules, public from the freeze."""
    bundle_format = models.PositiveSmallIntegerField(default=2, editable=False)
    """The format of the result bundle, set at the freeze: what the field commits to."""
    objection_days = models.PositiveSmallIntegerField(
        default=0,
        help_text="Days after the publication in which teams of the round may object to the result; 0 for none.",
    )
    state = models.CharField(max_length=9, choices=State.choices, default=State.PLANNED, db_index=True)
    state_since = models.DateTimeField()
    planned_at = models.DateTimeField()
    rules = models.ForeignKey(RulesVersion, null=True, blank=True, on_delete=models.PROTECT, related_name="rounds")
    """The version in force at the freeze."""
    problem = models.TextField(blank=True)
    """What stops the round, or failed when it was published, for organisers; else empty."""
    outcome = models.CharField(max_length=64, blank=True)
    """Digest in the object store of all facts and everything that follows from them, once the round is scored."""

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(fields=["competition", "number"], name="round_number_once"),
            UniqueConstraint(
                fields=["competition"],
                condition=Q(state__in=["frozen", "playing", "paused", "scored"]),
                name="one_round_under_way",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.competition.slug}: {self.title}"


class RoundEntry(models.Model):
    """A submission as frozen for a round, which it plays whatever happens later, with its result."""

    round = models.ForeignKey(Round, on_delete=models.CASCADE, related_name="entries")
    track = models.ForeignKey(Track, on_delete=models.PROTECT, related_name="round_entries")
    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="round_entries")
    player = models.ForeignKey(Player, on_delete=models.PROTECT, related_name="round_entries")
    """Entries of teams that submitted equal content share one: it plays once, and they share its place."""
    order = models.PositiveIntegerField()
    """Position in the order of entry of its track, from 1."""
    prior = models.PositiveIntegerField()
    """Position in the initial seeding of its track, from 1."""
    eligible = models.BooleanField(default=True)
    """Whether it may win prizes; it is ranked in any case."""
    eligible_at_freeze = models.BooleanField(default=True, editable=False)
    """The same when the field was committed to."""
    bundled = models.BooleanField(default=False, editable=False)
    """Whether its player was a bundled one at the freeze; a competition may get new baselines afterwards."""
    ineligible_because = models.CharField(max_length=200, blank=True)
    title_hidden = models.BooleanField(default=False, editable=False)
    """Whether the outcome has `HIDDEN_TITLE` in place of its title, as the submission was hidden when it was made."""
    licence_confirmed_at = models.DateTimeField(null=True, blank=True)
    """Time at which an organiser confirmed that its licence is open source; its code may be released then."""
    audit_override_reason = models.CharField(max_length=1000, blank=True)
    """Why an organiser kept a model despite failed audits; empty for all others."""

    place = models.PositiveIntegerField(null=True, blank=True)
    stage = models.PositiveSmallIntegerField(null=True, blank=True)
    """The last stage that it played."""
    value = models.FloatField(null=True, blank=True)
    low = models.FloatField(null=True, blank=True)
    high = models.FloatField(null=True, blank=True)
    met = models.PositiveSmallIntegerField(null=True, blank=True)
    opponents = models.PositiveSmallIntegerField(null=True, blank=True)
    """Number of counted opponents; the score uses `met` of them, an attack's without models of its own team."""
    value_against_all = models.FloatField(null=True, blank=True)
    rank_low = models.PositiveIntegerField(null=True, blank=True)
    rank_high = models.PositiveIntegerField(null=True, blank=True)
    separated_from_next = models.BooleanField(default=False)
    """Whether the data separate it from the next place (a paired test over all pairs of the last stage)."""
    prize_place = models.PositiveIntegerField(null=True, blank=True)
    """Place for prizes: neighbours are compared on opponents that belong to neither team."""
    failures = models.PositiveIntegerField(null=True, blank=True)
    worst_opponent = models.ForeignKey(Player, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    not_broken = models.BooleanField(default=False)
    inconsistent = models.BooleanField(default=False)
    """It left the round because its audits failed."""

    class Meta:
        verbose_name_plural = "round entries"
        ordering = ["round", "track", "place", "order"]
        constraints = [UniqueConstraint(fields=["round", "submission"], name="submission_once_per_round")]
        indexes = [models.Index(fields=["round", "track", "place"])]

    def __str__(self) -> str:
        return f"{self.submission} in round {self.round_id}"


class Release(models.Model):
    """A part of a published round that organisers made public."""

    class Part(models.TextChoices):
        BUNDLE = "bundle", "signed result bundle"
        IMAGES = "images", "secret images"
        PERTURBED = "perturbed", "perturbed images"
        CODE = "code", "code of the eligible submissions"
        OBJECTIONS = "objections", "signed objections and answers"

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="releases")
    part = models.CharField(max_length=10, choices=Part.choices)
    released_at = models.DateTimeField()
    released_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    content = models.CharField(max_length=64, blank=True)
    """Digest in the object store, if it is one file."""
    key = models.CharField(max_length=64, blank=True)
    """The public key that signed it, if it is the bundle or the objections."""
    withdrawn_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["round", "part"]
        constraints = [
            UniqueConstraint(
                fields=["round", "part"], condition=Q(withdrawn_at__isnull=True), name="part_released_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_part_display()} of round {self.round_id}"


class Objection(models.Model):
    """An objection of a team to the published result of a round that it took part in, and the organisers' answer.

    It concerns an `entry`, a `match`, or with neither the whole result.
    """

    class State(models.TextChoices):
        OPEN = "open", "open"
        UPHELD = "upheld", "upheld"
        REJECTED = "rejected", "rejected"
        WITHDRAWN = "withdrawn", "withdrawn by the team"

    ANSWERED = (State.UPHELD, State.REJECTED)

    round = models.ForeignKey(Round, on_delete=models.PROTECT, related_name="objections")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="objections")
    entry = models.ForeignKey(
        RoundEntry, null=True, blank=True, on_delete=models.PROTECT, related_name="objections", verbose_name="to entry"
    )
    match = models.CharField(max_length=40, blank=True, verbose_name="to match")
    """The match as its format names it, `rounds.formats.RoundFormat.find_matches`."""
    outcome = models.CharField(max_length=64, blank=True, editable=False)
    """The snapshot hash of the result that it concerns; empty for those that were made before it was kept."""
    text = models.TextField()
    made_at = models.DateTimeField()
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=9, choices=State.choices, default=State.OPEN, db_index=True)
    answer = models.TextField(blank=True)
    """The reason of the organisers, public; empty while it is open, and where the team withdrew it."""
    closed_at = models.DateTimeField(null=True, blank=True)
    """Time of the answer, or of the withdrawal."""
    closed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering = ["-pk"]
        constraints = [
            UniqueConstraint(
                fields=["round", "team", "match"],
                condition=Q(state="open", entry__isnull=True),
                name="open_objection_to_match_once",
            ),
            UniqueConstraint(
                fields=["team", "entry"],
                condition=Q(state="open", entry__isnull=False),
                name="open_objection_to_entry_once",
            ),
        ]

    def __str__(self) -> str:
        return f"objection {self.pk} of {self.team.slug} to round {self.round_id}"


class SigningKey(models.Model):
    """A public key that signs or signed this site's bundles. The secret is in a file."""

    public = models.CharField(max_length=64, unique=True)
    made_at = models.DateTimeField()
    successor = models.OneToOneField(
        "self", null=True, blank=True, on_delete=models.PROTECT, related_name="predecessor"
    )
    """The key that replaced it; None for the one in use."""
    statement = models.CharField(max_length=128, blank=True)
    """This key's signature of its successor's name; empty if it was lost before it could sign."""

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"signing key {self.public[:16]}"
