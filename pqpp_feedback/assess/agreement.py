"""How well an assessor's verdicts agree with people's, and whether they rank models alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pqpp_feedback.assess.errors import AssessError
from pqpp_metrics.functional.agreement import cohen_kappa
from pqpp_metrics.functional.match_rate import match_rate

FIGURES = ("n", "people", "automated", "bias", "accuracy", "kappa", "f1_true", "f1_false")


def agreement(verdicts: Sequence[bool], people: Sequence[bool]) -> dict[str, Any]:
    """Return how well verdicts agree with people's answers on the same images.

    Args:
        verdicts: Of the assessor, (images,).
        people: Of people, (images,).

    Returns:
        `n`; the rates `people` and `automated` with Wilson's intervals of 95 % (`people_low`,
        `people_high`, ...); `bias`, the automated rate less people's; `accuracy`, Cohen's `kappa`,
        and the F1 of both classes, which is 0 where a class occurs on neither side.

    Raises:
        AssessError: There is no image, or there are not as many of both.

    Example:
        >>> found = agreement([True, True, False, False], [True, False, False, False])
        >>> found["accuracy"], found["kappa"], found["bias"], found["f1_true"]
        (0.75, 0.5, 0.25, 0.6666666666666666)
    """
    said, true = np.asarray(verdicts, dtype=bool), np.asarray(people, dtype=bool)
    if said.shape != true.shape or said.ndim != 1 or not said.size:
        raise AssessError(
            f"{said.size} verdicts and {true.size} answers of people came; give one answer a "
            "verdict, and at least one"
        )
    found: dict[str, Any] = {"n": int(said.size)}
    for name, values in (("people", true), ("automated", said)):
        rate = match_rate(values)
        found |= {name: rate["match_rate"]}
        found |= {f"{name}_low": rate["ci_low"], f"{name}_high": rate["ci_high"]}
    return found | {
        "bias": found["automated"] - found["people"],
        "accuracy": float((said == true).mean()),
        "kappa": float(cohen_kappa(said, true)),
        "f1_true": _f1(said, true),
        "f1_false": _f1(~said, ~true),
    }


def _f1(said: NDArray[np.bool_], true: NDArray[np.bool_]) -> float:
    named = int(said.sum() + true.sum())
    return 2 * int((said & true).sum()) / named if named else 0.0


def ranking(
    verdicts: Sequence[bool],
    people: Sequence[bool],
    models: Sequence[str],
    prompts: Sequence[Hashable],
    resamples: int = 2000,
    seed: int = 0,
) -> dict[str, Any]:
    """Return whether the models' order by people's answers survives automation.

    Prompts are drawn with replacement, with all images of a prompt together.

    Args:
        verdicts: Of the assessor, (images,).
        people: Of people, (images,).
        models: The generator of each image.
        prompts: The prompt of each image.
        resamples: How many draws.
        seed: Of the draws.

    Returns:
        `by_people` and `by_automation`, model to rate, highest first; `same_order` and
        `same_first`, the shares of draws in which both orders, or their first models, are equal;
        and `pairs`: for each two models the differences of the rates by both, with intervals of
        95 %, and whether both have the same sign throughout (`survives`).

    Example:
        >>> found = ranking([1, 0, 1, 0], [1, 0, 1, 0], ["a", "b", "a", "b"], [1, 1, 2, 2])
        >>> list(found["by_people"]), found["same_order"]
        (['a', 'b'], 1.0)
    """
    names = list(dict.fromkeys(models))
    of_model = {name: number for number, name in enumerate(names)}
    of_prompt = {one: number for number, one in enumerate(dict.fromkeys(prompts))}
    rows = np.array([of_prompt[one] for one in prompts])
    columns = np.array([of_model[one] for one in models])
    shape = (len(of_prompt), len(names))
    hits = np.zeros((2, *shape))
    numbers = np.zeros(shape)
    np.add.at(numbers, (rows, columns), 1)
    for side, values in enumerate((people, verdicts)):
        np.add.at(hits[side], (rows, columns), np.asarray(values, dtype=float))
    drawn = np.random.default_rng(seed).multinomial(
        shape[0], np.full(shape[0], 1 / shape[0]), size=resamples
    )
    with np.errstate(invalid="ignore"):  # a draw may hold no image of a model
        rates = np.einsum("rp,spm->srm", drawn, hits) / (drawn @ numbers)
    whole = hits.sum(axis=1) / numbers.sum(axis=0)
    orders = np.argsort(-rates, axis=2, kind="stable")
    rankings = [dict(sorted(zip(names, one.tolist(), strict=True), key=_last)) for one in whole]
    return {
        "by_people": rankings[0],
        "by_automation": rankings[1],
        "same_order": float((orders[0] == orders[1]).all(axis=1).mean()),
        "same_first": float((orders[0, :, 0] == orders[1, :, 0]).mean()),
        "pairs": _pairs(names, whole, rates),
    }


def _last(item: tuple[str, float]) -> tuple[float, str]:
    return -item[1], item[0]


def _pairs(
    names: Sequence[str], whole: NDArray[np.float64], rates: NDArray[np.float64]
) -> list[dict[str, Any]]:
    found = []
    order = np.argsort(-whole[0], kind="stable")
    for place, better in enumerate(order):
        for worse in order[place + 1 :]:
            row: dict[str, Any] = {"better": names[better], "worse": names[worse]}
            for side, name in enumerate(("people", "automated")):
                low, high = np.nanquantile(
                    rates[side, :, better] - rates[side, :, worse], (0.025, 0.975)
                )
                row[name] = float(whole[side, better] - whole[side, worse])
                row |= {f"{name}_low": float(low), f"{name}_high": float(high)}
            row["survives"] = row["people_low"] > 0 and row["automated_low"] > 0
            found.append(row)
    return found


def agreement_in_words(figures: Mapping[str, Any]) -> str:
    """Return an agreement in one line.

    Example:
        >>> agreement_in_words(agreement([True, False], [True, False]))
        'agreement with people: accuracy 1.000, kappa 1.000, F1 1.000 / 1.000, bias +0.000 (n = 2)'
    """
    return (
        f"agreement with people: accuracy {figures['accuracy']:.3f}, kappa {figures['kappa']:.3f}, "
        f"F1 {figures['f1_true']:.3f} / {figures['f1_false']:.3f}, bias {figures['bias']:+.3f} "
        f"(n = {figures['n']})"
    )
