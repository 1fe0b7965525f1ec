"""Who is admitted, while the study runs: by the functions that `pqpp build` uses on its export.

An annotator is compared with each member of the control group on what both judged, and by the share
of the reference images called highly relevant. Where there is neither a control group nor a
reference image nobody can be refused by these; the agreement with the others is told, and
`exclude: flagged` in the study file makes it a reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_annotation.kinds import TaskKind, Vote
from pqpp_annotation.study.prompts import REFERENCE
from pqpp_annotation.study.study import Study
from pqpp_datasets.own_benchmark.admission import Annotator, judge_annotators, trusted_votes
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements, agreements_of
from pqpp_datasets.own_benchmark.trust.figures import alpha
from pqpp_datasets.own_benchmark.votes.scales import Scale, named_scale
from pqpp_datasets.own_benchmark.votes.votes import Votes, number_items
from pqpp_metrics.functional._votes import ac1_of

if TYPE_CHECKING:
    import pandas

_STEPS = 25  # of a scale with more, values are rounded
_LEAST_SHARED = 20  # votes of those who say what is usual
_STAKES = (0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Standings:
    """What is known of the people of a study.

    Attributes:
        votes: The table that all is computed from; None before the first vote.
        annotators: Everyone outside the control group who has voted, with the reasons for which
            the votes are not used.
        agreements: Of each person with the others; None before the first vote.
        counted: int64, the places of the votes that count: of admitted people, on images that are
            no reference, the best few of a prompt.
        proven: Who is proven to agree with the others by under half of the usual.
        alpha: Krippendorff's of the annotators' votes, outside the control group and on images
            that are no reference; NaN where no image has two.
        ac1: Gwet's of the same, -1 for votes on an interval scale.
    """

    votes: Votes | None
    annotators: list[Annotator]
    agreements: Agreements | None
    counted: np.ndarray
    proven: frozenset[str]
    alpha: float
    ac1: float = -1.0


def options_of(study: Study) -> BuildOptions:
    """Return the options of `pqpp build` that a study's settings are.

    Example:
        >>> from pqpp_annotation.study.study import study_of
        >>> study = study_of({"name": "mine", "kind": "rating", "admission": {"min_kappa": 0.2}})
        >>> options_of(study).min_kappa
        0.2
    """
    rules = study.admission.to_dict()
    return BuildOptions(reference_model=REFERENCE, best=study.best, **rules)


def study_votes(
    votes: pandas.DataFrame, kind: TaskKind, settings: Mapping[str, Any]
) -> Votes | None:
    """Lay votes out as the table of `pqpp build`; None where there is no row.

    Args:
        votes: With the columns prompt_id, model ("reference" for a reference image), image (by
            name; what is compared where an answer is about an item), annotator (by name), label,
            control (whether a member of the control group voted), seconds and, of pairs, turned
            (whether the image with the lower id stood second).
        settings: The kind's own, of the study.
    """
    if votes.empty:
        return None
    texts = [votes[name].factorize() for name in ("prompt_id", "model", "image", "annotator")]
    prompt, model, image, annotator = (codes.astype(np.int32) for codes, _ in texts)
    item, first = number_items(prompt, model, image)
    _, models, images, annotators = (list(map(str, known)) for _, known in texts)
    value, name = votes["label"].to_numpy(float), kind.scale_of(settings)
    used = Scale(kind.name, value.min(), value.max(), kind.level, numbers="any")
    return Votes(
        prompt=prompt.astype(np.int64),
        model=model,
        image=image,
        annotator=annotator,
        item=item,
        first=first,
        value=value,
        control=votes["control"].to_numpy(bool),
        reference=(votes["model"] == REFERENCE).to_numpy(bool),
        seconds=votes["seconds"].to_numpy(float),
        model_names=models,
        image_names=images,
        annotator_names=annotators,
        has_annotators=True,
        scale=named_scale(name) if name else used,  # `pqpp build`'s, or the range
        turned=votes["turned"].to_numpy(bool) if "left" in kind.answer.model_fields else None,
    )


def table_of_votes(
    votes: Iterable[Vote], kind: TaskKind, settings: Mapping[str, Any]
) -> tuple[Votes | None, np.ndarray]:
    """Lay votes out as the table, and say which row is which vote's.

    Votes of the training round, and those without a label, are left out.

    Args:
        votes: All current ones.
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
    import pandas

    rows = []
    for place, vote in enumerate(votes):
        label = None if vote.purpose == "training" else kind.label(vote.value)
        if label is not None:
            image = vote.image or "\n".join(name for name, *_ in vote.images)
            what = (vote.prompt_id, vote.model, image, vote.annotator)
            turned = vote.value.get("left") == "b"
            rows.append((place, *what, label, vote.is_control, vote.seconds, turned))
    names = ["place", "prompt_id", "model", "image", "annotator", "label", "control", "seconds"]
    names.append("turned")
    table = pandas.DataFrame(rows, columns=names)
    return study_votes(table, kind, settings), table["place"].to_numpy(np.int64)


