"""The e-mail to the captain of a team whose webhook was disabled."""

from __future__ import annotations

import logging

from django.conf import settings
from django.core.mail import send_mail

from accounts.models import Membership
from core import platform_error_report
from webhooks.models import Webhook
from webhooks.receiver_address import host_of

log = logging.getLogger(__name__)

_TEXT = """\
{site} sends nothing more to the webhook of {team} at {host}: every attempt had failed for a week.

The page of the webhook, which the page of your team leads to, has the last answers. Correct the cause, send a test, and
enable the webhook. What happens meanwhile is not sent.

--\x20
{site}, {address}
"""


def tell_captain(webhook: Webhook) -> None:
    """Send the e-mail, if the captain has an address. An error of the mail server is only reported."""
    if webhook.team is None:
        return
    captains = Membership.objects.select_related("user").filter(team=webhook.team, role=Membership.Role.CAPTAIN)
    to = [each.user.email for each in captains if each.user.email and each.user.is_active]
    if not to:
        return
    host = host_of(webhook.address)
    text = _TEXT.format(
        site=settings.SITE_NAME, team=webhook.team.name, host=host, address=settings.SITE_ADDRESS
    )  # fmt: skip
    try:
        send_mail(f"{settings.EMAIL_SUBJECT_PREFIX}The webhook at {host} is disabled", text, None, to)
    except OSError as error:
        platform_error_report.report(log, error, "the e-mail about disabled webhook %s was not sent", webhook.pk)
