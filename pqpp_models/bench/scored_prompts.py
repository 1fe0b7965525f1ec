"""Reading sets of prompts with a human score each, which generalisation is tested on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pqpp_datasets.target_columns import PQPP_TARGETS, is_target
from pqpp_files.open_input import names_input
from pqpp_files.read_table import read_table
from pqpp_models.bench.split import RELEASES, Split
from pqpp_models.errors import PredictorError
from pqpp_models.prompts import ID
from pqpp_models.scored_prompts import ScoredPrompts, gimbrr_match_rates

if TYPE_CHECKING:
    import datasets


def pqpp_sets(
    splits: Mapping[str, datasets.Dataset], split: str, target: str
) -> list[ScoredPrompts]:
    """Return PQPP's captions of one split, and its DrawBench prompts of all that are there.

    Raises:
        PredictorError: There is no such split in this copy, or no such target.
    """

    def scored(name: str, rows: list[dict], where: str) -> ScoredPrompts:
        known = [row for row in rows if row[target] is not None]
        prompts, scores = [row["prompt"] for row in known], [row[target] for row in known]
        data, ids = f"pqpp ({RELEASES['pqpp']}), {where}", [row.get(ID) for row in known]
        return ScoredPrompts(name, prompts, scores, data=data, ids=ids)

    if target not in PQPP_TARGETS:
        raise PredictorError(
            f"`targets` {target}: pqpp has no such scores; use one of {', '.join(PQPP_TARGETS)}"
        )
    if split not in splits:
        raise PredictorError(f"`split` {split}: this copy of pqpp has {', '.join(splits)}; use one")
    captions = [row for row in splits[split] if row["source"] == "mscoco"]
    drawn = [row for rows in splits.values() for row in rows if row["source"] == "drawbench"]
    sets = [scored(f"mscoco ({split})", captions, f"{split} split")]
    sets.append(scored("drawbench", drawn, f"splits {', '.join(splits)}"))
    return [set_ for set_ in sets if len(set_.prompts) > 1]


def load_sets(
    data_dir: str | None, split: str, target: str
) -> tuple[list[ScoredPrompts], list[str]]:
    """Return the sets of this project that can be read here, and a line on each that can't."""
    from pqpp_datasets.errors import BenchmarkError
    from pqpp_datasets.load import load_benchmark

    sets: list[ScoredPrompts] = []
    left_out = []
    for name in ("pqpp", "gimbrr-annotations"):
        try:
            rows = load_benchmark(name, data_dir=data_dir)
        except BenchmarkError as error:
            left_out.append(f"without {name}: {error}")
            continue
        is_pqpp = name == "pqpp"
        sets += pqpp_sets(rows, split, target) if is_pqpp else [gimbrr_match_rates(rows)]
    return sets, left_out


def sets_of(split: Split, targets: Sequence[str]) -> list[ScoredPrompts]:
    """Return the prompts of a split with their scores, a set a target; prompts without one go."""
    sources = split.sources
    grouped = sources if sources is not None and len(set(sources)) > 1 else None
    ids = split.rows[ID][:] if ID in split.rows.column_names else None
    sets = []
    for target, values in split.true(targets).items():
        known = {n: v for n, v in enumerate(values) if v is not None and v == v}
        sets.append(
            ScoredPrompts(
                f"{split.config}: {target}",
                [split.prompts[at] for at in known],
                list(known.values()),
                grouped and [grouped[at] for at in known],
                f"{split.config}, {split.name}",
                target,
                ids and [ids[at] for at in known],
            )
        )
    return [set_ for set_ in sets if len(set_.prompts) > 1]


def read_set(text: str, split: str | None = None) -> ScoredPrompts:
    """Read DATA:COLUMN, a table or a dataset with the prompts in `prompt` and a score.

    Raises:
        PredictorError: There is no column in the text, or the dataset has no such one of numbers.
        FileError: The file cannot be read, or the column holds no numbers.
        BenchmarkError: The dataset cannot be loaded.
    """
    path, colon, column = text.rpartition(":")
    if not colon or not path:
        raise PredictorError(f"`scores` {text}: FILE:COLUMN is needed, the column of the scores")
    if not names_input(path) and (Path(path).is_dir() or not Path(path).suffix):
        from pqpp_datasets.load import load_benchmark

        rows = load_benchmark(path, split=split)
        data = Split.of(rows, Path(path).name)
        (scored,) = sets_of(data, data.targets(column))
        return scored
    table = read_table(path, ["prompt", column])
    pairs = zip(table.texts("prompt"), table.numbers(column), strict=True)
    known = [pair for pair in pairs if not math.isnan(pair[1])]
    prompts, scores = [prompt for prompt, _ in known], [score for _, score in known]
    target = column if is_target(column) else None
    where = f"{Path(path).name}:{column}"
    return ScoredPrompts(Path(path).stem, prompts, scores, data=where, target=target)
