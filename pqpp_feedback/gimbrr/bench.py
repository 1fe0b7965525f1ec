"""GIMBRR's rates by task and model, and how well the authors' routines agree with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pqpp_datasets.load import load_benchmark
from pqpp_feedback.assess.agreement import FIGURES, agreement, ranking
from pqpp_feedback.assess.tables import Figures
from pqpp_metrics.functional.match_rate import match_rate

_CONTROLLED = "Controlled"
_ALL, _PLAIN = "all", "all but Controlled"


def joined_verdicts(
    annotations: Iterable[Mapping[str, Any]], automated: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Put the answers of people and the authors' automated verdicts on the same image together.

    An image that was annotated twice counts twice, as in the authors' notebook.

    Args:
        annotations: Rows of `gimbrr-annotations`.
        automated: Rows of `gimbrr-automated`.

    Returns:
        Rows with `task`, `model`, `prompt_id`, `people` and `verdict`.

    Example:
        >>> about = {"task": "Counting", "model": "dalle2", "prompt_id": 7}
        >>> joined_verdicts([{**about, "matched": True}], [{**about, "verdict": False}])
        [{'task': 'Counting', 'model': 'dalle2', 'prompt_id': 7, 'people': True, 'verdict': False}]
    """
    verdicts = {(row["model"], row["prompt_id"]): row["verdict"] for row in automated}
    return [
        {
            **{name: row[name] for name in ("task", "model", "prompt_id")},
            "people": row["matched"],
            "verdict": verdicts[row["model"], row["prompt_id"]],
        }
        for row in annotations
        if (row["model"], row["prompt_id"]) in verdicts
    ]


def agreement_by(rows: Sequence[Mapping[str, Any]], by: Sequence[str]) -> list[dict[str, Any]]:
    """Return the agreement of each group of rows of `joined_verdicts`, in order of appearance.

    Args:
        rows: The rows.
        by: What groups them, of `task` and `model`; nothing for one row over all.

    Example:
        >>> rows = [{"task": task, "people": True, "verdict": task == "a"} for task in "aab"]
        >>> [(one["task"], one["n"], one["accuracy"]) for one in agreement_by(rows, ["task"])]
        [('a', 2, 1.0), ('b', 1, 0.0)]
    """
    groups: dict[tuple, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        {
            **dict(zip(by, key, strict=True)),
            **agreement([row["verdict"] for row in some], [row["people"] for row in some]),
        }
        for key, some in groups.items()
    ]


def bench_gimbrr(data_dir: str | None = None) -> tuple[list[Figures], list[str]]:
    """Return the tables of GIMBRR, and what they say in sentences.

    Args:
        data_dir: The published files; downloaded if None.
    """
    annotations = _rows_of("gimbrr-annotations", data_dir)
    rows = joined_verdicts(annotations, _rows_of("gimbrr-automated", data_dir))
    about = f"the authors' routines (CLIP and DETR) and people, n = {len(rows)}"
    by_task = agreement_by(rows, ["task"])
    by_task.append({"task": _ALL, **agreement_by(rows, [])[0]})
    both = agreement_by(rows, ["task", "model"])
    names = ("verdict", "people", "model", "prompt_id")
    verdicts, people, models, prompts = ([row[name] for row in rows] for name in names)
    order = ranking(verdicts, people, models, prompts)
    tables = [
        Figures(
            "rates",
            f"How often images match, by people, n = {len(annotations)}",
            *_rates(annotations),
        ),
        Figures("agreement", f"Agreement by task: {about}", ["task", *FIGURES], by_task),
        Figures(
            "agreement_by_model", "Agreement by task and model", ["task", "model", *FIGURES], both
        ),
        Figures(
            "pairs",
            "Differences of models' rates, 2,000 draws of prompts",
            ["better", "worse", "people", "automated", "survives"],
            [_with_intervals(row) for row in order["pairs"]],
        ),
    ]
    return [_shown(table) for table in tables], [*sentences(order)]


def sentences(order: Mapping[str, Any]) -> list[str]:
    """Return what a `ranking` says, in sentences.

    Example:
        >>> order = {"by_people": {"a": 0.6, "b": 0.4}, "by_automation": {"b": 0.5, "a": 0.4}}
        >>> sentences({**order, "same_order": 0.1, "same_first": 0.2})[0]
        'Automation puts b first where people put a first: people a .600, b .400; automated b ...'
    """

    def listed(rates: Mapping[str, float]) -> str:
        return ", ".join(f"{name} {rate:.3f}".replace(" 0.", " .") for name, rate in rates.items())

    people, machine = order["by_people"], order["by_automation"]
    first, other = next(iter(people)), next(iter(machine))
    said = (
        f"Automation, as people, puts {first} first"
        if first == other
        else f"Automation puts {other} first where people put {first} first"
    )
    gaps = [max(rates.values()) - min(rates.values()) for rates in (people, machine)]
    return [
        f"{said}: people {listed(people)}; automated {listed(machine)}.",
        f"The gap between the best and the worst model is {gaps[0]:.3f} by people and "
        f"{gaps[1]:.3f} by automation. Of 2,000 draws of prompts {order['same_order']:.1%} keep "
        f"the whole order and {order['same_first']:.1%} the first place.",
    ]


def _rows_of(name: str, data_dir: str | None) -> list[dict[str, Any]]:
    splits = load_benchmark(name, **({} if data_dir is None else {"data_dir": data_dir}))
    return [row for split in splits.values() for row in split]


def _rates(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns and rows of the rates by task and model."""
    models = list(dict.fromkeys(row["model"] for row in rows))
    plain = [row for row in rows if not row["task"].startswith(_CONTROLLED)]
    found: dict[str, dict[str, Any]] = {}
    for some, task in ((rows, None), (plain, _PLAIN), (rows, _ALL)):
        groups = [[task or row["task"], row["model"]] for row in some]
        everything = [[task or row["task"], _ALL] for row in some]
        matched = [row["matched"] for row in some]
        rates = match_rate(matched * 2, groups + everything, ["task", "model"])
        for one in rates["groups"]:
            row = found.setdefault(one["task"], {"task": one["task"], "n": 0})
            row["n"] = max(row["n"], one["n"])
            row[one["model"]] = (one["match_rate"], one["ci_low"], one["ci_high"])
    return ["task", "n", *models, _ALL], list(found.values())


def _shown(table: Figures) -> Figures:
    """Return a table whose rates bear their intervals."""
    if "people" not in table.columns or table.name == "pairs":
        return table
    return Figures(table.name, table.title, table.columns, [_with_intervals(r) for r in table.rows])


def _with_intervals(row: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(row)
    for name in ("people", "automated"):
        found[name] = (row[name], found.pop(f"{name}_low"), found.pop(f"{name}_high"))
    return found
