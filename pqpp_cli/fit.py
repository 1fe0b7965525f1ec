"""`pqpp fit`: make a predictor for your own scores, in seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_cli.command import Command
from pqpp_cli.groups import ColumnOptions, Dataset, Targets
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_models.predictor import Predictor

_TOO_GOOD = (
    "static's network was trained on {known} of these prompts with their scores, so the "
    "figures are too good; measure on prompts that it has not seen, pqpp bench marks the others"
)


class Fit(Dataset, ColumnOptions, Targets, Command):
    """Fit a predictor to prompts with scores: a table, a dataset, a benchmark."""

    EPILOG = """examples:
  pqpp fit my_benchmark --output my_predictor
  pqpp fit ratings.csv --targets mean_rating --output my_predictor
  pqpp fit votes.parquet --column caption --targets match_rate,rating --output my_predictor
  pqpp fit pqpp-v1.0 --targets mean_hbpp,mean_p10 --output my_predictor
  pqpp predict "two robots play chess" --predictor ./my_predictor --uncertainty

The predictor is a linear head on the network of `static`; it is fitted in closed form, on one core,
without torch. Rows of one prompt become one with their mean score. What is printed is measured on
prompts that were left out of the fit, each in its turn.

Targets may have any name. What ends in _hbpp must be in -1 .. 2, what ends in _p10, _rr or _rate in
0 .. 1, what a dataset tells a range of in that, and predictions stay within; those of other targets
may leave the observed range by a tenth. Of a dataset with splits, train is taken if none is named.
"""
    dataset: str = option(
        NEEDED,
        "a table (.csv, .tsv, .json, .jsonl, .parquet), pqpp, a folder, or OWNER/REPOSITORY",
        word="too",
    )
    targets: tuple[str, ...] | None = option(
        None, "the columns of scores to learn (default: all that the data tells of)"
    )
    folds: int = option(5, "parts of the cross-validation")
    encoder: str = option(
        "static",
        "the static on whose network the predictor stands: a name or a folder, like a build that "
        "has not learned your prompts",
        metavar="NAME_OR_PATH",
        path="name",
    )
    output: str = option(
        NEEDED, "where to save the predictor", metavar="DIR", path="output", also=("output_dir",)
    )
    overwrite: bool = option(False, "replace the predictor that is there")

    def run(self) -> None:
        """Fit, save, and print what the predictor scores on prompts that were left out."""
        from pqpp_backbones.checkpoint import check_place
        from pqpp_backbones.training.publish import refuse_finished
        from pqpp_models.text.ridge.fitting import fit
        from pqpp_models.text.ridge.scores import read_score_table

        check_place(self.output, "ridge")
        refuse_finished(Path(self.output), self)
        part = (self.subset, self.split, self.data_dir)
        data = read_score_table(self.dataset, self.targets, *part, self.column)
        fitted = fit(
            data.prompts,
            list(zip(*data.columns.values(), strict=True)),
            list(data.columns),
            data.name,
            folds=self.folds,
            progress=sys.stderr.isatty(),
            ids=data.ids,
            limits=data.limits,
            encoder=self.encoder,
        )
        folder = fitted.save_pretrained(self.output)
        print(format_figures(fitted))
        if known := data.known_to(fitted.encoder):
            print(_TOO_GOOD.format(known=known))
        print(f"saved in {folder}; use it by pqpp predict --predictor {folder}")


def format_figures(fitted: Predictor) -> str:
    """Return as a table what a ridge predictor scores on prompts that were left out of its fit."""
    from tabulate import tabulate

    training = fitted.details["training"]
    measures = ("pearson", "kendall", "spearman")
    figures = training["cross_validation"]
    rows = [
        (name, training["scores"][name], *(scores[measure] for measure in measures))
        for name, scores in figures.items()
    ]
    table = tabulate(rows, ("target", "prompts", "Pearson", "Kendall", "Spearman"), floatfmt=".3f")
    note = f"on prompts left out of the fit, {training['folds']} parts"
    if any(scores["spearman"] <= 0 for scores in figures.values()):
        note += "; a target at or below 0 was not learned, predictions of it mean nothing"
    return f"{table}\n{note}"
