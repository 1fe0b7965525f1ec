"""`pqpp bench gimbrr`: compare automated verdicts with people's, by task and model."""

from pqpp_cli.command import Command
from pqpp_cli.groups import DataDir, FigureTables


class BenchGimbrr(DataDir, FigureTables, Command):
    """Print rates by task and model, and how well GIMBRR's automated verdicts agree with people."""

    EPILOG = """examples:
  pqpp bench gimbrr
  pqpp bench gimbrr --data-dir ../data --format json --report gimbrr.html
"""

    def run(self) -> None:
        """Print the tables."""
        from pqpp_feedback.gimbrr.bench import bench_gimbrr

        self.show("GIMBRR: automated verdicts and people's", *bench_gimbrr(self.data_dir))
