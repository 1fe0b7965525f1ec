"""`pqpp bench --dataset vistar`: scores beside people's choices, generators by role."""

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only this benchmark has; the others are `pqpp bench`'s."""
    group = parser.add_argument_group("with --dataset vistar")
    group.add_argument(
        "--verdicts",
        action="append",
        default=[],
        metavar="FILE",
        help="scores of images: what pqpp assess wrote, or a table with image, score and, if told, "
        "routine, angle, generator and prompt_id; may be repeated",
    )
    group.add_argument(
        "--people",
        metavar="FILE",
        help="people's choices: image_a, image_b, choice (a, b or tie) and, if told, angle",
    )
    group.add_argument(
        "--roles",
        metavar="FILE",
        help="how much each angle counts for a role, in YAML (default: equal weights for the three "
        "roles that the paper names)",
    )


def run(options: argparse.Namespace) -> None:
    """Print the tables."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.output import emit, format_of
    from pqpp_feedback.assess.tables import FIGURE_STYLES, figures_text
    from pqpp_feedback.vistar.roles.bench import bench_vistar

    if not options.verdicts:
        raise CommandError("--verdicts: name a table of scores, as pqpp assess vistar writes it")
    if options.split != "validation":  # the default of other benchmarks
        raise CommandError(f"--split {options.split}: the scores say which images; leave it out")
    style = format_of(options, FIGURE_STYLES)
    found = bench_vistar(options.verdicts, options.people, options.roles)
    emit(figures_text(style, *found), options.output)
