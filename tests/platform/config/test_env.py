"""Readers of environment variables."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from config.environment import Environment
from config.worker_host_settings import OF_ENGINE
from evaluation.builder.docker_build_settings import build_settings_from_environment


def test_flags_lists_and_texts_are_read_and_defaults_replace_missing_values(tmp_path: Path) -> None:
    env = Environment({"FLAG": " Yes ", "HOSTS": "a.example, b.example,", "TEXT": "word", "EMPTY": ""})
    assert env.flag("FLAG", default=False) is True
    assert env.flag("EMPTY", default=True) is True
    assert env.names("HOSTS", ()) == ["a.example", "b.example"]
    assert env.names("NONE", ("c.example",)) == ["c.example"]
    assert env.text("TEXT", "other") == "word"
    assert env.text("NONE", "other") == "other"


def test_a_file_holds_the_value_of_a_variable(tmp_path: Path) -> None:
    (tmp_path / "address").write_text("sqlite:////srv/a.sqlite3\n")
    env = Environment({"DATABASE_URL_FILE": str(tmp_path / "address")})
    assert env.database("DATABASE_URL", "")["NAME"] == "/srv/a.sqlite3"


def test_it_rejects_a_file_that_cannot_be_read_and_one_beside_the_variable(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(ImproperlyConfigured, match=r"NAME_FILE cannot be read .* Name a file with NAME"):
        Environment({"NAME_FILE": missing}).text("NAME", "default")
    with pytest.raises(ImproperlyConfigured, match="NAME and NAME_FILE are both set"):
        Environment({"NAME_FILE": missing, "NAME": "value"}).text("NAME", "default")


def test_the_engine_has_the_value_of_a_file_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address of a mirror holds a password, so it may be a secret of a container."""
    (tmp_path / "mirror").write_text("https://builder:secret@mirror.example/simple\n")
    monkeypatch.setenv("GAUNTLET_PIP_INDEX_URL", "")  # so that it is as before after the test
    monkeypatch.setenv("GAUNTLET_PIP_INDEX_URL_FILE", str(tmp_path / "mirror"))
    for _ in ("a program", "another one that it starts"):
        Environment().export(OF_ENGINE)
    assert build_settings_from_environment().index_url == "https://builder:secret@mirror.example/simple"


def test_it_rejects_a_flag_that_is_neither_yes_nor_no() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"FLAG is 'maybe'\. Set it to true or false"):
        Environment({"FLAG": "maybe"}).flag("FLAG", default=False)


@pytest.mark.parametrize(
    ("address", "name"), [("sqlite:///site.sqlite3", "site.sqlite3"), ("sqlite:////srv/a.sqlite3", "/srv/a.sqlite3")]
)
def test_it_reads_a_sqlite_address(address: str, name: str) -> None:
    database = Environment({"DATABASE_URL": address}).database("DATABASE_URL", "")
    assert database["ENGINE"] == "django.db.backends.sqlite3"
    assert database["NAME"] == name
    assert database["OPTIONS"]["transaction_mode"] == "IMMEDIATE"


def test_it_reads_a_postgresql_address() -> None:
    env = Environment({"DATABASE_URL": "postgresql://gauntlet:p%40ss@db.example:5433/arena"})
    database = env.database("DATABASE_URL", "")
    assert database["ENGINE"] == "django.db.backends.postgresql"
    expected = {"NAME": "arena", "USER": "gauntlet", "PASSWORD": "p@ss", "HOST": "db.example", "PORT": 5433}
    assert {key: database[key] for key in expected} == expected


@pytest.mark.parametrize(("parameter", "cursors_on_the_server"), [("", True), ("?pooler=transaction", False)])
def test_no_cursor_stays_open_between_transactions_behind_a_pooler(parameter: str, cursors_on_the_server: bool) -> None:
    env = Environment({"DATABASE_URL": f"postgresql://gauntlet@db.example/arena{parameter}"})
    database = env.database("DATABASE_URL", "")
    assert (database["NAME"], database["DISABLE_SERVER_SIDE_CURSORS"]) == ("arena", not cursors_on_the_server)


def test_postgresql_soon_ends_the_transactions_of_a_host_that_is_gone(db: None) -> None:
    """They keep their locks until then. A pooler, which refuses such parameters, has settings of its own."""
    env = Environment({"DIRECT": "postgresql://u@h/n", "POOLED": "postgresql://u@h/n?pooler=transaction"})
    assert "-c tcp_keepalives_idle=10 " in env.database("DIRECT", "")["OPTIONS"]["options"]
    assert "options" not in env.database("POOLED", "")["OPTIONS"]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW tcp_keepalives_idle")
            assert cursor.fetchone() == ("10",)


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u:secret@h/n",
        "sqlite://",
        "sqlite:///",
        "postgresql:///n",
        "postgresql://u:secret@h/",
        "postgresql://u:secret@h:x/n",
        "postgresql://u:secret@h/n?pooler=session",
    ],
)
def test_it_rejects_a_database_address_without_showing_the_password(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as caught:
        Environment({"DATABASE_URL": address}).database("DATABASE_URL", "")
    assert "secret" not in str(caught.value)


def test_it_reads_a_number_with_a_minimum() -> None:
    assert Environment({"PROXIES": "0"}).number("PROXIES", 1, least=0) == 0
    with pytest.raises(ImproperlyConfigured, match="PROXIES is '0'"):
        Environment({"PROXIES": "0"}).number("PROXIES", 1)
    with pytest.raises(ImproperlyConfigured, match="PROXIES is '-1'"):
        Environment({"PROXIES": "-1"}).number("PROXIES", 1, least=0)


def test_a_cache_is_shared_by_all_processes(tmp_path: Path) -> None:
    files = Environment({"BROKER": "filesystem:///srv/broker"}).cache("CACHE", "BROKER", otherwise_in=tmp_path)
    assert files["BACKEND"].endswith("FileBasedCache")
    assert files["LOCATION"] == str(tmp_path)
    redis = Environment({"BROKER": "redis://h:6379/1"}).cache("CACHE", "BROKER", otherwise_in=tmp_path)
    assert redis["BACKEND"].endswith("RedisCache")
    assert redis["LOCATION"] == "redis://h:6379/1"


def test_the_cache_may_be_another_server_than_the_broker(tmp_path: Path) -> None:
    both = {"BROKER": "redis://h:6379/0", "CACHE": "rediss://:word@cache:6379/0"}
    assert Environment(both).cache("CACHE", "BROKER", otherwise_in=tmp_path)["LOCATION"] == both["CACHE"]


@pytest.mark.parametrize("address", ["redis://", "memcached://u:secret@h", "h:6379"])
def test_it_rejects_a_cache_address_without_showing_the_password(tmp_path: Path, address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="CACHE is not the address of a Redis server") as caught:
        Environment({"CACHE": address}).cache("CACHE", "BROKER", otherwise_in=tmp_path)
    assert "secret" not in str(caught.value)


def test_it_makes_a_secret_once(tmp_path: Path) -> None:
    place = tmp_path / "state" / "key"
    first = Environment({}).secret("KEY", kept_in=place)
    assert first == Environment({}).secret("KEY", kept_in=place)
    assert place.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in place.parent.iterdir()] == ["key"]


