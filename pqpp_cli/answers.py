"""Format predictions, verdicts and explanations for the terminal and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tabulate import MIN_PADDING, tabulate

from pqpp_files.escape import escape_cell, escape_controls

if TYPE_CHECKING:
    from pqpp_models.explain.explanation import Explanation
    from pqpp_models.verdict.verdict import PromptVerdict

_LEAST = 24
"""Minimum characters of a prompt in a table, however narrow the terminal."""
_DEVIATION = "_deviation"
_NO_PHRASE = "no phrase can be removed from it"
_RANKS = len("  people  captions  ")


def format_verdicts(style: str, verdicts: Sequence[PromptVerdict], width: int | None) -> str:
    """Return verdicts as a `table` or in `markdown`; as a `table`, a single one becomes sentences.

    Args:
        width: Width of the table in characters, to which cells are wrapped; None for no limit.
    """
    if len(verdicts) == 1 and style == "table":
        return str(verdicts[0])
    is_markdown = style == "markdown"
    cell = escape_cell if is_markdown else escape_controls
    rows = []
    for verdict in verdicts:
        ranks = (verdict.easier_than_people, verdict.easier_than_captions)
        ranks_told = ["–" if rank != rank else f"{rank:.0f}" for rank in ranks]
        rows.append([cell(" ".join(verdict.prompt.split())), *ranks_told, cell(verdict.sentence)])
    text_width = max((width - _RANKS) // 2, _LEAST) if width and not is_markdown else None
    look: dict = {"colalign": ("left", "right", "right", "left") if rows else None}
    look |= {"maxcolwidths": [text_width, None, None, text_width], "disable_numparse": True}
    header = ("prompt", "people", "captions", "verdict")
    text = tabulate(rows, header, "github" if is_markdown else "simple", **look)
    return f"{text}\n\npeople, captions: percentage of user prompts and captions that are harder"


def format_single_verdict(verdict: PromptVerdict, columns: dict, domain_note: str) -> str:
    """Return the verdict on a prompt, then one line per target of `predict_columns`, then notes."""
    from pqpp_datasets.target_columns import explain_target

    targets, _ = _get_targets_and_deviations(columns)
    lines = [
        f"{target} {columns[target][0]:.2f}: {explain_target(target)}"
        for target in targets
        if target != verdict.target and columns[target][0] is not None
    ]
    is_far = any(columns.get("out_of_domain", []))
    notes = [f"out of domain: {domain_note}"] if is_far else []
    if not is_far and (ignored := columns.get("ignored", [""])[0]):  # else the verdict says why
        notes = [f"not read: {escape_controls(ignored)}"]
    return "\n\n".join(["\n".join([str(verdict), *lines]), *notes])


def format_predictions(style: str, columns: dict, domain_note: str, width: int | None) -> str:
    """Return the output of `predict_columns` as a `table` or in `markdown`, with notes below.

    Standard deviations are next to their values, and prompts out of domain are marked.

    Args:
        width: Width of the table, in characters, to which prompts are cut; None for no limit.
    """
    targets, deviations = _get_targets_and_deviations(columns)
    header = ["prompt"]
    table = []
    for target, spread in zip(targets, deviations, strict=True):
        header.append(f"{target} ± sd" if target + _DEVIATION in columns else target)
        cells = [
            "–" if value is None else f"{value:.3f}" + ("" if sd is None else f" ± {sd:.3f}")
            for value, sd in zip(columns[target], spread, strict=True)
        ]
        table.append(cells)
    far = columns.get("out_of_domain", [])
    if any(far):
        header.append("")
        table.append(["out of domain" if is_far else "" for is_far in far])
    prompts = [" ".join(prompt.split()) for prompt in columns["prompt"]]
    cell, style = (escape_cell, "github") if style == "markdown" else (escape_controls, "simple")
    if width is not None and style == "simple":
        names = [len(name) + MIN_PADDING for name in header[1:]]
        taken = [max([name, *map(len, cells)]) for name, cells in zip(names, table, strict=True)]
        most = max(width - sum(taken) - len("  ") * len(taken), _LEAST)
        prompts = [p if len(p) <= most else p[: most - 1] + "…" for p in prompts]
    table.insert(0, [cell(prompt) for prompt in prompts])
    sides = ["left"] + ["right"] * len(targets) + ["left"] * (len(table) - 1 - len(targets))
    rows = list(zip(*table, strict=True))
    look: dict = {"colalign": sides if rows else None, "disable_numparse": True}
    text = tabulate(rows, [*map(cell, header)], style, **look)
    notes = [cell(f"out of domain: {domain_note}")] if any(far) else []
    ignored = zip(columns.get("ignored", []), far, strict=True)
    if count := sum(bool(text) and not is_far for text, is_far in ignored):
        of = "1 prompt was" if count == 1 else f"{count} prompts were"
        notes.append(f"{of} only partly read; --output FILE.csv says why (column `ignored`)")
    return "\n\n".join([text, *notes])


def format_explanations(style: str, explanations: Sequence[Explanation]) -> str:
    """Return one table of phrases and their effects per prompt, as a `table` or in `markdown`."""
    from pqpp_models.explain.explanation import NOTE

    cell, form = (escape_cell, "github") if style == "markdown" else (escape_controls, "simple")
    line = "**{}**" if style == "markdown" else "{}"  # else "# a" would be a heading
    look: dict = {"tablefmt": form, "colalign": ("left", "right"), "disable_numparse": True}
    parts = []
    for explained in explanations:
        prompt = line.format(cell(" ".join(explained.prompt.split())) or "(blank)")
        rows = [(cell(one.phrase), f"{one.change:+.3f}") for one in explained.changes]
        header = ("phrase", cell(f"change of {explained.target}"))
        parts += [prompt, tabulate(rows, header, **look)] if rows else [f"{prompt}: {_NO_PHRASE}"]
    notes = [f"change: {NOTE}"] if any(one.changes for one in explanations) else []
    return "\n\n".join([*parts, *notes])


def _get_targets_and_deviations(columns: dict) -> tuple[list[str], list[list[float | None]]]:
    """Return the targets' names, and a column of standard deviations for each (None if missing)."""
    beside = ("prompt", "distance", "out_of_domain", "ignored")
    targets = [name for name in columns if name not in beside and not name.endswith(_DEVIATION)]
    none: list[float | None] = [None] * len(columns["prompt"])
    return targets, [columns.get(target + _DEVIATION) or none for target in targets]
