"""Options that several commands have, said once."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pqpp_cli.errors import CommandError
from pqpp_cli.output import OutputFile
from pqpp_files.names import comma_separated

if TYPE_CHECKING:
    from pqpp_models.chat.chat import Budget


def add_targets(
    parser: argparse.ArgumentParser,
    default: str,
    what: str = "what to predict, names of columns of the benchmark",
) -> None:
    """Add `--targets`, also spelled `--target`."""
    option: Any = parser.add_argument(
        "--targets",
        "--target",
        metavar="NAME[,NAME...]",
        help=f"{what} (default: {default})",
    )
    option.completer = _completer_of_list(_target_names)


def add_predictors(parser: argparse._ActionsContainer, default: str) -> None:
    """Add `--predictors`, also spelled `--predictor`."""
    option: Any = parser.add_argument(
        "--predictors",
        "--predictor",
        metavar="NAME_OR_PATH[,...]",
        help=f"names, folders or Hub repositories (default: {default})",
    )
    option.completer = _completer_of_list(_predictor_names)


def add_image_dir(parser: argparse.ArgumentParser) -> None:
    """Add `--image-dir`, for predictors that look at images."""
    parser.add_argument(
        "--image-dir",
        metavar="DIR",
        help="the folder of the images, for predictors that look at them: PQPP's unpacked archive, "
        "or those of a benchmark that pqpp build wrote",
    )


def add_output(
    parser: argparse.ArgumentParser, formats: tuple[str, ...], by_name: bool = False
) -> None:
    """Add `--format` and `--output`.

    Args:
        parser: The parser.
        formats: The choices.
        by_name: Whether the name of the output decides where no format is named; the command asks
            `pqpp_cli.output.format_of`.
    """
    default = "what the name of --output ends in, else table" if by_name else "table"
    parser.add_argument(
        "--format",
        choices=formats,
        default=None if by_name else "table",
        help=f"how to print the result (default: {default})",
    )
    parser.add_argument(
        "--output",
        type=OutputFile,
        metavar="FILE",
        help="write the result to a file instead of printing it",
    )


def add_retired(parser: argparse.ArgumentParser, old: str, new: str) -> None:
    """Add an option that has another name now: whoever writes the old one is told the new one.

    Example:
        >>> parser = argparse.ArgumentParser("pqpp", exit_on_error=False)
        >>> add_retired(parser, "--out", "--output")
        >>> parser.parse_args(["--out", "x"])
        Traceback (most recent call last):
            ...
        SystemExit: 2
    """
    parser.add_argument(old, action=_Retired, const=new, nargs="?", help=argparse.SUPPRESS)


class _Retired(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        parser.error(f"{option_string} is retired; write {self.const}")


def given_once(first: str | None, option: str, by_option: str | None) -> str:
    """Return what was given as a command's first word or by an option, which mean the same.

    Raises:
        CommandError: It was given both ways or not at all.

    Example:
        >>> given_once(None, "--file", "captions.txt")
        'captions.txt'
    """
    given = by_option if first is None else first
    if given is None or (first is None) == (by_option is None):
        raise CommandError(
            f"{option} {by_option or ''}".rstrip()
            + ": give it once, by this option or as the first word"
        )
    return given


def names_of(text: str | None) -> list[str] | None:
    """Split a comma-separated option; None stays None.

    Example:
        >>> names_of("mean_hbpp, mean_p10")
        ['mean_hbpp', 'mean_p10']
    """
    return None if text is None else comma_separated(text)


def _completer_of_list(names: Callable[[], list[str]]):
    def complete(prefix: str, **_: Any) -> list[str]:
        head, comma, _last = prefix.rpartition(",")
        return [head + comma + name for name in names()]

    return complete


def _target_names() -> list[str]:
    from pqpp_models import TARGETS

    return list(TARGETS)


def _predictor_names() -> list[str]:
    from pqpp_models import list_predictors

    return ["linguistic", *list_predictors()]


def chat_budget(options: argparse.Namespace) -> Budget:
    """Return the limit that `--most-calls`, `--most-money` and `--prices` set."""
    from pqpp_models.chat.chat import Budget

    prices = (0.0, 0.0)
    if options.prices:
        try:
            first, second = (float(part) for part in options.prices.split(","))
        except ValueError:
            first = second = -1.0
        if not (0 <= first < 1e9 and 0 <= second < 1e9):
            raise CommandError(f"--prices {options.prices}: write two numbers IN,OUT, as 0.15,0.6")
        prices = (first, second)
    if options.most_money is not None and not any(prices):
        raise CommandError("--most-money: say by --prices IN,OUT what a million tokens cost")
    require_above_zero(options, "most_calls", "most_money")
    return Budget(options.most_calls, options.most_money, *prices)


def require_above_zero(options: argparse.Namespace, *names: str) -> None:
    """Refuse options whose numbers are not above 0 and finite."""
    for name in names:
        value = getattr(options, name)
        if value is not None and not 0 < value < float("inf"):
            option = name.replace("_", "-")
            raise CommandError(f"--{option} {value}: a number above 0 is needed")
