"""Build the splits of a benchmark from raw files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.forms import File, read_foreign, read_long
from pqpp_datasets.own_benchmark.generation import Generation, Retrieval, score_runs, score_votes
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import (
    assign_splits,
    describe_split,
    make_ids,
    number_prompts,
)
from pqpp_datasets.own_benchmark.votes.preferences import (
    Preferences,
    score_preferences,
    to_preferences,
)
from pqpp_datasets.own_benchmark.votes.scales import find_scale, parse_labels
from pqpp_datasets.own_benchmark.votes.votes import to_votes
from pqpp_datasets.target_columns import Target, average_exactly, describe_targets, to_targets
from pqpp_files.names import how_many

Files = list[tuple[str | None, Path]]


@dataclass(frozen=True)
class Outcome:
    """The result of a build.

    Attributes:
        splits: Split to its table: PQPP's identity columns, then one column per target; empty
            splits are omitted.
        generation: The results from judgments, or None.
        retrieval: The results from runs, or None.
        preferences: The results from preferences, or None.
        options: The options of the build.
        prompts: The identity columns of all prompts, in the order of the files.
        split_of: The split of each prompt.
        targets: Descriptions of the target columns, also in the tables' schemas.
        inputs: The files that it was built from.
        warnings: One line per problem, such as an empty split or a target without a value.
        notes: Notes on how the votes were read, one per line.
    """

    splits: dict[str, pa.Table]
    generation: Generation | None
    retrieval: Retrieval | None
    preferences: Preferences | None
    options: BuildOptions
    prompts: pa.Table
    split_of: np.ndarray
    targets: tuple[Target, ...] = ()
    inputs: tuple[Path, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def trust_lines(self) -> list[str]:
        """The reliability of votes, one line each for judgments and preferences."""
        trusts = (self.generation and self.generation.trust, self.preferences)
        return [trust.summary for trust in trusts if trust]

    @property
    def flagged_annotators(self) -> list[tuple[list[str], list[tuple[str, str]]]]:
        """All annotators, and the flagged ones with reasons; the same for preferences."""
        votes, choices = self.generation, self.preferences
        people = [(a.name, a.flag) for a in votes.annotators if a.flag] if votes else []
        of_votes = votes.table.annotator_names if votes else []
        of_choices = (choices.voters, choices.flagged_voters) if choices else ([], [])
        return [(of_votes, people), of_choices]


def build_benchmark(
    judgments: str | Path | Sequence[str | Path] | None = None,
    runs: str | Path | Sequence[str | Path] | Mapping[str, str | Path] | None = None,
    relevance: str | Path | Sequence[str | Path] | None = None,
    options: BuildOptions | None = None,
    preferences: str | Path | Sequence[str | Path] | None = None,
    rankings: str | Path | Sequence[str | Path] | None = None,
) -> Outcome:
    r"""Build a benchmark from votes on generated images, preferences, retrieval runs, or all three.

    A target column is `<model>_hbpp` (or `_rating`, `_score`, `_rate`, by the aggregation),
    `<model>_p<k>` or `<model>_rr`, and `mean_...` over the models, null if one is missing.

    Args:
        judgments: One or several tables of votes on images, in a layout described by `options`.
        runs: Results of retrievers, higher scores first: one or several files, or a mapping of
            model to file. TREC runs need the prompts' texts in `options.prompts`; the default model
            is the name of the file. Needs `relevance`.
        relevance: Votes on the results: tables, or TREC qrels, in which grades above 0 are
            relevant. An image without a vote is irrelevant.
        preferences: Which of two models' images of a prompt is better: a, b or tie, other words for
            them, or the chosen model's name.
        rankings: The rank of each model's image of a prompt, 1 for the best; read as the
            preferences between all pairs.

    Raises:
        BenchmarkError: There is no input, a file is invalid, or no target has a value.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "judgments.csv"
        >>> _ = path.write_text("prompt,image,model,annotator,label\nA cat.,1.png,sdxl,ann,2\n")
        >>> built = build_benchmark(path, options=BuildOptions(scale="pqpp"))
        >>> built.splits["train"]["sdxl_hbpp"].to_pylist()
        [2.0]
    """
    options = options or BuildOptions()
    inputs: dict[str, Any] = {"judgments": judgments, "preferences": preferences}
    inputs |= {"rankings": rankings, "runs": runs, "relevance": relevance}
    files = {kind: found for kind, paths in inputs.items() if (found := _list_files(paths or ()))}
    if not files or ("runs" in files) != ("relevance" in files):
        wanted = "give judgments, preferences, rankings, or runs with relevance"
        raise BenchmarkError(f"nothing to build from: {wanted}")
    if {"preferences", "rankings"} <= files.keys():
        raise BenchmarkError("preferences and rankings both give `rate`; build one")
    paths = [path for some in files.values() for _, path in some]
    prompts, generation, retrieval, preferred = _score_prompts(files, options)
    identities = table = make_ids(prompts)
    split_of = assign_splits(prompts, options.fractions, options.seed)
    scores: dict[str, dict[str, np.ndarray]] = {}
    if generation:
        scores[generation.measure] = generation.scores
    if preferred:
        if "rate" in scores:
            raise BenchmarkError("preferences and yes-no votes both give `rate`; build one")
        scores["rate"] = preferred.scores
    if retrieval:
        scores |= {f"p{options.k}": retrieval.precision, "rr": retrieval.reciprocal_rank}
    targets: dict[Target, np.ndarray] = {}
    limits = generation.limits if generation else None
    for measure, of_models in scores.items():
        # Those of a measure's models, and then their mean.
        *columns, mean = to_targets(of_models, measure, limits)
        parts = [*of_models.values()]
        targets |= zip(columns, parts, strict=True)
        # The mean of shares of wins is one half wherever all models were compared.
        if not preferred or measure != "rate":
            means = average_exactly(parts) if parts else np.full(len(split_of), np.nan)
            targets[mean] = np.round(means, 11)  # of columns with 12 digits, so that equals tie
    empty = [target.name for target, values in targets.items() if np.isnan(values).all()]
    if len(empty) == len(targets):
        names = " and ".join(map(str, paths))
        why = "they share no prompt; write prompts the same way"
        if generation:
            people = how_many(len(generation.annotators), "annotator")
            admitted = sum(not annotator.reasons for annotator in generation.annotators)
            why = (
                f"{admitted} of {people} annotators outside the control group are admitted; give "
                "more"
            )
            why += " judgments, or lower min_kappa or min_reference_share"
            if generation.counted.size:
                why = "each annotator always gave the same vote, which z-scores drop; choose"
                why += " `aggregate` mean"
        raise BenchmarkError(f"{names}: no target has a value: {why}")
    for target, values in targets.items():
        table = table.append_column(target.name, pa.array(values, pa.float64(), from_pandas=True))
    table = describe_targets(table, list(targets), describe_split(options.fractions, options.seed))
    splits = {name: table.filter(pa.array(split_of == name)) for name in options.fractions}
    warnings = [
        f"the split {name} is empty: {share:g} of {(split_of != '').sum()} prompts"
        for name, share in options.fractions.items()
        if share > 0 and not splits[name].num_rows
    ]
    warnings += [f"the column {name} has no value for any prompt" for name in empty]
    joined = filter(None, (options.prompts, options.images, options.labels))
    return Outcome(
        splits={name: table for name, table in splits.items() if table.num_rows},
        generation=generation,
        retrieval=retrieval,
        preferences=preferred,
        options=options,
        prompts=identities,
        split_of=split_of,
        targets=tuple(targets),
        inputs=(*paths, *(Path(path) for path in joined if not path.startswith("{"))),
        warnings=tuple(warnings),
        notes=tuple(
            note for result in (generation, retrieval, preferred) if result for note in result.notes
        ),
    )


def _list_files(paths: str | Path | Sequence[str | Path] | Mapping[str, str | Path]) -> Files:
    """Return files with their models, if any."""
    files = [paths] if isinstance(paths, str | Path) else paths
    named = files.items() if isinstance(files, Mapping) else ((None, path) for path in files)
    return [(model, Path(path)) for model, path in named]


def _score_prompts(
    files: Mapping[str, Files], options: BuildOptions
) -> tuple[pd.DataFrame, Generation | None, Retrieval | None, Preferences | None]:
    """Read files, number their prompts, and compute scores from each kind of file."""
    opened: dict[str, list[tuple[str | None, File]]] = {k: [*v] for k, v in files.items()}
    is_free = "judgments" in opened and "rankings" not in opened
    if options.from_format is not None:  # what another tool wrote says of what kind it is
        if "judgments" not in opened:
            raise BenchmarkError("`from_format` applies to judgments; give the file as judgments")
        foreign = [read_foreign(path, options) for _, path in files["judgments"]]
        kinds = {file.kind for file in foreign}
        if len(kinds) > 1 or kinds & {*files} - {"judgments"}:
            came = f"{' and '.join(sorted(kinds))} given together with {' and '.join(files)}"
            raise BenchmarkError(f"{foreign[0].path}: {came}; build from one kind at a time")
        del opened["judgments"]
        opened[kinds.pop()] = [(None, file) for file in foreign]
        if options.scale is None and options.labels is None:
            options = replace(options, scale=foreign[0].scale)
    elif is_free and "rank" in options.get_columns("judgments"):
        opened["rankings"] = opened.pop("judgments")
    tables = {kind: read_long(kind, paths, options) for kind, paths in opened.items()}
    if "rankings" in tables:
        tables["preferences"] = to_preferences(tables.pop("rankings"), options)
    order = filter(tables.get, ("judgments", "runs", "relevance", "preferences"))
    prompts = number_prompts([tables[kind] for kind in order], options.same_text == "keep")
    generation = retrieval = preferred = None
    for kind in list(tables):
        if kind == "judgments":
            table = tables.pop(kind)
            scale = find_scale(table, options)
            labels = parse_labels(table, "label", scale, options.blank)
            generation = score_votes(to_votes(table, scale, labels, options), len(prompts), options)
        elif kind == "runs":
            retrieval = score_runs(tables[kind], tables["relevance"], len(prompts), options)
        elif kind == "preferences":
            preferred = score_preferences(tables[kind], len(prompts), options)
    return prompts, generation, retrieval, preferred
