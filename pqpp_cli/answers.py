"""Format predictions, verdicts and explanations for the terminal and Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tabulate import MIN_PADDING, tabulate

from pqpp_files.escape import escape_cell, escape_controls

if TYPE_CHECKING:
    from pqpp_models.explain.explanation import Explanation
    from pqpp_models.verdict.verdict import PromptVerdict

_MIN_WIDTH = 24
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
    escape = escape_cell if is_markdown else escape_controls
    rows = []
    for verdict in verdicts:
        ranks = (verdict.easier_than_people, verdict.easier_than_captions)
        texts = ["–" if rank != rank else f"{rank:.0f}" for rank in ranks]
        rows.append([escape(" ".join(verdict.prompt.split())), *texts, escape(verdict.sentence)])
    text_width = max((width - _RANKS) // 2, _MIN_WIDTH) if width and not is_markdown else None
    options: dict = {"colalign": ("left", "right", "right", "left") if rows else None}
    options |= {"maxcolwidths": [text_width, None, None, text_width], "disable_numparse": True}
    header = ("prompt", "people", "captions", "verdict")
    text = tabulate(rows, header, "github" if is_markdown else "simple", **options)
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
    is_outside = any(columns.get("out_of_domain", []))
    notes = [f"out of domain: {domain_note}"] if is_outside else []
    # If the prompt is out of domain, the verdict says why.
    if not is_outside and (ignored := columns.get("ignored", [""])[0]):
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
    for target, sds in zip(targets, deviations, strict=True):
        header.append(f"{target} ± sd" if target + _DEVIATION in columns else target)
        cells = [
            "–" if value is None else f"{value:.3f}" + ("" if sd is None else f" ± {sd:.3f}")
            for value, sd in zip(columns[target], sds, strict=True)
        ]
        table.append(cells)
    out_of_domain = columns.get("out_of_domain", [])
    if any(out_of_domain):
        header.append("")
        table.append(["out of domain" if is_outside else "" for is_outside in out_of_domain])
    prompts = [" ".join(prompt.split()) for prompt in columns["prompt"]]
    escape, style = (escape_cell, "github") if style == "markdown" else (escape_controls, "simple")
    if width is not None and style == "simple":
        heads = [len(name) + MIN_PADDING for name in header[1:]]
        widths = [max([head, *map(len, cells)]) for head, cells in zip(heads, table, strict=True)]
        limit = max(width - sum(widths) - len("  ") * len(widths), _MIN_WIDTH)
        prompts = [p if len(p) <= limit else p[: limit - 1] + "…" for p in prompts]
    table.insert(0, [escape(prompt) for prompt in prompts])
    sides = ["left"] + ["right"] * len(targets) + ["left"] * (len(table) - 1 - len(targets))
    rows = list(zip(*table, strict=True))
    options: dict = {"colalign": sides if rows else None, "disable_numparse": True}
    text = tabulate(rows, [*map(escape, header)], style, **options)
    notes = [escape(f"out of domain: {domain_note}")] if any(out_of_domain) else []
    ignored = zip(columns.get("ignored", []), out_of_domain, strict=True)
    if count := sum(bool(text) and not is_outside for text, is_outside in ignored):
        subject = "1 prompt was" if count == 1 else f"{count} prompts were"
        notes.append(f"{subject} only partly read; --output FILE.csv says why (column `ignored`)")
    return "\n\n".join([text, *notes])


def format_explanations(style: str, explanations: Sequence[Explanation]) -> str:
    """Return one table of phrases and their effects per prompt, as a `table` or in `markdown`."""
    from pqpp_models.explain.explanation import NOTE

    escape, form = (escape_cell, "github") if style == "markdown" else (escape_controls, "simple")
    line = "**{}**" if style == "markdown" else "{}"  # else "# a" would be a heading
    look: dict = {"tablefmt": form, "colalign": ("left", "right"), "disable_numparse": True}
    parts = []
    for item in explanations:
        prompt = line.format(escape(" ".join(item.prompt.split())) or "(blank)")
        rows = [(escape(change.phrase), f"{change.change:+.3f}") for change in item.changes]
        header = ("phrase", escape(f"change of {item.target}"))
        parts += [prompt, tabulate(rows, header, **look)] if rows else [f"{prompt}: {_NO_PHRASE}"]
    notes = [f"change: {NOTE}"] if any(item.changes for item in explanations) else []
    return "\n\n".join([*parts, *notes])


def _get_targets_and_deviations(columns: dict) -> tuple[list[str], list[list[float | None]]]:
    """Return the targets' names, and a column of standard deviations for each (None if missing)."""
    others = ("prompt", "distance", "out_of_domain", "ignored")
    targets = [name for name in columns if name not in others and not name.endswith(_DEVIATION)]
    missing: list[float | None] = [None] * len(columns["prompt"])
    return targets, [columns.get(target + _DEVIATION) or missing for target in targets]
