"""Sessions that have ended."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.sessions.models import Session
from django.test import Client

from accounts.models import User
from accounts.tasks import remove_expired_sessions
from core import clock


def test_only_sessions_that_have_ended_are_removed(alice: User, bob: User) -> None:
    for each in (alice, bob):
        Client().force_login(each)
    ended = Session.objects.first()
    assert ended is not None
    Session.objects.filter(pk=ended.pk).update(expire_date=clock.now() - timedelta(seconds=1))
    remove_expired_sessions()
    assert Session.objects.count() == 1
    assert not Session.objects.filter(pk=ended.pk).exists()
