"""`pqpp bench routing`: what predictors are worth to a router between two models."""

from __future__ import annotations

import sys

from pqpp_cli.bench.predictors import Compared
from pqpp_cli.groups import FigureTables
from pqpp_cli.outputs import PICTURES
from pqpp_files.options.option import option


class BenchRouting(FigureTables, Compared):
    """Return the mean quality where prompts go to the weaker or the stronger of two models."""

    EPILOG = """examples:
  pqpp bench routing --predictors static,n_words --plot routing.png
  pqpp bench routing --dataset my_benchmark --targets flux_hbpp,sdxl_hbpp --split test

Prompts go to the weaker or the stronger of two models (--targets, PQPP's are GLIDE and SDXL), by
the predicted gain, or the paper's rule: by how low the weaker one's prediction is.
"""
    plot: str | None = option(
        None,
        "also draw the curves, as PNG, PDF or SVG",
        metavar="FILE",
        path="output file",
        endings=PICTURES,
        holds=("text", "PNG", "PDF"),
    )

    def run(self) -> None:
        """Print the table and draw the curves."""
        from pqpp_files.visible import visible
        from pqpp_files.write_beside import write_beside
        from pqpp_models.bench.routing import plot_routing, run_routing

        split, predictors = self.opened()
        predicted = [target for predictor in predictors.values() for target in predictor.targets]
        targets = split.targets(self.targets, predicted)
        table = run_routing(split, predictors, targets, sys.stderr.isatty())
        title = f"Routing between {table.weak} and {table.strong}"
        self.show(title, [table.figures], [table.in_words, *table.notes])
        if self.plot:
            with write_beside(self.plot) as beside:
                plot_routing(table, beside)
            print(f"written: {visible(self.plot)}", file=sys.stderr)
