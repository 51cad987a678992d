# One program on a small system, as a user without rights.
#
#   docker build -t redeliver .
#   docker run -v redeliver:/data -p 127.0.0.1:8420:8420 \
#     -e REDELIVER_SERVER__TOKENS__ME__SECRET=… -e REDELIVER_SERVER__TOKENS__ME__ROLE=operate redeliver
#
# Settings can be given as variables (docs/configuration.md); a configuration is read from /data/redeliver.toml if it is there. Where
# neither names a database, it is /data/redeliver.db.
# Within the container it must listen to everybody, and so it asks for a token. REDELIVER_LISTEN says so, and goes before `listen` in the
# configuration: to listen elsewhere, give the variable another value.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update -q && apt-get install -qy --no-install-recommends ca-certificates gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked -p redeliver-cli

FROM debian:bookworm-slim
RUN useradd --system --uid 10001 redeliver && install -d -o redeliver /data
# Destinations and databases are checked against authorities that are in the program; the client for a collector of spans takes the
# system's, and is not made without any.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /source/target/dist/redeliver /usr/local/bin/redeliver
USER redeliver
WORKDIR /data
VOLUME /data
ENV REDELIVER_LISTEN=0.0.0.0:8420
EXPOSE 8420
ENTRYPOINT ["redeliver"]
CMD ["serve"]
