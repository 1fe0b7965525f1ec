"""Build the splits of a benchmark from files of votes, preferences and retrieval runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.forms import NamedFile, read_foreign_file, read_long_table
from pqpp_datasets.own_benchmark.generation import Generation, Retrieval, score_runs, score_votes
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import (
    assign_splits,
    describe_split,
    make_identity_table,
    number_prompts,
)
from pqpp_datasets.own_benchmark.votes.preferences import (
    Preferences,
    score_preferences,
    to_preferences,
)
from pqpp_datasets.own_benchmark.votes.scales import find_scale, parse_labels
from pqpp_datasets.own_benchmark.votes.votes import to_votes
from pqpp_datasets.target_columns import Target, average_columns, describe_targets, to_targets

Paths = str | Path | Sequence[str | Path]
Files = list[tuple[str | None, Path]]


@dataclass(frozen=True)
class Outcome:
    """The result of a build.

    Attributes:
        splits: Table of each split that is not empty, with PQPP's identity columns and one column
            per target.
        generation: The results from judgments, or None.
        retrieval: The results from runs, or None.
        preferences: The results from preferences or rankings, or None.
        options: The options of the build.
        prompts: The identity columns of all prompts, in the order of the files.
        split_of: The split of each prompt, in the order of `prompts`.
        targets: Descriptions of the target columns, also stored in the tables' schemas.
        warnings: One line per problem, such as an empty split or a target without values.
        notes: Notes on how the files were read, one per line.
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
    def reliability_summaries(self) -> list[str]:
        """One line on the reliability of votes and one on that of preferences, if there are any."""
        votes = self.generation
        trusts = (votes.trust if votes and not votes.table.has_scores else None, self.preferences)
        return [trust.summary for trust in trusts if trust]

    @property
    def flagged_annotators(self) -> list[tuple[list[str], list[tuple[str, str]]]]:
        """For judgments and for preferences: all annotators, and the flagged ones with reasons."""
        votes, choices = self.generation, self.preferences
        flagged = [(a.name, a.flag) for a in votes.annotators if a.flag] if votes else []
        annotators = votes.table.annotator_names if votes else []
        preference_annotators = (choices.voters, choices.flagged_voters) if choices else ([], [])
        return [(annotators, flagged), preference_annotators]


def build_benchmark(
    judgments: Paths | None = None,
    *,
    preferences: Paths | None = None,
    rankings: Paths | None = None,
    runs: Paths | Mapping[str, str | Path] | None = None,
    relevance: Paths | None = None,
    options: BuildOptions | None = None,
) -> Outcome:
    r"""Build a benchmark from votes on images, preferences or rankings, and retrieval runs.

    Target columns are `<model>_hbpp` (or `_rating`, `_score`, `_rate`, depending on the
    aggregation), `<model>_p<k>` and `<model>_rr`, and their means over the models, `mean_...`,
    which are null for prompts where a model has no value.

    Args:
        judgments: Tables of votes on images, in a layout that `options` describes.
        preferences: Choices between two models' images of a prompt: a, b or tie, similar words, or
            the name of the preferred model.
        rankings: Ranks of the models' images of a prompt, 1 for the best; they are converted to
            preferences between all pairs of models.
        runs: Results of retrievers, with higher scores for better results: files, or a mapping of
            models to files. TREC runs need the prompts' texts in `options.prompts`; the default
            model is the name of the file. Requires `relevance`.
        relevance: Votes on the results: tables, or TREC qrels with grades above 0 for relevant
            images. An image without a vote is irrelevant.
        options: Options of the build; default: `BuildOptions()`.

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
    files = {kind: _list_files(paths) for kind, paths in inputs.items() if paths}
    if not files or ("runs" in files) != ("relevance" in files):
        remedy = "set `judgments`, `preferences`, `rankings`, or `runs` and `relevance`"
        raise BenchmarkError(f"missing input; {remedy}")
    if {"preferences", "rankings"} <= files.keys():
        raise BenchmarkError("`preferences` and `rankings` define the same targets; set only one")
    prompts, generation, retrieval, preferred = _score_prompts(files, options)
    targets = _list_targets(generation, retrieval, preferred, options.k)
    paths = [path for pairs in files.values() for _, path in pairs]
    empty_targets = [target.name for target, values in targets.items() if np.isnan(values).all()]
    if len(empty_targets) == len(targets):
        problem = f"no target has a value {_explain_no_values(generation)}"
        raise BenchmarkError(f"{' and '.join(map(str, paths))}: {problem}")
    identities = table = make_identity_table(prompts)
    for target, values in targets.items():
        table = table.append_column(target.name, pa.array(values, pa.float64(), from_pandas=True))
    table = describe_targets(table, list(targets), describe_split(options.fractions, options.seed))
    split_of = assign_splits(prompts, options.fractions, options.seed)
    splits = {name: table.filter(pa.array(split_of == name)) for name in options.fractions}
    warnings = [
        f"split {name} is empty: its share is {share:g} of {(split_of != '').sum()} prompts"
        for name, share in options.fractions.items()
        if share > 0 and not splits[name].num_rows
    ]
    warnings += [f"column {name} has no values" for name in empty_targets]
    tables = filter(None, (options.prompts, options.images, options.labels))
    return Outcome(
        splits={name: table for name, table in splits.items() if table.num_rows},
        generation=generation,
        retrieval=retrieval,
        preferences=preferred,
        options=options,
        prompts=identities,
        split_of=split_of,
        targets=tuple(targets),
        inputs=(*paths, *(Path(path) for path in tables if not path.startswith("{"))),
        warnings=tuple(warnings),
        notes=tuple(n for part in (generation, retrieval, preferred) if part for n in part.notes),
    )


def _list_files(paths: Paths | Mapping[str, str | Path]) -> Files:
    """Return pairs of a model (None if it is not named) and a file."""
    files = [paths] if isinstance(paths, str | Path) else paths
    pairs = files.items() if isinstance(files, Mapping) else ((None, path) for path in files)
    return [(model, Path(path)) for model, path in pairs]


def _list_targets(
    generation: Generation | None,
    retrieval: Retrieval | None,
    preferred: Preferences | None,
    k: int,
) -> dict[Target, np.ndarray]:
    """Return each target's scores: those of the models, and their mean, for each measure."""
    scores: dict[str, dict[str, np.ndarray]] = {}
    if generation:
        scores[generation.measure] = generation.scores
    if preferred:
        if "rate" in scores:
            raise BenchmarkError("votes and preferences both give rates; set another `aggregate`")
        scores["rate"] = preferred.scores
    if retrieval:
        scores |= {f"p{k}": retrieval.precision, "rr": retrieval.reciprocal_rank}
    targets: dict[Target, np.ndarray] = {}
    for measure, model_scores in scores.items():
        limits = generation.limits if generation and measure == generation.measure else None
        *columns, mean = to_targets(model_scores, measure, limits)
        targets |= zip(columns, model_scores.values(), strict=True)
        # The mean share of wins is always 0.5 if all models are compared.
        if model_scores and not (preferred and measure == "rate"):
            # Columns have 12 digits, so equal means are ties.
            targets[mean] = np.round(average_columns([*model_scores.values()]), 11)
    return targets


