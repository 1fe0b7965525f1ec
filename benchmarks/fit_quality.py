"""How good `pqpp fit` is where it has few prompts: four sets, five folds, three seeds, Spearman.

    python benchmarks/fit_quality.py --data-dir DATA --builds BUILDS

Needs `ratings/agiqa3k.csv`, `ratings/tia2_composition.csv`, `ratings/tia2_counting.csv` and
`gimbrr/annotations/annotations_df_230311.csv` in DATA. Each set becomes a table with a prompt and
its mean score, as a user would have it, and each fold is fitted by `pqpp fit`, on the network of
a build of `static` that has not learned the set: `without_SET` in BUILDS, trained by
`train_static.py --without SET`. The shipped `static` has learned all four.

- GIMBRR: the share of images of four models that match, without the `Controlled` tasks (they repeat
  their prompts, and the authors' own accuracy leaves them out);
- AGIQA: the mean opinion score of alignment over six generators;
- TIA2, compositions and countings: the share of votes that say "aligned"; -1, no answer, is left
  out.

Prompts that differ only in how they are typed would be in one fold. A figure is Spearman's
coefficient over all prompts, each predicted by a fit that did not see it, averaged over the seeds.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from pqpp_cli.main import main as pqpp
from pqpp_metrics.functional import spearman_qpp
from pqpp_models import Predictor
from pqpp_models.encoder.normaliser import normalise

FOLDS, SEEDS = 5, 3
LEXICAL = {"gimbrr": 0.7666, "agiqa": 0.3674, "tia2_composition": 0.4155, "tia2_counting": 0.8859}
"""What the predictor of n-grams that `pqpp fit` replaced scored in the same folds: fitted by its
own `LexicalPredictor.fit`, with its defaults, before it was deleted (ratings divided by 5, since it
took PQPP's targets only). Its code is in the history, at the commit before its deletion."""


def main() -> None:
    """Print our figures beside the recorded ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the four files")
    parser.add_argument("--builds", type=Path, required=True, help="folder of without_SET")
    options = parser.parse_args()
    means = []
    print(f"{'set':<18}{'prompts':>8}  {'pqpp fit, by seed':<24}{'mean':>7}{'lexical':>9}")
    for name, (target, scores) in tables(options.data_dir).items():
        encoder = str(options.builds / f"without_{name}")
        found = [cross_validated(scores, target, seed, encoder) for seed in range(SEEDS)]
        means.append(float(np.mean(found)))
        seeds = " ".join(f"{one:.4f}" for one in found)
        print(
            f"{name:<18}{len(scores):>8}  {seeds:<24}{means[-1]:7.4f}{LEXICAL[name]:9.4f}",
            flush=True,
        )
    lexical = float(np.mean(list(LEXICAL.values())))
    print(f"{'mean':<18}{'':>8}  {'':<24}{np.mean(means):7.4f}{lexical:9.4f}")
    print("lexical: recorded before it was deleted, see the beginning of this file")


def tables(data: Path) -> dict[str, tuple[str, dict[str, float]]]:
    """Return by set its target and its prompts with their mean scores."""
    ratings = data / "ratings"
    found = {
        "gimbrr": ("match_rate", _gimbrr(data / "gimbrr/annotations/annotations_df_230311.csv")),
        "agiqa": ("mean_rating", _agiqa(ratings / "agiqa3k.csv")),
    }
    for name in ("tia2_composition", "tia2_counting"):
        found[name] = ("match_rate", _tia2(ratings / f"{name}.csv"))
    return {name: (target, _means(pairs)) for name, (target, pairs) in found.items()}


def _gimbrr(path: Path) -> Iterator[tuple[str, float]]:
    for row in _rows(path):
        if not row["Task"].startswith("Controlled"):
            yield row["Prompt"], float(row["annotation"] == "True")


def _agiqa(path: Path) -> Iterator[tuple[str, float]]:
    for row in _rows(path):
        yield row["prompt"], float(row["mos_align"])


def _tia2(path: Path) -> Iterator[tuple[str, float]]:
    for row in _rows(path):
        votes = (row[f"label_{number}"] for number in (1, 2, 3))
        yield from ((row["caption"], float(vote)) for vote in votes if vote != "-1")


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _means(pairs: Iterable[tuple[str, float]]) -> dict[str, float]:
    scores = defaultdict(list)
    for prompt, score in pairs:
        scores[prompt].append(score)
    return {prompt: float(np.mean(one)) for prompt, one in scores.items()}


def cross_validated(scores: dict[str, float], target: str, seed: int, encoder: str) -> float:
    """Return Spearman's coefficient of predictions that never saw their prompt."""
    prompts, true = list(scores), np.array(list(scores.values()))
    fold = folds_of(prompts, seed)
    predicted = np.empty(len(prompts))
    for number in range(FOLDS):
        there = fold == number
        with tempfile.TemporaryDirectory() as folder:
            table, model = Path(folder) / "train.csv", f"{folder}/model"
            _write(
                table,
                target,
                [row for row, out in zip(scores.items(), there, strict=True) if not out],
            )
            with contextlib.redirect_stdout(io.StringIO()):
                words = ["fit", str(table), "--targets", target, "--output", model]
                status = pqpp([*words, "--encoder", encoder])
            if status:
                raise SystemExit(status)
            wanted = [prompts[place] for place in np.flatnonzero(there)]
            predicted[there] = Predictor.from_pretrained(model).predict(wanted)[:, 0]
    return float(spearman_qpp(predicted, true)["spearman_qpp"])


def folds_of(prompts: list[str], seed: int) -> np.ndarray:
    """Return each prompt's fold; prompts that are one when normalised are in one fold."""
    keys = [normalise(prompt) for prompt in prompts]
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    drawn = np.random.default_rng(seed).permutation(len(places)) % FOLDS
    return drawn[[places[key] for key in keys]]


def _write(path: Path, target: str, rows: Iterable[tuple[str, float]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("prompt", target))
        writer.writerows(rows)


if __name__ == "__main__":
    main()
