from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.signing import Signer
from django.db import connection
from django.test import Client
from pytest_django import Settings

from accounts.models import User
from config.environment import Environment
from config.worker_host_settings import host_settings
from core import clock
from core.errors import Refusal
from core.models import Event
from core.site_identity import require_identity
from workers import host_comparisons, host_credentials
from workers.host_credentials import join, join_key, make_credential, use_host_token
from workers.models import Host, HostCredential, Worker

SHARED = {
    "DATABASE_URL": "postgresql://gauntlet:secret@database.example/gauntlet",
    "GAUNTLET_BROKER": "redis://:secret@broker.example/0",
    "GAUNTLET_OBJECTS": "s3+https://key:secret@objects.example/arena",
}
HOSTS = "/admin/workers/hostcredential/"


@pytest.fixture(autouse=True)
def _addresses(settings: Settings) -> None:
    settings.HOST_SETTINGS = host_settings(Environment(SHARED | {"GAUNTLET_TEAM_WORKER_SECONDS": "3600"}))


@pytest.fixture
def olga(db: None) -> User:
    return User.objects.create_superuser("olga", "", "a long enough password")


def post_key(client: Client, key: object, **options: Any) -> Any:
    return client.post("/hosts/join", json.dumps({"key": key}), content_type="application/json", **options)


def test_a_host_joins_once_with_the_command_that_the_admin_shows(client: Client, olga: User) -> None:
    require_identity()
    client.force_login(olga)
    page = client.post(f"{HOSTS}add/", {"host": "gpu-1"}, follow=True)
    made = HostCredential.objects.get()
    key = join_key(made)
    assert f"python manage.py join http://testserver {key}" in page.content.decode()

    joined = post_key(Client(), key).json()
    assert joined["host"] == "gpu-1"
    assert joined["settings"].items() >= (SHARED | {"GAUNTLET_TEAM_WORKER_SECONDS": "3600"}).items()
    assert joined["settings"]["GAUNTLET_WORKER_NAME"] == "gpu-1"
    token = joined["settings"]["GAUNTLET_HOST_TOKEN"]
    assert use_host_token(token) == made
    asked = Client().get("/hosts/identity", headers={"Authorization": f"Bearer {token}"})
    assert asked.json() == {"identity": joined["identity"]}

    again = post_key(Client(), key)
    assert (again.status_code, again.json()["problem"]) == (400, "this key was used, has expired or is revoked")
    shown = client.get(f"{HOSTS}{made.pk}/change/").content.decode()
    assert "The key no longer works." in shown
    assert token not in shown
    made.refresh_from_db()
    assert token not in str(vars(made))
    sentences = [event.sentence for event in Event.objects.filter(subject=f"hostcredential:{made.pk}").order_by("pk")]
    assert sentences == [f"olga made host credential {made.pk}.", "The site let gpu-1 join as a worker host."]


