"""Settings of the site. Operators configure it with environment variables, read by `config.environment`.

The defaults are safe: no debug pages, a generated secret key, SQLite, only the host names of this host, and players in
Docker.
"""

from __future__ import annotations

import os
import socket
from datetime import timedelta
from pathlib import Path

import drf_spectacular_sidecar
from celery.schedules import crontab
from csp.constants import NONCE, SELF
from django.core.exceptions import ImproperlyConfigured
from whitenoise.compress import Compressor

from config.admin_theme import unfold
from config.environment import Environment
from config.file_permissions import UMASK
from config.log_settings import FORMATS, LEVELS, log_settings
from config.worker_host_settings import OF_ENGINE, host_settings
from core.sandbox_trust import trust_problem

env = Environment()

# set here because every program reads the settings first; git and the hooks inherit it
os.umask(UMASK)

ROOT = Path(__file__).resolve().parent.parent.parent
STATE = env.folder("GAUNTLET_STATE", ROOT / ".gauntlet").resolve()
"""Folder of all files of the site, or of a worker host."""
env = env.with_file(STATE / "host-settings")  # written by `manage.py join`
env.export(OF_ENGINE)

DEBUG = env.flag("GAUNTLET_DEBUG", default=False)
SECRET_KEY = env.secret("GAUNTLET_SECRET_KEY", kept_in=STATE / "secret-key")
ALLOWED_HOSTS = env.names("GAUNTLET_HOSTS", ("localhost", "127.0.0.1", "[::1]"))

# the brand; `manage.py check` looks at the logo and at the contrast of the colours
SITE_NAME = env.name_of_site("GAUNTLET_NAME", "Gauntlet")
SITE_LOGO = Path(_logo).resolve() if (_logo := env.text("GAUNTLET_LOGO", "")) else None
SITE_ACCENT = env.colours("GAUNTLET_ACCENT")
"""Colours of links and first buttons, for light and for dark pages, or None."""
UNFOLD = unfold(SITE_NAME)

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "core.administration.admin_site.LazyAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "csp",
    "allauth",
    "allauth.account",
    "rest_framework",
    "drf_spectacular",
    "core.apps.CoreConfig",
    "accounts.apps.AccountsConfig",
    "competitions.apps.CompetitionsConfig",
    "workers.apps.WorkersConfig",
    "repositories.apps.RepositoriesConfig",
    "submissions.apps.SubmissionsConfig",
    "rounds.apps.RoundsConfig",
    "webhooks.apps.WebhooksConfig",
    "api.apps.ApiConfig",
    "pages.apps.PagesConfig",
    "operations.apps.OperationsConfig",
    "demo.apps.DemoConfig",
    "formats.query.matches.apps.MatchesConfig",
    "formats.query.leaderboards.apps.LeaderboardsConfig",
    "formats.query.challenges.apps.ChallengesConfig",
    "formats.query.rounds.apps.QueryRoundsConfig",
    "formats.query.apps.QueryConfig",
    "formats.transfer.tournaments.apps.TournamentsConfig",
    "formats.transfer.apps.TransferConfig",
    "formats.curves.apps.CurvesConfig",
    "config.apps.StartedConfig",  # last: it is ready when all others are
]
MIDDLEWARE = [
    "core.request_id.request_id",
    "core.health_check.health",
    "core.reader_time_zone.reader",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "core.compression.CompressPages",
    "core.cache_headers.private_pages",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "pages.site.body_limit.BodyLimit",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "pages.site.request_limit.limit_anonymous_requests",
    "allauth.account.middleware.AccountMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "csp.middleware.CSPMiddleware",
    "core.admin_content_security_policy.admin_policy",
    "pages.site.error_views.explain_wrong_method",
    "core.nul_characters.no_nul",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "config.plain_number_templates.PlainNumbers",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "pages.site.brand.context",
            ]
        },
    }
]

