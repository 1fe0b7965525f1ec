"""Annotator filtering of a running study, with the functions of `pqpp build`.

An annotator is compared with each control member on the images that both rated, and by the share of
reference images rated highly relevant. Without control members and reference images these rules
refuse nobody. The agreement with other annotators is reported, and is a reason to refuse if the
study file sets `exclude: flagged`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas

from pqpp_annotation.kinds import TaskKind
from pqpp_annotation.study.prompts import REFERENCE
from pqpp_annotation.study.study import Study
from pqpp_datasets.own_benchmark.admission import Annotator, filter_annotators, select_counted_votes
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements, compute_agreements
from pqpp_datasets.own_benchmark.trust.figures import compute_alpha, mirror_choices
from pqpp_datasets.own_benchmark.votes.scales import Scale, get_scale_by_name
from pqpp_datasets.own_benchmark.votes.votes import Votes, index_rows
from pqpp_metrics.functional._votes import get_ac1


@dataclass(frozen=True)
class FilterResult:
    """The admitted annotators of a study and the votes that count.

    Attributes:
        votes: All votes; None before the first vote.
        annotators: Each person outside the control group who has voted, with reasons if the votes
            are not used.
        agreements: Each person's agreement with others; None before the first vote.
        counted: Indices of the votes that count, int64: those of the best admitted annotators of
            each prompt, without reference images.
        alpha: Krippendorff's alpha of all votes outside the control group, without reference
            images; NaN if no image has two votes.
        ac1: Gwet's AC1 of the same votes; -1 for an interval scale or if alpha is NaN.
    """

    votes: Votes | None
    annotators: list[Annotator]
    agreements: Agreements | None
    counted: np.ndarray
    alpha: float
    ac1: float = -1.0


def to_build_options(study: Study) -> BuildOptions:
    """Convert a study's rules to options of `pqpp build`.

    Example:
        >>> from pqpp_annotation.study.study import parse_study
        >>> study = parse_study({"name": "mine", "kind": "rating", "admission": {"min_kappa": 0.2}})
        >>> to_build_options(study).min_kappa
        0.2
    """
    return BuildOptions(reference_model=REFERENCE, best=study.best, **study.admission.to_dict())


def to_study_votes(
    votes: pandas.DataFrame, kind: TaskKind, settings: Mapping[str, Any]
) -> Votes | None:
    """Convert a table of votes to the `Votes` that `pqpp build` uses; None if it is empty.

    Args:
        votes: Columns prompt_id, model ("reference" for a reference image), image (its name, or the
            item id if answers are about items), annotator (name), label, control (whether by a
            control member), seconds and, for pairs, turned (whether the image with the lower id was
            second).
        settings: The study's `task` settings.
    """
    if votes.empty:
        return None
    texts = [votes[name].factorize() for name in ("prompt_id", "model", "image", "annotator")]
    prompt, model, image, annotator = (codes.astype(np.int32) for codes, _ in texts)
    item = index_rows(prompt, model, image)
    _, models, images, annotators = (list(map(str, names)) for _, names in texts)
    value, scale = votes["label"].to_numpy(float), kind.get_scale(settings)
    observed = Scale(kind.name, value.min(), value.max(), kind.level, numbers="any")
    return Votes(
        prompt=prompt.astype(np.int64),
        model=model,
        image=image,
        annotator=annotator,
        item=item,
        first=np.unique(item, return_index=True)[1],
        value=value,
        control=votes["control"].to_numpy(bool),
        reference=(votes["model"] == REFERENCE).to_numpy(bool),
        seconds=votes["seconds"].to_numpy(float),
        model_names=models,
        image_names=images,
        annotator_names=annotators,
        has_annotators=True,
        scale=get_scale_by_name(scale) if scale else observed,
        turned=votes["turned"].to_numpy(bool) if "left" in kind.answer.model_fields else None,
    )


def filter_people(
    votes: Votes | None, options: BuildOptions, verdicts: Mapping[str, str] | None = None
) -> FilterResult:
    """Decide who is admitted and which votes count.

    Args:
        votes: Output of `to_study_votes`.
        options: Only `min_kappa`, `min_reference_share`, `best` and `exclude` are used.
        verdicts: Decisions that override the rules, by name: "" admits, a reason refuses.

    Example:
        >>> import pandas
        >>> from pqpp_annotation.kinds import get_task_kind
        >>> table = pandas.DataFrame({"annotator": ["member", "member", "anna", "anna", "bert"]})
        >>> table = table.assign(prompt_id="7", model="sdxl", image=["1", "2", "1", "2", "1"])
        >>> table = table.assign(label=[2, 0, 2, 0, 0], seconds=3.0, turned=False)
        >>> table["control"] = table["annotator"] == "member"
        >>> votes = to_study_votes(table, get_task_kind("relevance"), {})
        >>> annotators = filter_people(votes, BuildOptions()).annotators
        >>> [(annotator.name, annotator.kappa, bool(annotator.reasons)) for annotator in annotators]
        [('anna', 1.0, False), ('bert', 0.0, True)]
    """
    if votes is None:
        return FilterResult(None, [], None, np.zeros(0, np.int64), float("nan"))
    agreements = compute_agreements(votes)
    annotators = filter_annotators(votes, agreements, options)
    for index, annotator in enumerate(annotators):
        verdict = (verdicts or {}).get(annotator.name)
        if verdict == "" or (verdict and not annotator.reasons):
            annotators[index] = replace(annotator, reasons=(verdict,) if verdict else ())
    counted = select_counted_votes(votes, annotators, options.best)
    rows, ac1 = ~votes.control & ~votes.reference, -1.0
    columns = votes.item[rows], votes.value[rows]
    item, value = columns if votes.turned is None else mirror_choices(*columns)
    alpha = compute_alpha(item, item, value, votes.scale.level)[0]
    if not np.isnan(alpha) and votes.scale.level != "interval":
        ac1 = get_ac1(np.unique(item, return_inverse=True)[1], value)[0]
    return FilterResult(votes, annotators, agreements, counted, alpha, ac1)