def standings_of(
    votes: Votes | None, options: BuildOptions, verdicts: Mapping[str, str] | None = None
) -> Standings:
    """Say who is admitted, and which votes count.

    Args:
        votes: As `study_votes` lays them out.
        options: With `min_kappa`, `min_reference_share`, `best` and `exclude`.
        verdicts: Name of whom the rules do not decide on, to the reason of refusal or "".

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
        return Standings(None, [], None, np.zeros(0, np.int64), frozenset(), float("nan"))
    agreements = agreements_of(votes)
    annotators = judge_annotators(votes, agreements, options)
    for place, annotator in enumerate(annotators):
        verdict = (verdicts or {}).get(annotator.name)
        if verdict == "" or (verdict and not annotator.reasons):
            annotators[place] = replace(annotator, reasons=(verdict,) if verdict else ())
    counted = trusted_votes(votes, annotators, options.best)
    rows = np.flatnonzero(~votes.control & ~votes.reference)
    agreed = alpha(*2 * (votes.item[rows],), votes.value[rows], votes.scale.level)[0]
    proven = frozenset(votes.annotator_names[place] for place in np.flatnonzero(proofs(votes)))
    alike = -1.0
    if agreed == agreed and votes.scale.level != "interval":
        alike = ac1_of(np.unique(votes.item[rows], return_inverse=True)[1], votes.value[rows])[0]
    return Standings(votes, annotators, agreements, counted, proven, agreed, alike)


def proofs(votes: Votes, error: float = 0.01) -> np.ndarray:
    """Say of whom it is proven, at whatever look, that they agree by under half of the usual.

    Of each prompt is known how far a person's votes are from the others' on the same images, over
    how far they would be by chance: 1 for who answers at random or always alike. The bound is
    half-way from the median person to 1. A bet that a person is beyond it wins on prompts that are,
    and loses on others; by Ville's inequality no more than `error` of the people who are within the
    bound ever win 1 / `error` times their stake, however often one looks. Three bets are averaged.

    Returns:
        bool, a place an annotator; False where nothing tells.

    Source:
        Ville, Etude critique de la notion de collectif, 1939; Ramdas et al., Game-theoretic
        statistics and safe anytime-valid inference, Statistical Science 38, 2023.
    """
    judged = np.bincount(votes.item, ~votes.reference)
    kept = ~votes.reference & (judged[votes.item] > 1)
    columns = (votes.item, votes.annotator, votes.prompt, votes.value)
    item, who, prompt, value = (column[kept] for column in columns)
    size = len(votes.annotator_names)
    count = np.bincount(who, minlength=size)
    seen = count >= _LEAST_SHARED
    if not seen.any():
        return np.zeros(size, bool)
    if len(np.unique(value)) > _STEPS:
        value = np.round((value - value.min()) / np.ptp(value) * _STEPS)
    values, code = np.unique(value, return_inverse=True)
    apart = np.abs(values[:, None] - values)
    if votes.scale.level == "nominal":
        apart = np.sign(apart)
    given, own = np.zeros((len(votes.first), len(values))), np.zeros((size, len(values)))
    np.add.at(given, (item, code), 1)
    np.add.at(own, (who, code), 1)
    by_chance = own @ apart @ own.sum(axis=0) / np.maximum(count, 1) / len(who)
    far = (given @ apart)[item, code] / (judged[item] - 1) / np.maximum(by_chance[who], 1e-12)
    bound = (1 + np.median(np.bincount(who, far, size)[seen] / count[seen])) / 2
    cell, place = np.unique(who * (prompt.max() + 1) + prompt, return_inverse=True)
    beyond = np.bincount(place, far) / np.bincount(place) / bound - 1
    person = cell // (prompt.max() + 1)
    won = [np.bincount(person, np.log1p(stake * beyond), size) for stake in _STAKES]
    return np.logaddexp.reduce(won) >= np.log(len(_STAKES) / error)
