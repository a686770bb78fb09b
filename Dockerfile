# Groundwarden in a container: the model is inside, nothing is fetched at start, nobody is root.
#
#   docker build -t groundwarden .
#   docker run -p 8080:8080 -p 9464:9464 -v ./config.yaml:/etc/groundwarden/config.yaml:ro \
#     -v ./policies:/etc/groundwarden/policies:ro -e OPENAI_API_KEY groundwarden
#
# In a container the server must listen on 0.0.0.0, which it refuses without tenants (see README, "Tenants"). For the
# mounts and ports above, config.yaml says `policies: policies` and `server: {admin_host: 0.0.0.0}`.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY policies policies
COPY proxy proxy
RUN python -m venv /opt/groundwarden && /opt/groundwarden/bin/pip install --no-cache-dir .

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /var/cache/groundwarden --create-home groundwarden
COPY --from=build /opt/groundwarden /opt/groundwarden
ENV PATH=/opt/groundwarden/bin:$PATH PYTHONUNBUFFERED=1 XDG_CACHE_HOME=/var/cache/groundwarden
USER groundwarden
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8080/readyz', timeout=2)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["groundwarden"]
CMD ["serve", "--config", "/etc/groundwarden/config.yaml", "--host", "0.0.0.0"]