def test_it_uses_the_secret_that_is_set(tmp_path: Path) -> None:
    place = tmp_path / "key"
    assert Environment({"KEY": "k" * 50}).secret("KEY", kept_in=place) == "k" * 50
    assert not place.exists()


def test_it_rejects_a_short_secret(tmp_path: Path) -> None:
    with pytest.raises(ImproperlyConfigured, match="KEY is shorter than 50 characters"):
        Environment({"KEY": "short"}).secret("KEY", kept_in=tmp_path / "key")


def test_it_rejects_a_place_for_the_secret_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ImproperlyConfigured, match=r"Set KEY\."):
        Environment({}).secret("KEY", kept_in=tmp_path / "file" / "key")


def test_it_makes_a_folder(tmp_path: Path) -> None:
    assert Environment({}).folder("STATE", tmp_path / "a" / "b").is_dir()
    assert Environment({"STATE": str(tmp_path)}).folder("STATE", tmp_path / "c") == tmp_path


def test_it_rejects_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ImproperlyConfigured, match="Set STATE to a writable folder"):
        Environment({}).folder("STATE", tmp_path / "file" / "state")


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    made = Environment({}).folder("STATE", tmp_path / "new")
    assert made.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("kept", ["", "secret-key", "static"])
def test_a_public_folder_of_the_site_is_made_private(tmp_path: Path, kept: str) -> None:
    state = tmp_path / "state"
    (state / kept).mkdir(parents=True)
    state.chmod(0o755)
    assert Environment({"STATE": str(state)}).folder("STATE", tmp_path).stat().st_mode & 0o777 == 0o700


def test_the_default_folder_is_made_private_with_any_content(tmp_path: Path) -> None:
    (tmp_path / "default" / "demo").mkdir(parents=True)
    (tmp_path / "default").chmod(0o755)
    assert Environment({}).folder("STATE", tmp_path / "default").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o1777])
def test_it_rejects_a_public_folder_of_others(tmp_path: Path, mode: int) -> None:
    """Such as /srv or /tmp, which must stay public."""
    shared = tmp_path / "shared"
    (shared / "home").mkdir(parents=True)
    shared.chmod(mode)
    with pytest.raises(ImproperlyConfigured, match=r"open to other users of this host.*chmod 700.*set STATE to"):
        Environment({"STATE": str(shared)}).folder("STATE", tmp_path)
    assert shared.stat().st_mode & 0o7777 == mode


def test_a_public_database_file_and_its_side_files_are_made_private(tmp_path: Path) -> None:
    files = [tmp_path / f"site.sqlite3{end}" for end in ("", "-wal", "-shm")]
    for file in files:
        file.touch()
        file.chmod(0o644)
    Environment({"DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3"}).database("DATABASE_URL", "")
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 3


def test_it_reads_two_colours() -> None:
    env = Environment({"ACCENT": "#0B5C8A, #7cc4ef", "ONE": "#0b5c8a", "NAMED": "red,blue"})
    assert env.colours("ACCENT") == ("#0b5c8a", "#7cc4ef")
    assert env.colours("NONE") is None
    for name in ("ONE", "NAMED"):
        with pytest.raises(ImproperlyConfigured, match=f"{name} is .*two colours, for light and for dark pages"):
            env.colours(name)


def test_it_rejects_a_name_of_the_site_that_fits_no_title() -> None:
    assert Environment({}).name_of_site("NAME", "Gauntlet") == "Gauntlet"
    for value in ("x" * 41, "two\nlines"):
        with pytest.raises(ImproperlyConfigured, match="at most 40 printable characters"):
            Environment({"NAME": value}).name_of_site("NAME", "Gauntlet")


def test_it_reads_the_address_of_a_collector_and_repeats_no_password_of_a_wrong_one() -> None:
    assert Environment({}).collector("TRACES") == ""
    assert Environment({"TRACES": "http://collector:4318/"}).collector("TRACES") == "http://collector:4318"
    with pytest.raises(ImproperlyConfigured, match="TRACES is not the address of a collector") as raised:
        Environment({"TRACES": "name:secret@collector:4318"}).collector("TRACES")
    assert "secret" not in str(raised.value)
