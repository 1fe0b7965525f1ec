"""`pqpp route predict`: say where prompts go."""

from __future__ import annotations

import sys
import warnings

from pqpp_cli.command import Command
from pqpp_cli.groups import PromptOptions, ResultOptions
from pqpp_files.options.option import NEEDED, option


class RoutePredict(PromptOptions, ResultOptions, Command):
    """Choose a route for each prompt; those of a file keep to the budget or share together."""

    router: str = option(
        NEEDED,
        "folder or OWNER/REPOSITORY of a router",
        metavar="ROUTER",
        path="name",
        word=True,
    )
    revision: str | None = option(None, "branch, tag or commit of a router on the Hub")
    format: str | None = option(None, choices=("table", "csv", "json", "jsonl", "parquet"))

    def __post_init__(self) -> None:
        """Check that prompts come from one place."""
        super().__post_init__()
        self.require_one_of("prompts", "file")

    def run(self) -> None:
        """Say where prompts go."""
        from pqpp_cli.output import emit, emit_columns, width_of
        from pqpp_engines.route import Account, Router
        from pqpp_models.prompt_file import read_prompts_and_ids

        style = self.style
        prompts = self.prompts or read_prompts_and_ids(self.file or "", self.column)[0]
        router = Router.from_pretrained(self.router, self.revision)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            decisions = router.decide(prompts, Account() if self.file else None)
        for line in dict.fromkeys(str(warning.message) for warning in caught):
            print(f"pqpp: note: {line}", file=sys.stderr)
        columns: dict[str, list] = {"prompt": list(prompts)}
        for name in ("route", "cost", "far", "reason"):
            columns[name] = [getattr(decision, name) for decision in decisions]
        for route in router.routes:
            worths = [decision.worth[route.name] for decision in decisions]
            columns[f"worth_{route.name}"] = worths
        if style == "table":
            return emit(_table(columns, width_of(self.output)), self.output)
        return emit_columns(columns, style, self.output)


def _table(columns: dict[str, list], width: int | None) -> str:
    from tabulate import tabulate

    from pqpp_files.visible import visible

    shown = {name: columns[name] for name in ("route", "reason", "prompt")}
    cells = [[visible(" ".join(cell.split())) for cell in column] for column in shown.values()]
    rows = zip(*cells, strict=True)
    widths = width and [None, *[max(width // 2 - 12, 12)] * 2]  # a route's name is shorter
    return tabulate(rows, list(shown), disable_numparse=True, maxcolwidths=widths)
