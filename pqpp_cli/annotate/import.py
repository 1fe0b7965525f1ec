"""`pqpp annotate import`: take in a person's answers from elsewhere, to go on with the rest."""

from __future__ import annotations

from pqpp_cli.annotate.groups import Address, StudyFile
from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class AnnotateImport(StudyFile, Address, Command):
    """Take in a person's answers from elsewhere, to go on with the rest."""

    EPILOG = """examples:
  pqpp annotate import study.yaml --file partial.csv --name ann

Answers of one person, given elsewhere, like a GIMBRR file that is half filled in: a row an image,
with prompt_id, image and label (and model), or GIMBRR's own columns. Blank answers are what is left
to do. The link that is printed leads the person to the rest.
"""
    file: str = option(NEEDED, "the table of the answers", metavar="FILE", path="file")
    name: str = option(NEEDED, "the person's name; a new person is added")

    def run(self) -> None:
        """Take them in, and print the link to the rest."""
        from pqpp_files.visible import visible

        with self.opened() as store:
            from pqpp_annotation.continued import import_votes

            lines, token = import_votes(store, self.file, self.name)
            lines.append(self.link(store, token))
        for line in lines:
            print(visible(line))
