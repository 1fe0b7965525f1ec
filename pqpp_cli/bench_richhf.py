"""`pqpp bench --dataset richhf`: models of rich feedback as the paper's four tables."""

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only this benchmark has; the others are `pqpp bench`'s."""
    group = parser.add_argument_group("with --dataset richhf")
    group.add_argument(
        "--models",
        metavar="NAME_OR_PATH[,...]",
        help="RAHF models, folders or Hub repositories, and folders of trained baselines",
    )
    group.add_argument(
        "--clip",
        metavar="NAME_OR_PATH",
        help="also a CLIP-like model as it is: its similarity and its gradient",
    )
    group.add_argument(
        "--pickapic-dir",
        metavar="DIR",
        help="a copy of Pick-a-Pic v1, which has RichHF's prompts and images",
    )
    group.add_argument("--limit", type=int, metavar="N", help="only the first N images")
    group.add_argument(
        "--batch-size", type=int, default=16, metavar="N", help="images at once (default: 16)"
    )


def run(options: argparse.Namespace) -> None:
    """Evaluate the models and print the four tables beside the published figures."""
    from pqpp_cli.errors import CommandError
    from pqpp_cli.options import names_of
    from pqpp_cli.output import emit, format_of
    from pqpp_datasets.richhf.richhf import SPLITS
    from pqpp_feedback.rahf.bench.experiments import bench_richhf
    from pqpp_feedback.rahf.bench.tables import STYLES, format_tables, published
    from pqpp_files.extras import needing

    with needing("pqpp bench --dataset richhf", "models"):
        import torch  # noqa: F401
        import transformers  # noqa: F401
    if options.split not in SPLITS:
        raise CommandError(
            f"--split {options.split}: richhf has {', '.join(SPLITS)}; use one of them"
        )
    # Before hours of work, not behind them.
    style = format_of(options, STYLES)
    found = bench_richhf(
        names_of(options.models) or [],
        options.split,
        options.data_dir,
        options.pickapic_dir,
        options.clip,
        options.limit,
        options.batch_size,
        not options.no_published,
    )
    text = format_tables(style, found)
    if style in ("table", "markdown"):
        text += f"\nthis project's rows: {found['scores']['data']}\n"
        text += "" if options.no_published else f"published: {published()['source']}\n"
    emit(text, options.output)
