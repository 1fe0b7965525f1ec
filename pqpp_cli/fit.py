"""`pqpp fit`: make a predictor for your own scores, in seconds."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pqpp_backbones.chat.models import ChatOptions
from pqpp_cli.command import Command
from pqpp_cli.groups import Dataset, Targets
from pqpp_cli.output import print_notes
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_models.text.ridge.predictor import RidgePredictor

_LEGEND = "low, high: Spearman's 95% interval; covered: true values within 90% intervals"
_KNOWN = "{known} of these {prompts} prompts are training data of {network}; the results omit them"
_LANGUAGE_NOTE = (
    "{out_of_domain} of {prompts} prompts are not plain English; the fit learns from their words "
    "and word pieces. A multilingual encoder may do better; it needs pqpp[models]:\n"
    "  --encoder sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
)


class Fit(Dataset, Targets, ChatOptions, Command):
    r"""Fit a predictor to prompts with scores, from a table or a dataset.

    examples:
      pqpp fit my_benchmark --output my_predictor
      pqpp fit ratings.csv --targets mean_rating --output my_predictor
      pqpp fit votes.parquet --column caption --targets match_rate,rating --output my_predictor
      pqpp fit pqpp-v1.0 --targets mean_hbpp,mean_p10 --output my_predictor
      pqpp fit my_benchmark --base alignment --output my_predictor
      pqpp fit my_benchmark --encoder sentence-transformers/all-MiniLM-L6-v2 --output my_predictor
      pqpp predict "two robots play chess" --predictor ./my_predictor --uncertainty
      pqpp fit ratings.csv --targets mean_rating --chat-url http://localhost:8000/v1 \
          --chat-model qwen --max-calls 500 --output my_llm

    The fit uses words, word pieces and the network of `static-train`, in closed form on one core,
    without torch. It tries ridge on TF-IDF, ridge on the network's layers, kernel ridge on its
    embedding, and a stack of these, and keeps the stack unless one alone is clearly better; the
    results name the kept method. --encoder adds a sentence encoder. With --base, it learns the
    difference between your scores and a prediction of the network, which helps if you have few
    prompts. Rows with the same prompt are averaged. The results are from cross-validation of the
    whole fit.

    --chat-model uses a language model with rated examples instead: a hundred calls per target to
    fit, and one per prompt and target to predict. The endpoint is not stored; to predict, set
    PQPP_CHAT_URL, PQPP_CHAT_KEY, PQPP_MAX_CALLS and so on, or PQPP_CHAT_MODEL for a local model.

    Targets can have any name. Scores named _hbpp must be within -1 to 2, those named _p10, _rr or
    _rate within 0 to 1. Predictions stay within that range, or within a tenth of the observed
    range.

    Attributes:
        dataset: Prompts with scores: a table, a folder, a listed name or OWNER/REPOSITORY.
        split: Split of the dataset (default: train).
        targets: Columns of scores to learn (default: all known targets, or the only column of
            numbers in a table).
        encoder: Static predictor whose network is used, or sentence encoder to add to static-train:
            a name or a folder.
        base: Prediction to start from, such as alignment; helps most with 20 to 200 prompts rated
            on your own generator.
        chat_model: Language model: a name at --chat-url, or a folder or OWNER/REPOSITORY.
    """

    dataset: str = option(NEEDED, word="too")
    split: str | None = None
    targets: tuple[str, ...] | None = None
    folds: int = option(5, "folds of the cross-validation")
    encoder: str = option("static-train", path="name")
    base: str | None = option(None, metavar="TARGET")
    chat_model: str | None = None
    output: str = option(NEEDED, "folder of the predictor", path="output", also=("output_dir",))
    overwrite: bool = option(False, "overwrite an existing predictor")

    def run(self) -> None:
        """Fit, save, and print the cross-validated results."""
        from pqpp_backbones.checkpoint import check_checkpoint_folder
        from pqpp_backbones.training.publish import check_no_result
        from pqpp_models.llm.predictor import LlmPredictor
        from pqpp_models.text.ridge.fitting import fit
        from pqpp_models.text.ridge.scores import read_score_table

        if self.chat_model:
            self.refuse("`chat_model`", "folds", "encoder", "base")
        check_checkpoint_folder(self.output, "llm" if self.chat_model else "ridge")
        check_no_result(Path(self.output), self)
        source = self.subset, self.split, self.data_dir, self.column
        data = read_score_table(self.dataset, self.targets, *source)
        values = list(zip(*data.columns.values(), strict=True))
        arguments = data.prompts, values, list(data.columns), data.name
        options: dict[str, Any] = {"limits": data.limits, "progress": sys.stderr.isatty()}
        if self.chat_model:
            chat = self.open_chat(self.chat_model, self.make_budget())
            fitted: Any = LlmPredictor.fit(chat, *arguments, **options)
        else:
            options |= {"folds": self.folds, "ids": data.ids}
            fitted = fit(*arguments, encoder=self.encoder, base=self.base, **options)
        fitted.details = {**fitted.details, "dataset": data.dataset}
        # Before printing, which a closed pipe ends.
        folder = fitted.save_pretrained(self.output, self.overwrite)
        training = fitted.details["training"]
        if self.chat_model:
            for name, result in training["cross_validation"].items():
                print(f"{name}: Spearman {result['spearman']:.3f} on {result['prompts']} prompts")
            print_notes(chat.budget.describe_spending())
        else:
            print(format_cross_validation(fitted))
            if training["prompts"] < len(values):
                count = f"{training['prompts']} different prompts in {len(values)} rows"
                print_notes(f"{count}; the scores of repeated prompts were averaged")
            if training["known"]:
                print(_KNOWN.format_map(training))
            if fitted.reads_any_language:
                print(_LANGUAGE_NOTE.format_map(training))
        print(f"saved to {folder}; use it with pqpp predict --predictor {folder}")


def format_cross_validation(fitted: RidgePredictor) -> str:
    """Return a ridge predictor's cross-validated results as a table with notes."""
    from tabulate import tabulate

    training = fitted.details["training"]
    measures = ("pearson", "kendall", "spearman", "ci_low", "ci_high", "coverage")
    if not (figures := training["cross_validation"]):
        return f"fitted to {training['prompts']} prompts"
    rows = [
        (name, training["scores"][name], *(scores[measure] for measure in measures), form)
        for (name, scores), form in zip(figures.items(), training["form"].values(), strict=True)
    ]
    names = ("Pearson", "Kendall", "Spearman", "low", "high", "covered")
    table = tabulate(rows, ("target", "prompts", *names, "method"), floatfmt=".3f")
    note = f"cross-validation with {training['folds']} folds; {_LEGEND}"
    if training["prompts"] < 200:
        tip = "" if fitted.base else "; --base alignment often helps"
        note += f"\nwith fewer than 200 prompts, results are noisy and depend on --folds{tip}"
    if fitted.unlearned_targets:
        note += "\nif low is 0 or less, do not rely on the target: it may be mere chance"
    return f"{table}\n\n{note}"
