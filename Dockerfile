# Image from a clone:                   docker build -t siftd .
# Image from the published package:     docker build -t siftd --target npm --build-arg VERSION=0.1.0 - < Dockerfile
#
# The container runs as any user with a read-only root, and writes only to its volume. See docs/install.md.

# All images use the same Debian release, so that binaries need no newer C library than the runtime image has.
ARG NODE_IMAGE=docker.io/library/node:24-bookworm-slim
# With an image without Rust, such as the Node.js image, the result uses the fallback engine.
ARG RUST_IMAGE=docker.io/library/rust:1-bookworm
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12

FROM ${NODE_IMAGE} AS node

# Packs the packages of a clone, as a release does.
FROM ${RUST_IMAGE} AS packages
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
WORKDIR /src
COPY package.json package-lock.json ./
# The optional secret `npmrc` sets another registry: --secret id=npmrc,src=$HOME/.npmrc. It is mounted in the home of the
# build user and not stored in any layer.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc npm ci --no-audit --no-fund
COPY . .
RUN node scripts/build-addons.mjs engine
ARG COMMIT_SHA
ARG COMMIT_DATE
RUN node scripts/pack.mjs --out /packages

# Files of both variants in the runtime image, apart from the program. RUNTIME_NODE is the path of Node.js in that image.
FROM node AS layout
ARG RUNTIME_NODE=/nodejs/bin/node
# The volume is writable for every user, because the user is chosen when the container starts.
RUN mkdir -p /rootfs/usr/local/bin /rootfs/opt/siftd /rootfs/var/lib/siftd \
  && chmod 0777 /rootfs/var/lib/siftd \
  && printf "#!%s\nimport('/opt/siftd/node_modules/siftd/dist/bundle/siftd.js')\n" "$RUNTIME_NODE" \
    > /rootfs/usr/local/bin/siftd \
  && chmod 0755 /rootfs/usr/local/bin/siftd

FROM node AS installed-clone
WORKDIR /opt/siftd
COPY --from=packages /packages /packages
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
  npm install --omit=dev --no-audit --no-fund /packages/*.tgz \
  # npm cannot tell which C library these are for.
  && rm -rf node_modules/@libsql/*-musl

FROM node AS installed-npm
WORKDIR /opt/siftd
ARG VERSION=latest
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
  npm install --omit=dev --no-audit --no-fund "siftd@$VERSION" \
  # npm cannot tell which C library these are for.
  && rm -rf node_modules/@libsql/*-musl

FROM ${RUNTIME_IMAGE} AS runtime
LABEL org.opencontainers.image.title=siftd \
  org.opencontainers.image.licenses=MIT
COPY --from=layout /rootfs/ /
# Data, dumps, snapshots, models and the configuration file are in the working directory by default. HOME and TMPDIR are
# in the volume too, because users without an entry in /etc/passwd have no home and the root is read-only.
WORKDIR /var/lib/siftd
ENV HOME=/var/lib/siftd \
  TMPDIR=/var/lib/siftd \
  SVC_HTTP_ADDR=0.0.0.0:7700
VOLUME /var/lib/siftd
EXPOSE 7700
# A numeric user, so that Kubernetes can verify that it is not root.
USER 65532:0
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["/usr/local/bin/siftd", "health"]
ENTRYPOINT ["/usr/local/bin/siftd"]
CMD []

FROM runtime AS npm
COPY --from=installed-npm /opt/siftd /opt/siftd

FROM runtime AS clone
COPY --from=installed-clone /opt/siftd /opt/siftd
