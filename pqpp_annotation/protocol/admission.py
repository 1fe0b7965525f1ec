"""Who is admitted, while the study runs: by the functions that `pqpp build` uses on its export.

An annotator is compared with each member of the control group on what both judged, and by the share
of the reference images called highly relevant. Where there is neither a control group nor a
reference image nobody can be refused by these; the agreement with the others is told, and
`exclude: flagged` in the study file makes it a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_annotation.kinds import TaskKind, Vote
from pqpp_datasets.own_benchmark.admission import Annotator, judge_annotators, trusted_votes
from pqpp_datasets.own_benchmark.judgment_files import Coded, Places, pairs_of
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import Prompts
from pqpp_datasets.own_benchmark.trust.annotators import Agreements
from pqpp_datasets.own_benchmark.trust.reliability import alpha
from pqpp_datasets.own_benchmark.trust.trust import agreements_of
from pqpp_datasets.own_benchmark.votes.scales import Scale, named_scale
from pqpp_datasets.own_benchmark.votes.votes import Votes

if TYPE_CHECKING:
    from pqpp_annotation.study.study import Study

REFERENCE = "reference"


@dataclass(frozen=True)
class Standings:
    """What is known of the people of a study.

    Attributes:
        votes: The table that all is computed from; None before the first vote.
        annotators: Everyone outside the control group who has voted, with the reasons for which
            the votes are not used.
        control_group: Names of its members who have voted.
        agreements: Of each person with the others; None before the first vote.
        counted: int64, the places of the votes that count: of admitted people, on images that are
            no reference, the best few of a prompt.
        alpha: Krippendorff's of the annotators' votes, outside the control group and on images
            that are no reference; NaN where no image has two.
    """

    votes: Votes | None
    annotators: list[Annotator]
    control_group: list[str]
    agreements: Agreements | None
    counted: np.ndarray
    alpha: float

    def of(self, name: str) -> Annotator | None:
        """Return what is known of a person; None of one of the control group or without a vote."""
        return next((one for one in self.annotators if one.name == name), None)


def options_of(study: Study) -> BuildOptions:
    """Return the options of `pqpp build` that a study's settings are.

    Example:
        >>> from pqpp_annotation.study.study import study_of
        >>> study = study_of({"name": "mine", "kind": "rating", "admission": {"min_kappa": 0.2}})
        >>> options_of(study).min_kappa
        0.2
    """
    rules = study.admission
    return BuildOptions(
        reference_model=REFERENCE,
        min_kappa=rules.min_kappa,
        min_reference_share=rules.min_reference_share,
        exclude=rules.exclude,
        best=study.best,
    )


def label_scale(kind: TaskKind, settings: Mapping[str, Any], values: np.ndarray) -> Scale:
    """Return the scale of a kind's labels: `pqpp build`'s, or else the range that was used.

    Example:
        >>> from pqpp_annotation.kinds import task_kind
        >>> label_scale(task_kind("relevance"), {}, np.zeros(0)).name
        'pqpp'
        >>> label_scale(task_kind("preference"), {}, np.array([-1.0, 1.0])).high
        1.0
    """
    if name := kind.scale_of(settings):
        return named_scale(name)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    return Scale(kind.name, low, high, kind.level, numbers="any")


def study_votes(
    prompt: Coded,
    model: Coded,
    image: Coded,
    annotator: Coded,
    value: np.ndarray,
    control: np.ndarray,
    seconds: np.ndarray,
    scale: Scale,
) -> Votes | None:
    """Lay columns out as the table of votes of `pqpp build`; None where there is no row.

    Args:
        prompt: By id.
        model: "reference" for a reference image.
        image: By name; what is compared where an answer is about an item.
        annotator: By name.
        value: float64 (votes,), the labels.
        control: bool (votes,), whether a member of the control group voted.
        seconds: float64 (votes,), how long it took.
        scale: Of the labels.
    """
    if not len(value):
        return None
    item, first = pairs_of(prompt, model, image)
    rows = np.arange(len(value))
    return Votes(
        prompt=prompt.codes.astype(np.int64),
        model=model.codes,
        image=image.codes,
        annotator=annotator.codes,
        item=item,
        first=first,
        value=value,
        positive=scale.is_positive(value),
        control=control,
        reference=np.array([name == REFERENCE for name in model.names])[model.codes],
        seconds=seconds,
        row=rows,
        places=Places([("the study", len(rows))]),
        prompts=Prompts(),
        model_names=model.names,
        image_names=image.names,
        annotator_names=annotator.names,
        has_annotators=True,
        scale=scale,
    )


def table_of_votes(
    votes: Iterable[Vote], kind: TaskKind, settings: Mapping[str, Any]
) -> tuple[Votes | None, np.ndarray]:
    """Lay votes out as the table, and say which row is which vote's.

    Votes of the training round, and those without a label, are left out.

    Args:
        votes: All current ones.
        kind: The kind of task.
        settings: The kind's own, of the study.

    Returns:
        The table, and int64 (rows,), the place of each row among the votes.

    Example:
        >>> from pqpp_annotation.kinds import task_kind
        >>> vote = Vote("7", "A cat.", "7/1.png", "sdxl", "anna", False, {"label": 2}, 3.25, 0,
        ...             "work", {})
        >>> table, places = table_of_votes([vote], task_kind("relevance"), {})
        >>> table.value.tolist(), table.annotator_names, places.tolist()
        ([2.0], ['anna'], [0])
    """
    coded: list[dict[str, int]] = [{}, {}, {}, {}]
    codes: list[list[int]] = [[], [], [], []]
    value, control, seconds, places = [], [], [], []
    for place, vote in enumerate(votes):
        label = None if vote.purpose == "training" else kind.label(vote.value)
        if label is None:
            continue
        image = vote.image or "\n".join(one[0] for one in vote.images)
        texts = (vote.prompt_id, vote.model, image, vote.annotator)
        for text, names, column in zip(texts, coded, codes, strict=True):
            column.append(names.setdefault(text, len(names)))
        value.append(label)
        control.append(vote.is_control)
        seconds.append(vote.seconds)
        places.append(place)
    prompts, models, images, annotators = (
        Coded(np.array(column, np.int32), list(names))
        for column, names in zip(codes, coded, strict=True)
    )
    values = np.array(value, float)
    scale = label_scale(kind, settings, values)
    told = values, np.array(control, bool), np.array(seconds, float)
    table = study_votes(prompts, models, images, annotators, *told, scale)
    return table, np.array(places, np.int64)


def standings_of(votes: Votes | None, options: BuildOptions) -> Standings:
    """Say who is admitted, and which votes count.

    Args:
        votes: As `study_votes` lays them out.
        options: With `min_kappa`, `min_reference_share`, `best` and `exclude`.

    Example:
        >>> from pqpp_annotation.kinds import task_kind
        >>> def vote(who, image, label):
        ...     said = {"label": label}
        ...     member = who == "member"
        ...     return Vote("7", "A cat.", image, "sdxl", who, member, said, 3.0, 0, "work", {})
        >>> votes = [vote(*one) for one in (("member", "1", 2), ("member", "2", 0))]
        >>> votes += [vote("anna", "1", 2), vote("anna", "2", 0), vote("bert", "1", 0)]
        >>> table, _ = table_of_votes(votes, task_kind("relevance"), {})
        >>> found = standings_of(table, BuildOptions())
        >>> [(one.name, one.kappa, bool(one.reasons)) for one in found.annotators]
        [('anna', 1.0, False), ('bert', 0.0, True)]
    """
    if votes is None:
        return Standings(None, [], [], None, np.zeros(0, np.int64), float("nan"))
    agreements = agreements_of(votes)
    annotators = judge_annotators(
        votes,
        options.min_kappa,
        options.min_reference_share,
        agreements.reasons if agreements else (),
        options.exclude,
    )
    group = [votes.annotator_names[n] for n in np.unique(votes.annotator[votes.control])]
    counted = trusted_votes(votes, annotators, options.best)
    rows = np.flatnonzero(~votes.control & ~votes.reference)
    agreed = alpha(votes.item[rows], votes.value[rows], votes.scale.level)
    return Standings(votes, annotators, group, agreements, counted, agreed)
