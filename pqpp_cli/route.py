"""`pqpp route`: send each prompt to the model that is worth its cost."""

from __future__ import annotations

from pathlib import Path

from tabulate import tabulate

from pqpp_cli.command import LIBRARY, Command, Group
from pqpp_cli.groups import ColumnOptions, OnePredictor, PromptOptions, ResultOptions, Targets
from pqpp_cli.output import TABLE_STYLES, emit, emit_merged, get_output_width, print_notes
from pqpp_files.errors import PqppError
from pqpp_files.escape import escape_controls
from pqpp_files.options.option import NEEDED, option

_FEW = 200
"""With fewer prompts, shares are off by four points or more (`benchmarks/routing.md`)."""


class Route(Group):
    r"""Send each prompt to the model that is worth its cost.

    Fit a router to predictions and costs, then choose a route for each prompt.

    examples:
      pqpp route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --share 0.3 --calibration mine.txt \
          --output my_router
      pqpp route predict my_router "two robots play chess"
      pqpp route predict my_router --file prompts.csv --output routed.csv
    """


class RouteFit(Targets, ColumnOptions, OnePredictor, Command, takes=("pqpp_engines.route:Rule",)):
    r"""Fit a router to your prompts.

    The router weighs quality against cost, and keeps a budget, a share or a minimum quality.

    examples:
      pqpp route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --budget 2 --calibration mine.txt \
          --output my_router
      pqpp route fit --targets clip_p10,sdxl_hbpp --names search,generate --cost 0.01,1 \
          --utility 3,1 --floor 1.2 --calibration mine.csv --output my_router

    Routes are named after the models of their targets, or by --names. Calibration prompts need no
    scores. To choose between generating (HBPP, -1 to 2) and retrieving (P@10, 0 to 1), weight the
    two with --utility. Prompts that are out of domain go to the most expensive route. The number
    after ± is the standard error of a share on as many other prompts. `pqpp route predict --file`
    and `Router.route` never exceed a budget, and meet a share exactly, rounded down to a prompt.

    Attributes:
        targets: Targets that predict the quality of the routes, one per route.
        utility: Value of one unit of each target (default: 1 each).
    """

    targets: tuple[str, ...] = option(NEEDED, metavar="NAME,NAME[,...]")
    cost: tuple[float, ...] = option(NEEDED, "cost per answer of each route", metavar="C,C[,...]")
    names: tuple[str, ...] | None = option(None, "names of the routes", metavar="NAME,...")
    utility: tuple[float, ...] | None = option(None, metavar="U,...")
    budget: float | None = option(LIBRARY, metavar="C")
    share: float | None = option(LIBRARY, metavar="P")
    floor: float | None = option(LIBRARY, metavar="Q")
    confidence: float | None = option(LIBRARY, metavar="P")
    calibration: str = option(NEEDED, "file of at least 30 of your prompts", path="file")
    revision: str | None = option(None, "branch, tag or commit of a predictor on the Hub")
    output: str = option(NEEDED, "folder to save the router to", path="output")
    overwrite: bool = option(False, "overwrite an earlier router")

    def __post_init__(self) -> None:
        """Require one value per target in each list."""
        super().__post_init__()
        for name in ("names", "cost", "utility"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.targets):
                expected = f"expected {len(self.targets)}, got {len(values)}"
                raise PqppError(f"`{name}` must have one value per target; {expected}")

    def run(self) -> None:
        """Fit a router, save it, and print the shares."""
        from pqpp_backbones.training.publish import check_no_result
        from pqpp_engines.route import Route, Router, Rule
        from pqpp_models.prompt_file import read_prompts_and_ids

        check_no_result(Path(self.output), self)
        names = self.names or [target.rsplit("_", 1)[0] for target in self.targets]
        utilities = self.utility or [1.0] * len(self.targets)
        routes = list(map(Route, names, self.targets, self.cost, utilities))
        rule = Rule(**self.get_arguments(Rule))
        prompts, _ = read_prompts_and_ids(self.calibration, self.column)
        router = Router.fit(routes, rule, prompts, self.predictor, self.revision)
        folder = router.save_pretrained(self.output, self.overwrite)
        shares = [router.shares[route.name] for route in routes]
        errors = [(2 * p * (1 - p) / router.prompts) ** 0.5 for p in shares]
        share_texts = [f"{p:.1%} ± {error:.1%}" for p, error in zip(shares, errors, strict=True)]
        rows = zip(names, self.targets, self.cost, share_texts, strict=True)
        if router.prompts < _FEW:
            note = f"a share may be off by {2 * max(errors):.0%} on other prompts"
            print_notes(f"with {router.prompts} calibration prompts, {note}; use {_FEW} or more")
        if n_missed := sum(d.reason.startswith("no route") for d in router.decide(prompts)):
            print_notes(f"no route reaches {self.floor:g} for {n_missed} of {len(prompts)} prompts")
        print(tabulate(rows, ("route", "target", "cost", "share of your prompts")))
        print(f'saved to {folder}; use it with pqpp route predict {folder} "a prompt"')


class RoutePredict(PromptOptions, ResultOptions, Command):
    """Choose a route for each prompt.

    The prompts of a file together meet the budget or share. Files keep the other columns of --file.
    """

    router: str = option(NEEDED, "folder or OWNER/REPOSITORY of a router", path="name", word=True)
    revision: str | None = option(None, "branch, tag or commit of a router on the Hub")
    format: str | None = option(None, choices=("table", *TABLE_STYLES))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_one_of("prompts", "file")

    def run(self) -> None:
        """Print or write the route of each prompt."""
        from pqpp_engines.route import Account, Router

        style = self.style
        inputs, prompts = self.read_prompts(style not in ("csv", "tsv"))
        router = Router.from_pretrained(self.router, self.revision)
        decisions = router.decide(prompts, Account() if self.file else None)
        columns: dict[str, list] = {"prompt": prompts}
        names = ("route", "cost", "out_of_domain", "reason")
        columns |= {name: [getattr(decision, name) for decision in decisions] for name in names}
        columns |= {f"value_{r.name}": [d.value[r.name] for d in decisions] for r in router.routes}
        if style == "table":
            return emit(_format_table(columns, get_output_width(self.output)), self.output)
        return emit_merged(inputs, columns, style, self.output, "route")


def _format_table(columns: dict[str, list], width: int | None) -> str:
    visible = {name: columns[name] for name in ("route", "reason", "prompt")}
    cells = zip(*visible.values(), strict=True)
    rows = [[escape_controls(" ".join(cell.split())) for cell in row] for row in cells]
    widths = width and [None, *[max(width // 2 - 12, 12)] * 2]  # a route's name is shorter
    return tabulate(rows, list(visible), disable_numparse=True, maxcolwidths=widths)
