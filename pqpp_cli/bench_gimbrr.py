"""`pqpp bench --dataset gimbrr`: rates by task and model, automated verdicts beside people's."""

import argparse


def run(options: argparse.Namespace) -> None:
    """Print the tables."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.output import emit, format_of
    from pqpp_feedback.assess.tables import FIGURE_STYLES, figures_text
    from pqpp_feedback.gimbrr.bench import bench_gimbrr

    if options.split != "validation":  # the default of other benchmarks
        raise CommandError(
            f"--split {options.split}: gimbrr's tables are about all models; leave it out"
        )
    style = format_of(options, FIGURE_STYLES)
    emit(figures_text(style, *bench_gimbrr(options.data_dir)), options.output)
