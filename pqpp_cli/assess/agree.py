"""`pqpp assess agree`: how far verdicts may stand in for people's, and how many votes they save."""

from __future__ import annotations

import itertools

from pqpp_cli.command import Command
from pqpp_cli.groups import FigureTables
from pqpp_files.options.option import NEEDED, option


class AssessAgree(FigureTables, Command):
    """Print how well automated verdicts agree with people by task and model, how well their scores
    are probabilities, and how many judged images they save (prediction-powered inference).
    """

    EPILOG = """examples:
  pqpp assess agree verdicts.parquet --people votes.csv
  pqpp assess agree monday.parquet tuesday.parquet --people votes.csv --format markdown

People's answers: image (or prompt_id and model), and matched: true or false, yes or no, 1 or 0.
They need be on some of the images only; for the interval these must be a random sample of all.
"""
    file: tuple[str, ...] = option(
        NEEDED, "tables that pqpp assess wrote", metavar="FILE", path="file", word=True
    )
    people: str = option(NEEDED, "people's answers", metavar="FILE", path="file")

    def run(self) -> None:
        """Print the tables."""
        from pqpp_feedback.assess.agree import agree
        from pqpp_feedback.assess.people import read_people
        from pqpp_feedback.assess.verdicts import read_verdicts

        rows = itertools.chain.from_iterable(map(read_verdicts, self.file))
        tables, notes = agree(rows, read_people(self.people))
        self.show("Verdicts and people", tables, notes)
