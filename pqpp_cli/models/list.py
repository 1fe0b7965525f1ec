"""`pqpp models list`: name every predictor and what it needs."""

from __future__ import annotations

from pqpp_cli.command import Command


class ModelsList(Command):
    """Name every predictor and what it needs."""

    def run(self) -> None:
        """Print two tables: by name, and from folders or the Hub."""
        from tabulate import tabulate

        from pqpp_models.registry import (
            DEFAULT_PREDICTOR,
            NOTES,
            PREDICTORS,
            UNSHIPPED,
            list_predictors,
        )

        head = ("predictor", "what it is", "needs beside a prompt", "size")
        rows = [(name, *NOTES[name], _size_of(name)) for name in list_predictors()]
        widths = [None, 46, 46, None]
        print(f"By name alone; {DEFAULT_PREDICTOR} is the default.\n")
        print(tabulate(rows, head, tablefmt="simple", maxcolwidths=widths))
        print("\nFrom a folder or a repository on the Hub.\n")
        saved = [(name, *NOTES[name]) for name in PREDICTORS if name in UNSHIPPED]
        print(tabulate(saved, head[:3], tablefmt="simple", maxcolwidths=widths[:3]))


def _size_of(name: str) -> str:
    """Return how large the files are that come with a predictor."""
    from importlib.resources import files

    folder = files("pqpp_models") / "weights" / name
    if not folder.is_dir():
        return "-"
    return f"{sum(len(file.read_bytes()) for file in folder.iterdir()) / 1e6:.1f} MB"
