"""What a predictor answers, as a table that a person reads."""


def format_answers(style: str, columns: dict, far_means: str) -> str:
    """Return what `predicted_columns` returned as a `table` or in `markdown`."""
    return _table("github" if style == "markdown" else "simple", columns, far_means)


def _table(style: str, columns: dict, far_means: str) -> str:
    """Return what a person reads: deviations beside their values, and which prompts are far."""
    from tabulate import tabulate

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
    shown = markdown_cell if style == "github" else visible
    # Markdown is kept, a terminal is looked at: there a long prompt would break the table.
    short = " ".join if style == "github" else _shortened
    table = [[shown(short(prompt.split())) for prompt in columns["prompt"]]]
    for target, spread in zip(targets, deviations, strict=True):
        spread = spread or [None] * len(columns[target])
        table.append([_cell(*pair) for pair in zip(columns[target], spread, strict=True)])
    far = columns.get("far", [])
    if any(far):
        header.append("")
        table.append(["far" if one else "" for one in far])
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


def _shortened(words: list[str], width: int = 48) -> str:
    line = " ".join(words)
    return line if len(line) <= width else line[: width - 1] + "…"
