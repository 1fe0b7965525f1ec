"""`pqpp annotate serve`: serve a study until it is stopped."""

from __future__ import annotations

from pqpp_cli.annotate.groups import StudyFile, needing_annotate
from pqpp_cli.command import Command
from pqpp_files.options.option import option


class AnnotateServe(StudyFile, Command):
    """Serve a study until it is stopped."""

    EPILOG = """examples:
  pqpp annotate serve study.yaml
  pqpp annotate serve study.yaml --port 8080
  pqpp annotate serve study.yaml --url https://study.example.org/colours
  pqpp annotate serve study.yaml --host 0.0.0.0 --certificate chain.pem --key key.pem

It listens to this machine only unless told otherwise. Behind a reverse proxy, which is where TLS
belongs, that is what you want; the documentation has the few lines for Caddy and nginx.

--url is where people reach it, like https://study.example.org/colours: all links that are made from
then on have it, and what stands behind the host is the path below which a proxy serves the study.
Several processes (--workers) need a database in PostgreSQL.
"""
    host: str = option("127.0.0.1", "address to listen at (default: this machine only)")
    port: int = option(8000, "port to listen at", metavar="N")
    url: str | None = option(None, "where people reach it, for all links", metavar="URL")
    root_path: str | None = option(
        None, "path below which a proxy serves it (default: that of --url)", metavar="PATH"
    )
    workers: int = option(1, "processes; more than one on PostgreSQL only", metavar="N", least=1)
    certificate: str | None = option(
        None, "TLS certificate with its chain, in PEM form", metavar="FILE", path="file"
    )
    key: str | None = option(None, "its key, in PEM form", metavar="FILE", path="file")
    allow_http: bool = option(
        False,
        "let people sign in over a network without TLS; what they send can be read on the way",
    )

    def run(self) -> None:
        """Serve."""
        with needing_annotate():
            from pqpp_annotation.web.serve import serve

        serve(
            self.study,
            self.host,
            self.port,
            url=self.url,
            root_path=self.root_path,
            workers=self.workers,
            allows_http=self.allow_http,
            certificate=self.certificate,
            key=self.key,
        )
