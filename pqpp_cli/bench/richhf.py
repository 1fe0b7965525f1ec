"""`pqpp bench richhf`: compare models of rich feedback, as the paper's four tables."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_cli.groups import DataDir, FigureTables
from pqpp_files.options.option import option


class BenchRichhf(DataDir, FigureTables, Command):
    """Evaluate models of rich human feedback on RichHF-18K, beside the published figures."""

    EPILOG = """examples:
  pqpp bench richhf --models ./rahf --pickapic-dir pickapic --split test
"""
    models: tuple[str, ...] = option(
        (), "RAHF models", metavar="NAME_OR_PATH[,...]", path="name", commas=True
    )
    split: str = option("validation", "its split", ("train", "validation", "test"))
    clip: str | None = option(
        None, "also a CLIP-like model: similarity, gradient", metavar="NAME_OR_PATH", path="name"
    )
    pickapic_dir: str | None = option(
        None, "a copy of Pick-a-Pic v1, with the images", metavar="DIR", path="folder"
    )
    limit: int | None = option(None, "only the first N images", metavar="N", least=1)
    batch_size: int = option(16, "images at once", metavar="N", least=1)
    published: bool = option(True, "leave the published figures out")

    def run(self) -> None:
        """Evaluate the models and print the four tables beside the published figures."""
        from pqpp_feedback.rahf.bench import experiments
        from pqpp_files.extras import needing

        with needing("pqpp bench richhf", "models"):
            import torch  # noqa: F401
            import transformers  # noqa: F401
        tables, notes = experiments.bench_richhf(
            self.models,
            self.split,
            self.data_dir,
            self.pickapic_dir,
            self.clip,
            self.limit,
            self.batch_size,
            self.published,
        )
        if self.style == "table":
            tables = [experiments.paired(table) for table in tables]
        self.show("RichHF-18K: scores, heatmaps and words", tables, notes)
