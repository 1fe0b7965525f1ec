"""What a predictor answers, as a table that a person reads."""

_WIDTH = 100
_LEAST = 24
# Characters of a table, and of its prompts where the targets asked for are many.


def format_answers(style: str, columns: dict, far_means: str) -> str:
    """Return what `predicted_columns` returned as a `table` or in `markdown`."""
    return _table("github" if style == "markdown" else "simple", columns, far_means)


def _table(style: str, columns: dict, far_means: str) -> str:
    """Return what a person reads: deviations beside their values, and which prompts are far."""
    from tabulate import MIN_PADDING, tabulate

    from pqpp_files.visible import markdown_cell, visible

    ending, beside = "_deviation", ("prompt", "distance", "far", "ignored")
    targets = [name for name in columns if name not in beside and not name.endswith(ending)]
    deviations = [columns.get(target + ending) for target in targets]
    header = [
        "prompt",
        *(
            target if one is None else f"{target} ± sd"
            for target, one in zip(targets, deviations, strict=True)
        ),
    ]
    table = []
    for target, spread in zip(targets, deviations, strict=True):
        spread = spread or [None] * len(columns[target])
        table.append([_cell(*pair) for pair in zip(columns[target], spread, strict=True)])
    far = columns.get("far", [])
    if any(far):
        header.append("")
        table.append(["far" if one else "" for one in far])
    prompts = [" ".join(prompt.split()) for prompt in columns["prompt"]]
    if style == "github":  # It is kept; a terminal is looked at: a long prompt would break it.
        table.insert(0, [markdown_cell(prompt) for prompt in prompts])
    else:
        taken = sum(
            max(len(name) + MIN_PADDING, *map(len, cells)) + len("  ")
            for name, cells in zip(header[1:], table, strict=True)
            if cells
        )
        width = max(_WIDTH - taken, _LEAST)
        table.insert(0, [visible(_shortened(prompt, width)) for prompt in prompts])
    sides = ["left"] + ["right"] * len(targets) + ["left"] * (len(table) - 1 - len(targets))
    rows = list(zip(*table, strict=True))
    text = tabulate(rows, header, style, colalign=sides if rows else None, disable_numparse=True)
    notes = [f"far: {far_means}"] if any(far) else []
    if count := sum(map(bool, columns.get("ignored", []))):
        of = "1 prompt was" if count == 1 else f"{count} prompts were"
        notes.append(
            f"{of} read without syntax and tails; the column `ignored` of files tells which"
        )
    return "\n\n".join([text, *notes])


def _cell(value: float | None, deviation: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if deviation is None else f"{value:.3f} ± {deviation:.3f}"


def _shortened(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "…"
