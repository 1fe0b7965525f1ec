"""`pqpp assess vistar`: scores after VISTAR: text, light, scenes, characters, geometry."""

from __future__ import annotations

from pqpp_cli.assess import EPILOG
from pqpp_cli.assess.groups import Assessing
from pqpp_cli.command import Command
from pqpp_feedback.assessors.vistar import VistarOptions
from pqpp_files.options.option import option


class AssessVistar(Assessing, VistarOptions, Command):
    """Scores after VISTAR: text, light, scenes, characters, penetration, geometry, and HWPQ."""

    EPILOG = rf"""examples:
  pqpp assess vistar --image-dir generated --only text_rendering
  pqpp assess vistar --image-dir images --dataset vistar --data-dir DIR --split core
  pqpp assess vistar --image-dir images --model depth=OWNER/REPOSITORY
  pqpp assess vistar --image-dir images --only hwpq --chat-url http://localhost:8000/v1 \
    --chat-model NAME --questionnaires questionnaires --most-calls 1000
  pqpp assess vistar --evidence verdicts.parquet --output other.parquet

A score looks at a prompt that has what it needs; another row says what is lacking. Columns or
control parameters of a prompt: text; light; panels, subject, layout; count, postures, expressions;
objects. Every number that the paper does not print is in
pqpp_feedback/vistar/vistar_choices.yaml.
{EPILOG}"""
    model: dict[str, str] = option({}, metavar="ROLE=NAME_OR_PATH")
    card: str | None = option(
        None,
        "also write the card, which says every choice that the paper leaves open",
        metavar="FILE",
        path="output file",
        endings=(".md", ".txt"),
    )

    def finish(self) -> None:
        """Write the card."""
        if self.card:
            from pqpp_cli.output import emit
            from pqpp_feedback.vistar.choices import card

            emit(card(), self.card)
