# The images of a site, which compose.yaml builds and starts:
#   web     the web server and beat: no torch, no compiler, no need of a Docker engine
#   worker  scorer, builder and player: the image that submissions are built on, and the packages of the site
#   base    the image that submissions are built on, as `make base-image` makes it
#
# Packages are those of deploy/locks, each by its SHA-256.
#
# SYSTEM is a Debian; where packages come from private mirrors, it holds its /etc/pip.conf, sources and certificates.
# BASE is another image to build submissions and workers on. PIP_EXTRA_INDEX_URL is another index of packages, such as
# https://download.pytorch.org/whl/cpu, whose PyTorch has no CUDA and is several gigabytes smaller.
ARG SYSTEM=debian:bookworm-slim
ARG BASE=base

FROM ${SYSTEM} AS python
ENV LANG=C.UTF-8 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_QUIET=1 PIP_NO_CACHE_DIR=1 PIP_NO_COMPILE=1 PIP_ROOT_USER_ACTION=ignore
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
      ca-certificates python3 python3-pip python3-venv >/dev/null \
 && rm -rf /var/lib/apt/lists/*

FROM python AS base
ARG PIP_EXTRA_INDEX_URL
COPY deploy/install /packages/
COPY deploy/locks /packages/locks
RUN python3 -m venv /usr/local/venv \
 && /packages/install /usr/local/venv/bin/python players \
 && { /usr/local/venv/bin/python -m compileall -q -j 0 /usr/local/venv/lib >/dev/null || true; } \
 && ln -sf python3 /usr/bin/python
ENV PATH=/usr/local/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GIT_PYTHON_REFRESH=quiet
CMD ["python3"]

FROM python AS compiler
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends gcc libc6-dev libpq-dev python3-dev >/dev/null \
 && rm -rf /var/lib/apt/lists/*

FROM compiler AS source
WORKDIR /srv/gauntlet
COPY evaluation/formats/query/referee/distances.c ./
RUN cc -O3 -shared -fPIC -o _distances.so distances.c
COPY . .
# readable by all, whatever the mask of who checked it out
RUN mv _distances.so evaluation/formats/query/referee/ && chmod -R a+rX . && python3 -m compileall -q -j 0 evaluation platform

# apart from the source, so that another version of it does not install them again
FROM compiler AS build-packages
COPY deploy/install /packages/
COPY deploy/locks /packages/locks
RUN python3 -m venv /opt/build \
 && /packages/install /opt/build/bin/python build

FROM source AS kit
COPY --from=build-packages /opt/build /opt/build
RUN deploy/kit /opt/build/bin/python

FROM compiler AS packages
COPY deploy/install /packages/
COPY deploy/locks /packages/locks
RUN python3 -m venv /opt/venv \
 && /packages/install /opt/venv/bin/python site-libpq traces \
 && { /opt/venv/bin/python -m compileall -q -j 0 /opt/venv/lib || true; }

FROM python AS web
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends git git-lfs libpq5 openssh-client postgresql-client restic >/dev/null \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --home-dir /var/lib/gauntlet --no-create-home gauntlet
COPY --from=packages /opt/venv /opt/venv
COPY --from=source /srv/gauntlet /srv/gauntlet
COPY --from=kit /srv/gauntlet/kit /srv/gauntlet/kit
WORKDIR /srv/gauntlet
ENV PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONUNBUFFERED=1 \
    PYTHONPATH=/srv/gauntlet:/srv/gauntlet/platform:/srv/gauntlet/evaluation/sdk
USER gauntlet
CMD ["gunicorn", "--config", "python:config.web_server", "--bind", "0.0.0.0:8000"]

FROM ${BASE} AS worker
USER root
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends bubblewrap git git-lfs >/dev/null \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --uid 10001 --home-dir /var/lib/gauntlet --no-create-home gauntlet
COPY deploy/install /packages/
COPY deploy/locks /packages/locks
RUN PIP_NO_CACHE_DIR=1 /packages/install python3 site traces \
 && { python3 -m compileall -q -j 0 "$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" >/dev/null || true; }
COPY --from=source /srv/gauntlet /srv/gauntlet
WORKDIR /srv/gauntlet
ENV PYTHONUNBUFFERED=1 PYTHONPATH=/srv/gauntlet:/srv/gauntlet/platform:/srv/gauntlet/evaluation/sdk
# it starts as root and becomes the user of the site in the group of the engine's socket
ENTRYPOINT ["deploy/with-engine"]
CMD ["celery", "--app", "config", "worker", "--queues", "play", "--concurrency", "2", "--hostname", "player@%h"]