DATABASES = {"default": env.database("DATABASE_URL", f"sqlite:///{STATE / 'site.sqlite3'}")}
CACHES = {"default": env.cache("GAUNTLET_CACHE", "GAUNTLET_BROKER", otherwise_in=STATE / "cache")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DEFAULT_FORMAT = "query"
"""Format of rules that name none, as the files of competitions did while there was one."""

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "config.formats"
DATETIME_FORMAT = "Y-m-d H:i:s T"  # of the admin, in UTC and to the second

STATIC_URL = "static/"
STATIC_ROOT = STATE / "static"
STATIC_ROOT.mkdir(exist_ok=True)
# the engine draws charts, so it has their style sheet
# of the sidecar the site serves the program that draws the API, not the other one
STATICFILES_DIRS = [
    ROOT / "static",
    ("css", ROOT / "evaluation" / "charts" / "static"),
    ("swagger-ui", Path(drf_spectacular_sidecar.__file__).parent / "static/drf_spectacular_sidecar/swagger-ui-dist"),
]
# pages name files by their digests alone, and no page reads a source map
WHITENOISE_KEEP_ONLY_HASHED_FILES = True
WHITENOISE_SKIP_COMPRESS_EXTENSIONS = (*Compressor.SKIP_COMPRESS_EXTENSIONS, "map")
OBJECTS = env.bucket("GAUNTLET_OBJECTS")
"""The bucket of the object store; None where it is a folder, which hosts that share work share."""
_folder = {"BACKEND": "core.object_store.ObjectFolder", "OPTIONS": {"location": STATE / "objects"}}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "objects": {"BACKEND": "core.s3_object_store.ObjectBucket", "OPTIONS": OBJECTS} if OBJECTS else _folder,
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# folders of the site; hosts that share work share them, or fetch commits from a web host
REPOSITORIES = STATE / "repositories"
CHECKOUTS = STATE / "checkouts"
INSTALLED_LAYERS = STATE / "installed-layers"
HOST_TOKEN = env.text("GAUNTLET_HOST_TOKEN", "")
"""With it a worker host that lacks the folder of repositories fetches commits from SITE_ADDRESS; "" elsewhere."""
HOST_SETTINGS = host_settings(env)
"""Returns the environment variables for a worker host that joins."""
IMAGES_KEPT = timedelta(days=env.number("GAUNTLET_IMAGES_KEPT_DAYS", 14))

PROXIES = env.number("GAUNTLET_PROXIES", 0, least=0)
"""Number of trusted proxies: so many entries at the end of X-Forwarded-For are trusted."""

ANONYMOUS_REQUESTS = env.number("GAUNTLET_ANONYMOUS_REQUESTS", 1200, least=0)
"""What one network address may ask of the pages in a minute without signing in (`pages.site.request_limit`); 0: all."""

# people
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "pages:home"
SIGN_UP = env.choice("GAUNTLET_SIGN_UP", ("open", "email", "approval", "invitation"))
"""Who can sign up: everybody, people with a verified e-mail address, approved people, or invited people."""
ACCOUNT_ADAPTER = "accounts.allauth_adapter.AccountAdapter"
ACCOUNT_FORMS = {
    "login": "accounts.allauth_forms.LoginForm",
    "signup": "accounts.allauth_forms.SignupForm",
    "add_email": "accounts.allauth_forms.AddEmailForm",
    "reset_password": "accounts.allauth_forms.ResetPasswordForm",
    "change_password": "accounts.password_forms.ChangePasswordForm",
    "reset_password_from_key": "accounts.password_forms.ResetPasswordKeyForm",
}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
_EMAIL = "email*" if SIGN_UP in {"email", "approval"} else "email"
ACCOUNT_SIGNUP_FIELDS = ["username*", _EMAIL, "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "mandatory" if SIGN_UP == "email" else "none"
# a random key for each link: one that signs the number of an address opens another one of this number after a restore
ACCOUNT_EMAIL_CONFIRMATION_HMAC = False
# failed attempts per address, and per address and name
# and codes under which no program waits to sign in, per address and person
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key", "device_code": "60/10m/ip,20/10m/user"}
ALLAUTH_TRUSTED_PROXY_COUNT = PROXIES
ACCOUNT_USERNAME_BLACKLIST = ["admin", "organiser", "gauntlet"]
ACCOUNT_USERNAME_VALIDATORS = "accounts.name_rules.USERNAME_VALIDATORS"

# e-mail: none is sent without a host
EMAIL_HOST = env.text("GAUNTLET_EMAIL_HOST", "")
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'dummy'}.EmailBackend"
EMAIL_PORT = env.number("GAUNTLET_EMAIL_PORT", 587)
EMAIL_USE_SSL = EMAIL_PORT == 465
EMAIL_USE_TLS = EMAIL_PORT == 587
EMAIL_TIMEOUT = 10
EMAIL_HOST_USER = env.text("GAUNTLET_EMAIL_USER", "")
EMAIL_HOST_PASSWORD = env.text("GAUNTLET_EMAIL_PASSWORD", "")
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("GAUNTLET_EMAIL_FROM", f"gauntlet@{socket.gethostname()}")
EMAIL_SUBJECT_PREFIX = ACCOUNT_EMAIL_SUBJECT_PREFIX = f"[{SITE_NAME}] "

# the log, and who gets its errors by e-mail
ADMINS = [(address, address) for address in env.addresses("GAUNTLET_ADMINS")]
LOGGING = log_settings(level=env.choice("GAUNTLET_LOG_LEVEL", LEVELS), form=env.choice("GAUNTLET_LOG_FORMAT", FORMATS))

# clones and pushes
WEB_THREADS = env.number("GAUNTLET_WEB_THREADS", 16, least=2)
"""Threads of each process of the web server (`config.web_server`)."""
MAX_GIT_REQUESTS = env.number(
    "GAUNTLET_MAX_GIT_REQUESTS",
    WEB_THREADS // 2,
    most=WEB_THREADS - 1,
    because=f"each clone or push holds one of {WEB_THREADS} threads (GAUNTLET_WEB_THREADS), and pages need one, too",
)
MAX_GIT_REQUESTS_PER_USER = env.number("GAUNTLET_MAX_GIT_REQUESTS_PER_USER", 2)
MAX_PUSH_BYTES = env.number("GAUNTLET_MAX_PUSH_BYTES", 512 << 20)
MAX_REPOSITORY_BYTES = env.number("GAUNTLET_MAX_REPOSITORY_BYTES", 4 << 30)
MAX_FILE_BYTES = env.number("GAUNTLET_MAX_FILE_BYTES", 256 << 20)
MAX_FILES = env.number("GAUNTLET_MAX_FILES", 10_000)
MAX_CHECKOUT_BYTES = env.number("GAUNTLET_MAX_CHECKOUT_BYTES", 2 << 30)
MAX_REFS = env.number("GAUNTLET_MAX_REFS", 5_000)
MAX_PUSH_REFS = env.number("GAUNTLET_MAX_PUSH_REFS", 1_000)
TEAM_PUSH_SECONDS = env.number("GAUNTLET_TEAM_PUSH_SECONDS", 600, least=20)
"""Processor seconds of the web hosts that the pushes of a team may cost in an hour; above, they are rejected."""
MAX_EXCHANGE_SECONDS = env.number("GAUNTLET_MAX_EXCHANGE_SECONDS", 1800)
"""Limit of one clone or push: enough for the largest push at 300 KiB/s."""
MIN_BYTES_PER_SECOND = env.number("GAUNTLET_MIN_BYTES_PER_SECOND", 16 << 10)
MAX_SLOW_SECONDS = env.number("GAUNTLET_MAX_SLOW_SECONDS", 20)
"""Seconds for which a git client may be slower than that; faster transfer restores part of them."""
MAX_STALL_SECONDS = env.number("GAUNTLET_MAX_STALL_SECONDS", 15)
"""Seconds for which a git client may send and receive nothing."""

# players and workers
SANDBOX = env.choice("GAUNTLET_SANDBOX", ("docker", "process"))
TRUST_EVERYBODY = env.flag("GAUNTLET_TRUST_EVERYBODY", default=False)
"""True if the process sandbox may run submissions on a site that others can reach."""
WORKER_NAME = env.text("GAUNTLET_WORKER_NAME", socket.gethostname())
WORKER_CLASS = env.choice("GAUNTLET_WORKER_CLASS", ("cpu", "gpu"))
WORKER_DEVICES = env.names("GAUNTLET_WORKER_DEVICES", ())
if WORKER_CLASS == "gpu" and not WORKER_DEVICES:
    raise ImproperlyConfigured(  # players with `gpu = true` would be played, and have none
        "GAUNTLET_WORKER_CLASS is gpu, and GAUNTLET_WORKER_DEVICES names no GPU. Set it to those of this host, such as "
        "0,1."
    )
WORKER_JOB = env.text("GAUNTLET_WORKER_JOB", "")
"""Tells apart the workers of one name on one host: those of a cluster's jobs."""
WORKER_IDLE_SECONDS = env.number("GAUNTLET_WORKER_IDLE_SECONDS", 0, least=0)
"""After so long without work a worker ends; 0: never."""
WORKER_STOP_SECONDS = env.number("GAUNTLET_WORKER_STOP_SECONDS", 0, least=0)
"""So long after SIGTERM a worker returns what it still plays or builds to the queue; 0: it ends that first."""
TEAM_WORKER_SECONDS = env.number("GAUNTLET_TEAM_WORKER_SECONDS", 86_400)
"""Worker seconds of a team in 24 hours, above which its pieces come after those of other teams."""
TEAM_BUILD_SECONDS = env.number("GAUNTLET_TEAM_BUILD_SECONDS", 14_400)
"""Build seconds of a team in 24 hours, above which its submissions are built after those of other teams."""
TEAM_CHALLENGES = env.number("GAUNTLET_TEAM_CHALLENGES", 5, least=0)
"""Unranked matches that a team may request in any 24 hours, in formats that offer them; 0: none."""

# the queue
CELERY_BROKER_URL, CELERY_BROKER_TRANSPORT_OPTIONS = env.broker("GAUNTLET_BROKER", f"filesystem://{STATE / 'broker'}")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
# messages are only notifications: acknowledged early and never waited for; sweeps find lost work
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "default"
# sweeps do not use the queues whose workers can be busy for a long time
CELERY_TASK_ROUTES = [
    {
        "submissions.build": {"queue": "build"},
        "submissions.collect_images": {"queue": "build"},
        # these need what only hosts with the site's own folder have, or (the check) compute as its scorer does
        "competitions.prepare_data_sets": {"queue": "files"},
        "rounds.copy_code": {"queue": "files"},
        "rounds.verify": {"queue": "files"},
        "repositories.clean_up": {"queue": "files"},
        "workers.play": {"queue": "play"},
        # receivers may be slow, so nothing else waits for them
        "webhooks.send": {"queue": "webhooks"},
    },
    "config.celery.route_of_apps",
]
CELERY_BEAT_SCHEDULER = "config.beat_scheduler:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(STATE / "beat-schedule")
CELERY_BEAT_SCHEDULE = {  # formats add theirs; late messages are kept, and many are one: `config.coalescing_task`
    "submissions.sweep": {"task": "submissions.sweep", "schedule": 10.0},
    "workers.sweep": {"task": "workers.sweep", "schedule": 10.0},
    "rounds.sweep": {"task": "rounds.sweep", "schedule": 10.0},
    "competitions.prepare_data_sets": {"task": "competitions.prepare_data_sets", "schedule": 30.0},
    "core.fold_table_changes": {"task": "core.fold_table_changes", "schedule": 10.0},
    "webhooks.send": {"task": "webhooks.send", "schedule": 10.0},
    "webhooks.forget_old": {"task": "webhooks.forget_old", "schedule": crontab(hour=5, minute=0)},
    "accounts.remove_expired_sessions": {
        "task": "accounts.remove_expired_sessions",
        "schedule": crontab(hour=5, minute=15),
    },
    "submissions.settle_late_tags": {"task": "submissions.settle_late_tags", "schedule": 60.0},
    "rounds.verify": {"task": "rounds.verify", "schedule": crontab(hour=3, minute=30)},
    "repositories.clean_up": {"task": "repositories.clean_up", "schedule": crontab(hour=4, minute=30)},
    "submissions.collect_images": {"task": "submissions.collect_images", "schedule": 3600.0},
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["api.json_parser.JsonParser"],
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "DEFAULT_THROTTLE_CLASSES": [
        "api.throttles.AnonymousThrottle",
        "api.throttles.PersonThrottle",
        "api.throttles.ScopeThrottle",
    ],
    "DEFAULT_THROTTLE_RATES": {"anon": "60/min", "user": "300/min", "device": "10/min"},
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "api.content_negotiation.JsonOrCsv",
    "DEFAULT_PAGINATION_CLASS": "api.pagination.NewestFirst",
    "DEFAULT_SCHEMA_CLASS": "api.openapi_extensions.Operation",
    "NUM_PROXIES": PROXIES,
    "EXCEPTION_HANDLER": "api.errors.answer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Gauntlet",
    "DESCRIPTION": "What the pages of the site show and do, for programs.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "PREPROCESSING_HOOKS": ["api.openapi_extensions.of_version_1"],
    # without the library's own: enumerations stay where they are used, `state` is another one for each object
    "POSTPROCESSING_HOOKS": ["api.openapi_extensions.any_of"],
    "ENABLE_LIST_MECHANICS_ON_NON_2XX": False,
}

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "base-uri": [SELF],
        "form-action": [SELF],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    }
}

