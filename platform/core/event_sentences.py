"""Events as sentences, such as "olga disqualified submission 12": one phrase for each verb of the log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from django.apps import apps

if TYPE_CHECKING:
    from core.models import Event

PHRASES: Mapping[str, str] = {
    # {subject} is the row; other names are of the event's data
    "accept_invitation": "accepted {subject}",
    "accept_terms": "accepted version {version} of the terms for {subject}",
    "add_member": "joined {subject}",
    "add_webhook": "added {subject} to {host}",
    "adopt_state_folder": "gave the state folder the identifier of the database",
    "allow_device": "let {client} sign in",
    "announce": "announced “{title}”",
    "appoint": "appointed an organiser",
    "approve_account": "approved {subject}",
    "archive": "archived the competition {slug}",
    "ask_for_delivery": "asked for a delivery of “{sent}” to {subject}",
    "back_up": "backed up the site as snapshot {snapshot}",
    "begin": "began {subject}",
    "build_error": "recorded an error of the builder on {subject}",
    "call_off": "called off {subject}",
    "cancel": "cancelled {subject}",
    "cancel_runs": "cancelled {number} runs of {subject}",
    "challenge": "requested {subject} of submission {submission} against {opponent}",
    "change": "changed {subject}",
    "change_announcement": "changed the announcement “{title}”",
    "change_role": "changed the role of {user} in {competition} from {before} to {role}",
    "choose": "chose the submission that counts of {subject}",
    "compare": "compared {subject}",
    "confirm_licence": "confirmed the licence of submission {submission} in {subject}",
    "decline_account": "declined {subject}",
    "decline_invitation": "declined {subject}",
    "delete_competition": "deleted the competition {slug}, to which nobody had submitted anything",
    "disable_webhook": "disabled {subject}, since {host} had failed for a week",
    "discard": "discarded {subject}",
    "disqualify": "disqualified {subject}",
    "drain": "took {subject} out of service",
    "drain_host": "took {subject} out of service, because its results differ",
    "draw": "drew {subject}",
    "enable_webhook": "enabled {subject}",
    "end": "ended {subject}",
    "end_baseline": "ended that {subject} is a baseline",
    "enter": "entered {subject}",
    "exchange": "exchanged {matches} matches of {subject}",
    "export_archive": "exported the competition {slug} into an archive",
    "extend": "extended {subject}",
    "fail_match": "ended {subject} after platform errors",
    "fault": "recorded a platform error at {subject}",
    "file": "objected with {subject}",
    "forget_frames": "deleted the frames of {subject}",
    "freeze": "froze {subject}",
    "give_up": "gave up {subject}",
    "grant_role": "made {user} {role} of {competition}",
    "hand_over": "handed {competition} over from {before} to {user}",
    "hide": "hid {subject}",
    "import": "imported {subject}",
    "import_archive": "imported the competition {slug} from an archive of {origin}",
    "inconsistent": "found that the model of {subject} failed its audit",
    "invite": "invited {username} with {subject}",
    "issue": "issued {subject}",
    "join_host": "let {host} join as a worker host",
    "keep_validation_set": "kept the validation set of {subject}",
    "leave": "took {subject} out of its tournament",
    "leave_out_titles": "left hidden titles out of the outcome of {subject}",
    "leave_out": "left a submission of {subject} out",
    "make": "made {subject}",
    "make_baseline": "made {subject} a baseline",
    "make_sign_up_link": "made {subject} for {note}",
    "open": "opened {subject} early",
    "overdue": "found {subject} overdue",
    "override_audit": "overrode the audit of entry {entry} in {subject}",
    "pause": "paused {subject}",
    "plan": "planned {subject}",
    "publish": "published {subject}",
    "publish_terms": "published version {version} of the terms",
    "re-evaluate": "had {subject} evaluated again",
    "ready": "finished the checks of {subject}",
    "refund": "refunded {subject}",
    "refund_fault": "refunded the slot of {subject}",
    "refuse": "rejected {subject}",
    "refuse_device": "refused to let {client} sign in",
    "refuse_licence": "refused the licence of submission {submission} in {subject}",
    "reinstate": "reinstated {subject}",
    "reject": "rejected {subject}",
    "rejudge": "began {subject}",
    "release": "released the {part} of round {round}",
    "remove_announcement": "removed the announcement “{title}”",
    "remove_member": "removed a member from {subject}",
    "remove_page": "removed the page “{page}”",
    "remove_webhook": "removed {subject} to {host}",
    "reopen": "opened {subject} again",
    "replace": "replaced the signing key by {subject}",
    "replay": "had {subject} replayed",
    "request_account": "asked for {subject}",
    "resume": "resumed {subject}",
    "resume_host": "returned {subject} to service after a check",
    "retry": "had {subject} built again",
    "retry_now": "had {subject} retried at once",
    "return_host": "returned {subject} to service",
    "revoke": "revoked {subject}",
    "revoke_tokens": "revoked {tokens} access tokens of {subject}",
    "rotate": "rotated the signing key to {subject}",
    "score": "scored {subject}",
    "set_rules": "set version {version} of the rules",
    "show_again": "showed {subject} again",
    "start": "started {subject}",
    "stop": "stopped {subject}, which waits for an organiser",
    "submit": "submitted {subject} as {tag}",
    "supersede": "replaced an evaluation by {subject}",
    "suspend_host": "took {subject} out of service after a failed check",
    "take_role_away": "took the role {role} in {competition} away from {user}",
    "unarchive": "took the competition {slug} back from the archive",
    "unfreeze": "unfroze {subject}",
    "uphold": "upheld {subject}",
    "upload": "uploaded {subject}",
    "use_sign_up_link": "signed up with {subject}",
    "void": "ended {subject} without a score",
    "withdraw": "withdrew {subject}",
    "withdraw_invitation": "withdrew {subject}",
    "withdraw_sign_up_link": "withdrew {subject}",
    "write_page": "wrote the page “{page}”",
    ".added": "added {subject}",
    ".changed": "changed {fields} of {subject}",
    ".deleted": "deleted {subject}",
}


class _Values(dict[str, Any]):
    """Data of an event. A name that an old event lacks becomes "?"."""

    def __missing__(self, name: str) -> str:
        return "?"


def sentence(event: Event) -> str:
    """Return what happened: who did what. `event` comes with `by`."""
    who = event.by.get_username() if event.by is not None else "The site"
    kind = event.verb[event.verb.find(".") :] if "." in event.verb else event.verb
    data = {name: _in_words(value) for name, value in event.data.items()}
    phrase = PHRASES.get(kind, f"did “{event.verb}” to {{subject}}")
    return f"{who} {phrase.format_map(_Values(data | {'subject': _row(event.subject)}))}."


def _in_words(value: Any) -> str:
    return ", ".join(map(str, value)) or "nothing" if isinstance(value, list) else str(value)


def _row(subject: str) -> str:
    """Return a subject such as "quotaslot:3" in words: "quota slot 3"."""
    name, _, key = subject.partition(":")
    return f"{_model_names().get(name, name)} {key}"


@lru_cache(maxsize=1)
def _model_names() -> Mapping[str, str]:
    return {str(model._meta.model_name): str(model._meta.verbose_name) for model in apps.get_models()}
