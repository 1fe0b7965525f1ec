"""Write and remove the start-up files that make `load_dataset("pqpp")` work without an import."""

import importlib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from pqpp_autoload import OFF_MARKER, START_UP_FILES, get_plugins, is_disabled
from pqpp_files.atomic_write import write_file
from pqpp_files.errors import FileError


def find_site_packages() -> Path:
    """Return the site-packages folder that pqpp is installed in.

    Raises:
        FileError: pqpp is not installed.
    """
    try:
        return Path(str(distribution("pqpp").locate_file("")))
    except PackageNotFoundError:
        raise FileError("pqpp is not installed; run `pip install .` in its folder") from None


def describe_autoload(folder: Path) -> str:
    """Return lines that say whether autoload is on, and which modules cannot be imported."""
    present = [name for name in START_UP_FILES if (folder / name).exists()]
    is_off = not present or (folder / OFF_MARKER).exists()
    state = "off" if is_off else "on" if len(present) == len(START_UP_FILES) else "incomplete"
    lines = [f"autoload is {state} in {folder}"]
    if is_disabled() and not is_off:
        lines[0] += ", but PQPP_NO_AUTOLOAD switches it off in this process"
    for name in get_plugins():
        try:
            importlib.import_module(name)
        except Exception as error:  # report any fault of an installation
            what = f"{type(error).__name__}: {error}"
            lines.append(f"{name} cannot be imported ({what}); install pqpp again")
    return "\n".join(lines)


def enable_autoload(folder: Path) -> None:
    """Write the start-up files to a site-packages folder, and remove the marker of `autoload off`.

    Without pqpp, the files do nothing.
    """
    (folder / OFF_MARKER).unlink(missing_ok=True)
    for name, text in START_UP_FILES.items():
        write_file(folder / name, text)


def disable_autoload(folder: Path) -> None:
    """Remove the start-up files, and write a marker that a reinstallation does not remove."""
    (folder / OFF_MARKER).touch()
    for name in START_UP_FILES:
        (folder / name).unlink(missing_ok=True)
