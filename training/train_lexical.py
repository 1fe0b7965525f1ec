"""Train the lexical predictor on a benchmark's train split, score it, save it with its card.

    python training/train_lexical.py --config pqpp-v1.0 --data-dir pqpp/v1.0 --output lexical

Everything that is chosen is chosen inside the train split. The validation split is scored once, at
the end, on the saved weights. Needs scipy; a minute of one core for the fit on 6,000 prompts, and
as much for each fold of the cross-validation that is reported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pqpp_datasets  # noqa: F401 -- lets load_dataset("pqpp") find the benchmarks
from pqpp_metrics.functional import kendall_qpp, pearson_qpp
from pqpp_models import TARGETS, Predictor
from pqpp_models.checkpoint import check_place
from pqpp_models.text.lexical.features import DENSE, dense_features
from pqpp_models.text.lexical.predictor import LexicalPredictor
from pqpp_models.training.data import reading
from pqpp_models.training.publish import or_exit

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the training that the command line asks for."""
    options = parse(arguments)
    check_place(options.output, LexicalPredictor.name)
    splits, version = load_splits(options.config, options.data_dir)
    prompts, scores = columns(splits["train"])
    data = f"{options.config} {version}, split train"
    print(f"{len(prompts)} prompts of {data}")

    tables = []
    if options.folds:
        rows = cross_validate(prompts, scores, options.folds)
        title = f"Cross-validation inside the training prompts, {options.folds} parts, mean:"
        tables.append({"title": title, "rows": rows})
        show(tables[-1])

    fitted = LexicalPredictor.fit(prompts, scores, data=data)
    fitted.save_pretrained(options.output)
    saved = LexicalPredictor.from_pretrained(options.output)

    if "validation" in splits:
        tables += validate(saved, *columns(splits["validation"]), options.config)
        for table in tables[-3:]:
            show(table)
    saved.details["evaluation"] = [rounded(table) for table in tables]
    saved.save_pretrained(options.output)
    print(f"saved to {options.output}")
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", default="pqpp-v1.0", help="configuration (%(default)s)")
    parser.add_argument("--data-dir", help="folder of the benchmark's files; else downloaded")
    parser.add_argument("--output", required=True, help="folder to write the predictor to")
    parser.add_argument(
        "--folds", type=int, default=5, help="parts of the reported cross-validation, 0 for none"
    )
    options = parser.parse_args(arguments)
    if options.folds < 0 or options.folds == 1:
        parser.error(f"--folds is {options.folds}; give 0, or 2 and more")
    return options


def load_splits(config: str, data_dir: str | None) -> tuple[dict[str, Any], str]:
    """Load the train split and, where there is one, the validation split; never the test split."""
    from datasets import get_dataset_split_names, load_dataset

    with reading("pqpp", "check --config and --data-dir"):
        names = get_dataset_split_names("pqpp", config, data_dir=data_dir)
        wanted = [name for name in ("train", "validation") if name in names]
        loaded = load_dataset("pqpp", config, data_dir=data_dir, split=wanted)
    splits = dict(zip(wanted, loaded, strict=True))
    return splits, str(splits["train"].info.version)


def columns(split: Any) -> tuple[list[str], Floats]:
    """Return a split's prompts and its scores, NaN where a prompt has none."""
    frame = split.select_columns(["prompt", *TARGETS]).to_pandas()
    return frame["prompt"].tolist(), frame[list(TARGETS)].to_numpy(dtype=np.float64)


def correlations(predicted: Floats, true: Floats) -> Rows:
    """Return Pearson's and Kendall's coefficient of each target, and their means."""
    rows: Rows = []
    for column, target in enumerate(TARGETS):
        known = ~np.isnan(true[:, column])
        pair = predicted[known, column], true[known, column]
        pearson, kendall = pearson_qpp(*pair)["pearson_qpp"], kendall_qpp(*pair)["kendall_qpp"]
        rows.append({"target": target, "pearson": pearson, "kendall": kendall})
    return [*rows, average(f"mean of all {len(rows)}", rows)]


def average(name: str, rows: Rows) -> dict[str, Any]:
    """Return one row with the means of several."""
    means = {key: float(np.mean([row[key] for row in rows])) for key in ("pearson", "kendall")}
    return {"target": name, **means}


def cross_validate(prompts: list[str], scores: Floats, folds: int) -> Rows:
    """Fit everything anew without each part, vocabulary included, and average over the parts."""
    part = np.random.default_rng(1).permutation(len(prompts)) % folds
    results = []
    for number in range(folds):
        there = part == number
        fitted = LexicalPredictor.fit(pick(prompts, ~there), scores[~there])
        results.append(correlations(fitted.predict(pick(prompts, there)), scores[there]))
    return [average(rows[0]["target"], list(rows)) for rows in zip(*results, strict=True)]


def validate(
    predictor: Predictor, prompts: list[str], scores: Floats, config: str
) -> list[dict[str, Any]]:
    """Score a saved predictor on all validation prompts, then on a familiar and a strange half."""
    predicted = predictor.predict(prompts)
    encoded = predictor.index.encode(prompts)
    unseen = dense_features(predictor.index, prompts, encoded)[:, DENSE.index("pair_rarity_unseen")]
    order = np.argsort(np.nan_to_num(unseen), kind="stable")
    halves = np.split(order, [len(order) // 2])
    text = (
        f"The validation split of {config} ({len(prompts)} prompts), scored once, after every "
        "choice had been made:"
    )
    tables = [{"title": text, "rows": correlations(predicted, scores)}]
    for name, half in zip(("smallest", "largest"), halves, strict=True):
        title = f"The half of it with the {name} share of word pairs that training never saw:"
        rows = correlations(predicted[half], scores[half])
        tables.append({"title": title, "rows": rows[-1:]})
    return tables


def pick(prompts: list[str], where: NDArray[np.bool_]) -> list[str]:
    """Return the prompts that a mask names."""
    return [prompt for prompt, wanted in zip(prompts, where, strict=True) if wanted]


def rounded(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with its figures as they are printed."""
    rows = [
        {key: round(value, 4) if key != "target" else value for key, value in row.items()}
        for row in table["rows"]
    ]
    return {**table, "rows": rows}


def show(table: dict[str, Any]) -> None:
    """Print a table of correlations."""
    print(f"\n{table['title']}")
    for row in table["rows"]:
        print(f"  {row['target']:<18}{row['pearson']:7.4f}{row['kendall']:8.4f}")


if __name__ == "__main__":
    sys.exit(or_exit(main))
