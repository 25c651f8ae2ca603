"""Every setting of the site, once. What an operator chooses comes from the environment through `config.env`.

A start with nothing set is safe: no debug pages, a secret key of its own, SQLite, only this host's names answered.
"""

from __future__ import annotations

from pathlib import Path

from config.env import Environment

env = Environment()

ROOT = Path(__file__).resolve().parent.parent.parent
STATE = env.folder("GAUNTLET_STATE", ROOT / ".gauntlet")
"""The folder of everything the site keeps on disk."""

DEBUG = env.flag("GAUNTLET_DEBUG", default=False)
SECRET_KEY = env.secret("GAUNTLET_SECRET_KEY", kept_in=STATE / "secret-key")
ALLOWED_HOSTS = env.names("GAUNTLET_HOSTS", ("localhost", "127.0.0.1", "[::1]"))

INSTALLED_APPS = ["django.contrib.staticfiles", "pages.apps.PagesConfig"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
ASGI_APPLICATION = "config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
    }
]

DATABASES = {"default": env.database("DATABASE_URL", f"sqlite:///{STATE / 'site.sqlite3'}")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_URL = "static/"
STATIC_ROOT = STATE / "static"
STATICFILES_DIRS = [ROOT / "static"]

# behind a proxy that ends TLS and sets X-Forwarded-Proto itself
HTTPS = env.flag("GAUNTLET_HTTPS", default=False)
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
