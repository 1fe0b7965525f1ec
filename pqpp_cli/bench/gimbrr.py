"""`pqpp bench gimbrr`: compare automated verdicts with people's, by task and model."""

from pqpp_cli.command import Command
from pqpp_cli.groups import DataDir, Tables


class BenchGimbrr(DataDir, Tables, Command):
    """Print rates by task and model, and how well GIMBRR's automated verdicts agree with people."""

    EPILOG = """examples:
  pqpp bench gimbrr
  pqpp bench gimbrr --data-dir ../data --format json
"""

    def run(self) -> None:
        """Print the tables."""
        from pqpp_cli.output import emit
        from pqpp_feedback.assess.tables import figures_text
        from pqpp_feedback.gimbrr.bench import bench_gimbrr

        emit(figures_text(self.style, *bench_gimbrr(self.data_dir)), self.output)
