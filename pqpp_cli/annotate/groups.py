"""What the commands of `pqpp annotate` share."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pqpp_cli.command import Group
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_annotation.store.database import Store
    from pqpp_annotation.study import Study


class StudyFile(Group):
    """A study."""

    study: str = option(
        NEEDED, "the study file, like study.yaml", metavar="STUDY", path="file", word=True
    )

    @contextlib.contextmanager
    def opened(self, output: str | None = None) -> Iterator[Store]:
        """Open the study's database; refuse an output that is one of the study's files."""
        with needing_annotate():
            from pqpp_annotation.store.database import open_store
            from pqpp_annotation.study import read_study
        from pqpp_files.paths import check_output

        with contextlib.closing(open_store(read_study(self.study))) as store:
            if output is not None:
                study = store.study
                files = [study.root / study.prompts, study.root / f".{study.name}.secret"]
                check_output(output, [*files, store.name] if store.is_sqlite else files)
            yield store

    def warn(self, study: Study) -> None:
        """Say what a setting does that few would want."""
        if doubt := study.doubt():
            print(f"pqpp: warning: {doubt}", file=sys.stderr)


class Address(Group):
    """Where the server is."""

    address: str | None = option(
        None, "where people reach the server (default: as serve said last)", metavar="URL"
    )

    def link(self, store: Store, token: str) -> str:
        """Return the link by which somebody joins."""
        from pqpp_annotation.store.invitations import kept_url

        address = self.address or kept_url(store)
        return f"{address.rstrip('/')}/join/{token}"


def needing_annotate() -> contextlib.AbstractContextManager[None]:
    """Say what to install where the extra is missing."""
    from pqpp_files import extras

    return extras.needing("pqpp annotate", "annotate")