SECURITY_CONTACT = env.contact("GAUNTLET_SECURITY_CONTACT")
"""Contact for security reports in `/.well-known/security.txt`, or ""."""

METRICS_TOKEN = env.text("GAUNTLET_METRICS_TOKEN", "")
"""What Prometheus sends to read `/metrics`; there is no such page without it."""

TRACES = env.collector("GAUNTLET_TRACES")
"""Where traces of submissions are sent (`core.submission_traces`), without a trailing slash; "": nowhere."""

# behind a proxy that terminates TLS and sets X-Forwarded-Proto
HTTPS = env.flag("GAUNTLET_HTTPS", default=False)
PROXIED = HTTPS or PROXIES > 0
# not a system check, since gunicorn does not run those and Celery ignores their errors
if _problem := trust_problem(SANDBOX, ALLOWED_HOSTS, proxied=PROXIED, trust_everybody=TRUST_EVERYBODY):
    raise ImproperlyConfigured(_problem)
KIT = Path(env.text("GAUNTLET_KIT", str(ROOT / "kit")))
"""Folder of the kit of participants, which `make kit` makes; without it, the site has none."""
SOURCE_ADDRESS = env.source("GAUNTLET_SOURCE")
"""From where participants clone this program for its command: an address of git, or on a site for one the checkout."""
SITE_ADDRESS = env.address("GAUNTLET_ADDRESS", "https" if HTTPS else "http", ALLOWED_HOSTS)
"""The address of the site for commands in logs of workers, without a trailing slash; pages use that of the request."""
WEBHOOK_NETWORKS = env.networks("GAUNTLET_WEBHOOK_NETWORKS")
"""Networks that webhooks may reach although they are not public, such as that of a closed site."""
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