def _explain_no_values(generation: Generation | None) -> str:
    """Return the reason why no target has a value, in parentheses, and the fix."""
    if generation is None:
        return "(no prompt is in all files); give all files the same prompts"
    if generation.counted.size:
        return "(each annotator gave only one label); set `aggregate` to mean"
    admitted = sum(not annotator.reasons for annotator in generation.annotators)
    text = f"(no votes were used; admitted annotators: {admitted} of {len(generation.annotators)})"
    return f"{text}; add annotators, or lower `min_kappa` or `min_reference_share`"


def _score_prompts(
    files: Mapping[str, Files], options: BuildOptions
) -> tuple[pd.DataFrame, Generation | None, Retrieval | None, Preferences | None]:
    inputs: dict[str, list[NamedFile]] = {k: [*v] for k, v in files.items()}
    has_votes = "judgments" in inputs and "rankings" not in inputs
    if options.from_format is not None:  # another tool's file defines its kind
        if "judgments" not in inputs:
            raise BenchmarkError("`from_format` applies to judgments; set `judgments` to the file")
        foreign = [read_foreign_file(path, options) for _, path in files["judgments"]]
        kinds = {file.kind for file in foreign}
        if len(kinds) > 1 or kinds & {*files} - {"judgments"}:
            problem = f"`from_format` files contain {' and '.join(sorted(kinds))}"
            raise BenchmarkError(f"{foreign[0].path}: {problem}; give only one file of votes")
        del inputs["judgments"]
        inputs[kinds.pop()] = [(None, file) for file in foreign]
        if options.scale is None and options.labels is None:
            options = replace(options, scale=foreign[0].scale)
    elif has_votes and "rank" in options.get_columns("judgments"):
        inputs["rankings"] = inputs.pop("judgments")
    tables = {kind: read_long_table(kind, paths, options) for kind, paths in inputs.items()}
    if "rankings" in tables:
        tables["preferences"] = to_preferences(tables.pop("rankings"), options)
    order = filter(tables.get, ("judgments", "runs", "relevance", "preferences"))
    prompts = number_prompts([tables[kind] for kind in order], options.same_text == "keep")
    generation = retrieval = preferred = None
    if table := tables.pop("judgments", None):
        scale = find_scale(table, options)
        labels = parse_labels(table, "label", scale, options.blank)
        generation = score_votes(to_votes(table, scale, labels, options), len(prompts), options)
    if "preferences" in tables:
        preferred = score_preferences(tables["preferences"], len(prompts), options)
    if "runs" in tables:
        retrieval = score_runs(tables["runs"], tables["relevance"], len(prompts), options)
    return prompts, generation, retrieval, preferred
