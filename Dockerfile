# Turnfold as a container: built from the hashed locks, run without root, nothing in it but Python and the installed wheel.
#
# The base images are named by tag. Pin them by digest in your own copy (docker buildx imagetools inspect python:3.13-slim): a
# digest written here would keep its security updates out.

FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src

# The dependencies change less often than the sources: a layer of their own.
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/build \
 && /opt/build/bin/pip install --require-hashes -r requirements-build.lock \
 && python -m venv --without-pip /opt/turnfold \
 && /opt/build/bin/pip --python /opt/turnfold/bin/python install --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY .ci/metadata_hook.py .ci/
COPY compression compression
COPY config config
COPY proxy proxy
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/build/bin/pip --python /opt/turnfold/bin/python install --no-deps /dist/*.whl

FROM python:3.13-slim
LABEL org.opencontainers.image.title="Turnfold" \
      org.opencontainers.image.description="An OpenAI-compatible proxy that folds long conversations" \
      org.opencontainers.image.licenses="Apache-2.0"

# No package tool of Python's stays, and apt is of no use to a user without root.
RUN rm -rf /usr/local/bin/pip* /usr/local/lib/python3.*/site-packages/pip* /usr/local/lib/python3.*/ensurepip \
 && useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin turnfold \
 && install --directory --owner turnfold --mode 0700 /data
COPY --from=build /opt/turnfold /opt/turnfold

# Reachable from outside the container; the store is a file in the volume unless a URL says otherwise.
ENV PATH=/opt/turnfold/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TURNFOLD_HOST=0.0.0.0 \
    TURNFOLD_STORE_URL=sqlite:////data/turnfold.db
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8420
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=10s --timeout=3s --start-period=15s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ.get(\"TURNFOLD_PORT\", \"8420\")}/healthz', timeout=2)"]

ENTRYPOINT ["turnfold"]
CMD ["serve"]
