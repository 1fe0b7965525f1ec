"""`pqpp route fit`: make a router for your prompts."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import ColumnOptions, OnePredictor, Targets
from pqpp_files.options.option import NEEDED, option


class RouteFit(Targets, ColumnOptions, OnePredictor, Command):
    """Find the price of cost at which your prompts keep to a budget or a share."""

    EPILOG = """examples:
  pqpp route fit --targets glide_hbpp,sdxl_hbpp --cost 1,4 --budget 2 --calibration mine.txt \\
      --output my_router
  pqpp route fit --targets clip_p10,sdxl_hbpp --names search,generate --cost 0.01,1 \\
      --utility 3,1 --floor 1.2 --calibration mine.csv --output my_router

Routes are named after their targets' models unless --names says otherwise. The calibration prompts
are your own, without answers: they tell at which price the budget or share is kept. To choose
between generating (HBPP, -1 to 2) and retrieving (P@10, 0 to 1), say by --utility what a unit of
each is worth to you. A prompt that the predictor cannot read goes to the dearest route. On other
prompts of the kind the shares are off by chance, twice in three times by no more than is printed;
pqpp route predict --file, and Router.route, keep to the budget or share itself.
"""
    targets: tuple[str, ...] = option(
        NEEDED, "what predicts the quality of each route", metavar="NAME,NAME[,...]"
    )
    cost: tuple[float, ...] = option(
        NEEDED, "what an answer of each route costs", metavar="C,C[,...]"
    )
    names: tuple[str, ...] | None = option(None, "names of the routes", metavar="NAME,...")
    utility: tuple[float, ...] | None = option(
        None, "what a unit of each target is worth (default: 1 each)", metavar="U,..."
    )
    budget: float | None = option(None, "most that an answer may cost in the mean", metavar="C")
    share: float | None = option(None, "of two routes, the share of the dearer one", metavar="P")
    floor: float | None = option(None, "least quality, by the lower bound", metavar="Q")
    confidence: float | None = option(
        None, "of the lower bounds, one-sided (default: 0.9 with --floor, else 0.5)", metavar="P"
    )
    calibration: str = option(NEEDED, "your prompts, 30 or more", metavar="FILE", path="file")
    revision: str | None = option(None, "branch, tag or commit of a predictor on the Hub")
    output: str = option(NEEDED, "where to save the router", metavar="DIR", path="output")

    def __post_init__(self) -> None:
        """Check that there is one rule, and one of each for each target."""
        super().__post_init__()
        rules = [name for name in ("budget", "share", "floor") if getattr(self, name) is not None]
        if len(rules) != 1:
            raise CommandError(f"{len(rules)} rules came; give one of `budget`, `share`, `floor`")
        for name in ("names", "cost", "utility"):
            values = getattr(self, name)
            if values is not None and len(values) != len(self.targets):
                raise CommandError(f"`{name}`: {len(values)} came for {len(self.targets)} targets")

    def run(self) -> None:
        """Make a router, save it, and print who gets what."""
        from tabulate import tabulate

        from pqpp_engines.route import Route, Router, Rule
        from pqpp_models.prompt_file import read_prompts_and_ids

        names = self.names or [target.rsplit("_", 1)[0] for target in self.targets]
        utilities = self.utility or [1.0] * len(self.targets)
        routes = list(map(Route, names, self.targets, self.cost, utilities))
        rule = Rule(self.budget, self.share, self.floor, self.confidence)
        prompts, _ = read_prompts_and_ids(self.calibration, self.column)
        router = Router.fit(routes, rule, prompts, self.predictor, self.revision)
        folder = router.save_pretrained(self.output)
        errors = {name: (p * (1 - p) / router.prompts) ** 0.5 for name, p in router.shares.items()}
        rows = [
            (r.name, r.target, r.cost, f"{router.shares[r.name]:.1%} ± {errors[r.name]:.1%}")
            for r in routes
        ]
        print(tabulate(rows, ("route", "target", "cost", "share of your prompts")))
        print(f'saved in {folder}; use it by pqpp route predict {folder} "a prompt"')
