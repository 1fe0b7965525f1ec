"""GIMBRR's rates by task and model, and how well the authors' routines agree with people."""

from collections.abc import Iterable
from typing import Any

from pqpp_datasets.load import load_benchmark
from pqpp_feedback.assess.agreement import FIGURES, compare_rankings, group_agreement
from pqpp_feedback.assess.pictures import Row
from pqpp_files.figures import ResultTable
from pqpp_metrics.functional.match_rate import match_rate

_ALL, _UNCONTROLLED = "all", "all but Controlled"


def join_verdicts(annotations: Iterable[Row], automated: Iterable[Row]) -> list[dict[str, Any]]:
    """Join people's answers and the authors' automated verdicts on the same images.

    An image that was annotated twice counts twice, as in the authors' notebook.

    Args:
        annotations: Rows of `gimbrr-annotations`.
        automated: Rows of `gimbrr-automated`.

    Returns:
        The rows of `annotations` that have a verdict, with the columns `people` and `verdict`.

    Example:
        >>> image = {"model": "dalle2", "prompt_id": 7}
        >>> join_verdicts([{**image, "matched": True}], [{**image, "verdict": False}])
        [{'model': 'dalle2', 'prompt_id': 7, 'matched': True, 'people': True, 'verdict': False}]
    """
    verdicts = {(row["model"], row["prompt_id"]): row["verdict"] for row in automated}
    return [
        {**row, "people": row["matched"], "verdict": verdicts[row["model"], row["prompt_id"]]}
        for row in annotations
        if (row["model"], row["prompt_id"]) in verdicts
    ]


def bench_gimbrr(data_dir: str | None = None) -> tuple[list[ResultTable], list[str]]:
    """Return tables of GIMBRR's match rates and agreement, and sentences on the results.

    Args:
        data_dir: The published files; None downloads them.
    """
    annotations = _load_rows("gimbrr-annotations", data_dir)
    rows = join_verdicts(annotations, _load_rows("gimbrr-automated", data_dir))
    subject = f"the authors' routines (CLIP and DETR) and people, n = {len(rows)}"
    by_task = [*group_agreement(rows, ["task"]), {"task": _ALL, **group_agreement(rows, [])[0]}]
    by_model = group_agreement(rows, ["task", "model"])
    verdicts, people, models, prompts = (
        [row[name] for row in rows] for name in ("verdict", "people", "model", "prompt_id")
    )
    order = compare_rankings(verdicts, people, models, prompts)
    models_title = "Agreement by task and model"
    pair_columns = ["better", "worse", "people", "automated", "survives"]
    pairs_title = "Differences between models' match rates, 2,000 resamples of prompts"
    rates_title = f"How often images match according to people, n = {len(annotations)}"
    names = list(dict.fromkeys(row["model"] for row in annotations))
    uncontrolled = [row for row in annotations if not row["task"].startswith("Controlled")]
    table: dict[str, dict[str, Any]] = {}
    for group, task in ((annotations, None), (uncontrolled, _UNCONTROLLED), (annotations, _ALL)):
        groups = [(task or r["task"], model) for r in group for model in (r["model"], _ALL)]
        matched = [row["matched"] for row in group for _ in range(2)]
        for rate in match_rate(matched, groups, ["task", "model"])["groups"]:
            line = table.setdefault(rate["task"], {"task": rate["task"], "n": 0})
            line["n"] = max(line["n"], rate["n"])
            line[rate["model"]] = (rate["match_rate"], rate["ci_low"], rate["ci_high"])
    tables = [
        ResultTable("rates", rates_title, ["task", "n", *names, _ALL], list(table.values())),
        ResultTable("agreement", f"Agreement by task: {subject}", ["task", *FIGURES], by_task),
        ResultTable("agreement_by_model", models_title, ["task", "model", *FIGURES], by_model),
        ResultTable("pairs", pairs_title, pair_columns, order["pairs"]),
    ]
    return tables, describe_order(order)


def describe_order(order: Row) -> list[str]:
    """Return sentences on the result of `compare_rankings`.

    Example:
        >>> order = {"by_people": {"a": 0.6, "b": 0.4}, "by_automation": {"b": 0.5, "a": 0.4}}
        >>> describe_order({**order, "same_order": 0.1, "same_first": 0.2})[0]
        'Automation ranks b first, people rank a first: people a .600, b .400; automated b ...'
    """
    people, automated = order["by_people"], order["by_automation"]
    first, winner = next(iter(people)), next(iter(automated))
    outcome = f"Automation ranks {winner} first, people rank {first} first"
    if first == winner:
        outcome = f"Automation and people rank {first} first"
    lines, gaps = [], []
    for rates in (people, automated):
        listed = ", ".join(f"{name} {rate:.3f}" for name, rate in rates.items())
        lines.append(listed.replace(" 0.", " ."))
        gaps.append(max(rates.values()) - min(rates.values()))
    return [
        f"{outcome}: people {lines[0]}; automated {lines[1]}.",
        f"The gap between the best and the worst model is {gaps[0]:.3f} for people and "
        f"{gaps[1]:.3f} for automation. Of 2,000 resamples of prompts, {order['same_order']:.1%} "
        f"keep the whole order and {order['same_first']:.1%} the best model.",
    ]


def _load_rows(name: str, data_dir: str | None) -> list[dict[str, Any]]:
    return [row for split in load_benchmark(name, data_dir=data_dir).values() for row in split]
