"""`pqpp autoload`: whether `load_dataset("pqpp")` works without an import of ours."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_EPILOG = """examples:
  pqpp autoload status
  pqpp autoload off      # `register()` of pqpp_datasets.registration, pqpp_metrics.registration
                         # and pqpp_models.registration then does it by hand
                         # stays off when pqpp is installed again
  pqpp autoload on       # also for an editable install, which does not get the files

For one process, PQPP_NO_AUTOLOAD=1 switches it off.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "autoload",
        help='switch the registration of load_dataset("pqpp") at interpreter start on or off',
        description="Put the start-up files into this environment, take them away, or say which "
        "is the case.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("on", "off", "status"), help="what to do")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Do what was asked, then say how things stand."""
    folder = site_folder()
    if options.action == "on":
        _write(folder)
    elif options.action == "off":
        _remove(folder)
    print(status(folder))


def site_folder() -> Path:
    """Return the site-packages folder in which this package's metadata lie.

    Raises:
        CommandError: If the package is not installed, as in a bare checkout.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    from pqpp_cli.errors import CommandError

    try:
        found = distribution("pqpp")
    except PackageNotFoundError:
        raise CommandError("pqpp is not installed here; run `pip install .` first") from None
    return Path(str(found.locate_file("")))


def status(folder: Path) -> str:
    """Say in one line whether automatic registration is on in this environment.

    A line follows for each module that should register something and cannot be imported.

    Args:
        folder: The site-packages folder.
    """
    from pqpp_autoload import MARK_OF_OFF, START_UP_FILES, is_disabled

    there = [name for name in START_UP_FILES if (folder / name).exists()]
    is_off = not there or (folder / MARK_OF_OFF).exists()
    state = "off" if is_off else "on" if len(there) == len(START_UP_FILES) else "incomplete"
    note = ", but PQPP_NO_AUTOLOAD switches it off in this process"
    note = note if is_disabled() and not is_off else ""
    return "\n".join([f"autoload is {state} in {folder}{note}", *_faults()])


def _faults() -> list[str]:
    import importlib

    from pqpp_autoload import plugins

    lines = []
    for name in plugins():
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever is wrong with an installation, it is said
            what = f"{type(error).__name__}: {error}"
            lines.append(f"{name} cannot be imported ({what}); install pqpp again")
    return lines


def _write(folder: Path) -> None:
    from pqpp_autoload import MARK_OF_OFF, START_UP_FILES
    from pqpp_files.write_beside import write_whole

    (folder / MARK_OF_OFF).unlink(missing_ok=True)
    for name, text in START_UP_FILES.items():
        write_whole(folder / name, text)
    _list_for_uninstall(list(START_UP_FILES))


def _list_for_uninstall(names: list[str]) -> None:
    # `pip uninstall` removes what RECORD lists; an editable install lists no start-up files.
    from importlib.metadata import distribution

    from pqpp_files.write_beside import write_whole

    found = distribution("pqpp")
    record = found.read_text("RECORD")
    path = next((p for p in found.files or () if p.name == "RECORD"), None)
    if record is None or path is None:
        print("pqpp: note: no RECORD; remove the files by `pqpp autoload off`", file=sys.stderr)
        return
    listed = {line.split(",")[0] for line in record.splitlines()}
    added = "".join(f"{name},,\n" for name in names if name not in listed)
    if added:
        write_whole(Path(str(found.locate_file(path))), record + added)


def _remove(folder: Path) -> None:
    from pqpp_autoload import MARK_OF_OFF, START_UP_FILES

    (folder / MARK_OF_OFF).touch()  # an installation brings the files back, and leaves this one
    for name in START_UP_FILES:
        (folder / name).unlink(missing_ok=True)
