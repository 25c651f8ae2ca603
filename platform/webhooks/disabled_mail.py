"""The e-mail to those whose webhook was disabled: the captain of a team, or organisers."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from django.conf import settings
from django.core.mail import send_mail

from accounts.models import Membership, User
from competitions.permissions import may
from core import platform_error_report
from core.roles import OrganiserRole, Right
from webhooks.models import Webhook
from webhooks.receiver_address import host_of

log = logging.getLogger(__name__)

_TEXT = """\
{site} sends nothing more to the webhook of {owner} at {host}: every attempt had failed for a week.

{page} has the last answers. Correct the cause, send a test, and enable the webhook. What happens meanwhile is not sent.

--\x20
{site}, {address}
"""
_PAGE_OF_TEAM = "The page of the webhook, which the page of your team leads to,"
_PAGE_OF_ORGANISERS = "The page of the webhook in the admin"


def tell_owners(webhook: Webhook) -> None:
    """Send the e-mail to those who have an address. An error of the mail server is only reported."""
    to = sorted({each.email for each in _owners(webhook) if each.email and each.is_active})
    if not to:
        return
    host, team = host_of(webhook.address), webhook.team
    text = _TEXT.format(
        site=settings.SITE_NAME,
        owner=team.name if team else f"the organisers of {webhook.competition.title}",
        host=host,
        page=_PAGE_OF_TEAM if team else _PAGE_OF_ORGANISERS,
        address=settings.SITE_ADDRESS,
    )
    try:
        send_mail(f"{settings.EMAIL_SUBJECT_PREFIX}The webhook at {host} is disabled", text, None, to)
    except OSError as error:
        platform_error_report.report(log, error, "the e-mail about disabled webhook %s was not sent", webhook.pk)


def _owners(webhook: Webhook) -> Iterable[User]:
    """Return the captain; of organisers who added it, or if they no longer run the competition the owners of that."""
    if webhook.team is not None:
        return User.objects.filter(memberships__team=webhook.team, memberships__role=Membership.Role.CAPTAIN)
    if may(webhook.made_by, webhook.competition, Right.RUN):
        return [webhook.made_by]
    return User.objects.filter(
        organiser_roles__competition=webhook.competition, organiser_roles__role=OrganiserRole.OWNER
    )