def test_a_key_expires_after_an_hour(olga: User, client: Client) -> None:
    made = make_credential(host="gpu-1", by=olga)
    key = join_key(made)
    HostCredential.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert post_key(client, key).status_code == 400
    assert join_key(HostCredential.objects.get()) == ""
    make_credential(host="gpu-1", by=olga)  # the expired one does not stand in the way


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"key": 1}', '{"key": "gpu"}', "x" * 9000, "[" * 4000])
def test_what_is_no_key_is_refused_with_cause_and_fix(db: None, client: Client, body: str) -> None:
    answer = client.post("/hosts/join", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["problem"]
    assert answer.json()["fix"]


def test_a_key_opens_no_later_credential_that_has_its_number_after_a_restore(olga: User) -> None:
    made = make_credential(host="gpu-1", by=olga)
    old_key, number = join_key(made), made.pk
    made.delete()  # what a backup from before it restores
    HostCredential.objects.filter(pk=make_credential(host="gpu-2", by=olga).pk).update(id=number)
    with pytest.raises(Refusal, match="was used, has expired or is revoked"):
        join(old_key)
    assert join(join_key(HostCredential.objects.get()))[0].host == "gpu-2"


def test_a_key_of_an_earlier_version_works_until_its_end(olga: User) -> None:
    made = make_credential(host="gpu-1", by=olga)
    HostCredential.objects.update(nonce="")
    assert join(Signer(salt="workers.host_credentials", sep=".").sign(str(made.pk)))[0] == made


def test_passwords_are_not_sent_without_tls(olga: User, client: Client) -> None:
    key = join_key(make_credential(host="gpu-1", by=olga))
    assert post_key(client, key, REMOTE_ADDR="192.0.2.7").status_code == 403
    assert post_key(client, key, REMOTE_ADDR="192.0.2.7", secure=True).status_code == 200


def test_a_host_has_one_credential_at_a_time(olga: User) -> None:
    made = make_credential(host="gpu-1", by=olga)
    key = join_key(made)
    with pytest.raises(Refusal, match="gpu-1 has a credential already"):
        make_credential(host="gpu-1", by=olga)
    host_credentials.revoke(credential=made, by=olga, reason="A typo.")
    with pytest.raises(Refusal, match="already revoked"):
        host_credentials.revoke(credential=made, by=olga, reason="A typo.")
    with pytest.raises(Refusal, match="was used, has expired or is revoked"):
        join(key)
    make_credential(host="gpu-1", by=olga)


@pytest.mark.parametrize("name", ["", "-gpu", "gpu 1", "gpu/1", "g" * 64, "größe"])
def test_a_name_that_no_host_has_is_refused(olga: User, name: str) -> None:
    with pytest.raises(Refusal, match="is not the name of a host"):
        make_credential(host=name, by=olga)


@pytest.mark.parametrize(
    ("changed", "cause"),
    [
        ({"DATABASE_URL": ""}, "cannot use the database of this site"),
        ({"DATABASE_URL": "sqlite:////srv/site.sqlite3"}, "cannot use the database of this site"),
        ({"GAUNTLET_BROKER": "filesystem:///srv/broker"}, "cannot use the broker of this site"),
        ({"GAUNTLET_OBJECTS": ""}, "cannot use the object store of this site"),
        ({"DATABASE_URL": "postgresql://gauntlet@127.0.0.1/gauntlet"}, "cannot reach the database of this site"),
        ({"DATABASE_URL": "postgresql://gauntlet@database/gauntlet"}, "cannot reach the database of this site"),
    ],
)
def test_hosts_are_not_invited_to_what_they_cannot_reach(
    olga: User, client: Client, settings: Settings, changed: dict[str, str], cause: str
) -> None:
    settings.HOST_SETTINGS = host_settings(Environment(SHARED | changed))
    client.force_login(olga)
    page = client.post(f"{HOSTS}add/", {"host": "gpu-1"}, follow=True)
    assert cause in page.content.decode()
    assert not HostCredential.objects.exists()


def test_hosts_get_the_address_that_is_meant_for_them() -> None:
    inside = SHARED | {
        "DATABASE_URL": "postgresql://gauntlet@database/gauntlet",
        "GAUNTLET_JOIN_DATABASE_URL": "postgresql://gauntlet@10.0.0.1/gauntlet",
    }
    assert host_settings(Environment(inside))()["DATABASE_URL"] == "postgresql://gauntlet@10.0.0.1/gauntlet"


@pytest.mark.django_db(transaction=True)
def test_of_two_hosts_with_one_key_one_joins(settings: Settings) -> None:
    key = join_key(make_credential(host="gpu-1", by=User.objects.create_superuser("olga", "", "a long password 1")))

    def attempt(_: int) -> str:
        try:
            return join(key)[1]
        except Refusal:
            return ""
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        tokens = [token for token in pool.map(attempt, range(2)) if token]
    assert [use_host_token(token) for token in tokens] == [HostCredential.objects.get()]


def test_an_operator_drains_the_host_of_a_worker_and_returns_it(olga: User) -> None:
    now = clock.now()
    worker = Worker.objects.create(name="gpu-1/0", worker_class="cpu", started_at=now, last_seen_at=now)
    host_comparisons.drain(worker, olga, "It moves to another room.")
    host = Host.objects.get()
    assert (host.name, host.is_drained, host.problem) == ("gpu-1", True, "drained: It moves to another room.")
    with pytest.raises(Refusal, match="already drained"):
        host_comparisons.drain(worker, olga, "Again.")
    host_comparisons.return_to_service(host, olga, "It is back.")
    host.refresh_from_db()
    assert not host.is_drained
