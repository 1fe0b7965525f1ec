"""Optional packages: the extras that contain them, and the commands that install them."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from pqpp_files.errors import MissingExtraError
from pqpp_files.foreign.json_values import parse_json, read_json

_EXTRAS = read_json(Path(__file__).with_name("extras.json"))
"""The packages of each extra, by import name."""


def find_extra(package: str) -> str | None:
    """Return the extra that installs a package, or None.

    Example:
        >>> find_extra("torch"), find_extra("numpy")
        ('models', None)
    """
    return next((extra for extra, packages in _EXTRAS.items() if package in packages), None)


def install_command(extra: str) -> str:
    """Return the command that installs an extra from the source that pqpp was installed from.

    Args:
        extra: A name of `[options.extras_require]`, like `models`.

    Example:
        >>> install_command("models").startswith("pip install ")
        True
    """
    origin = _read_direct_url()
    if not (url := "+".join(filter(None, (origin.get("vcs"), origin.get("url"))))):
        return f"pip install 'pqpp[{extra}]'"
    if url.startswith("file:"):
        return f"pip install '.[{extra}]' in the folder that pqpp was installed from"
    return f"pip install 'pqpp[{extra}] @ {url}'"


def list_pins(*extras: str) -> list[str]:
    """Return the requirements of pqpp, pinned to the installed versions.

    Args:
        *extras: Names of `[options.extras_require]`.

    Returns:
        pqpp with the extras, then each required package that is installed.

    Example:
        >>> list_pins("demo")[0].startswith("pqpp[demo]")
        True
    """
    from importlib import metadata

    from packaging.requirements import Requirement

    package = metadata.distribution("pqpp")
    name = f"pqpp[{','.join(extras)}]" if extras else "pqpp"
    origin = _read_direct_url()
    url = "{vcs}+{url}@{commit_id}".format(**origin) if "commit_id" in origin else ""
    pins = [f"{name} @ {url}" if url else f"{name}=={package.version}"]
    for req in map(Requirement, package.requires or []):
        if not req.marker or any(req.marker.evaluate({"extra": extra}) for extra in extras):
            with contextlib.suppress(metadata.PackageNotFoundError):
                pins.append(f"{req.name}=={metadata.version(req.name)}")
    return list(dict.fromkeys(pins))


@contextlib.contextmanager
def require_extra(what: str, extra: str) -> Iterator[None]:
    """Turn a missing package in a block of imports into an error with the install command.

    Args:
        what: The feature that needs the imports, like "train_bert".
        extra: The extra that installs them.

    Raises:
        MissingExtraError: A package is not installed.

    Example:
        >>> with require_extra("this example", "models"):
        ...     import a_package_that_nobody_has
        Traceback (most recent call last):
            ...
        pqpp_files.errors.MissingExtraError: this example needs a_package_that...; run: ...
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package.startswith("pqpp"):
            raise  # a defect of pqpp, not a missing package
        raise MissingExtraError(f"{what} needs {package}; run: {install_command(extra)}") from None


def _read_direct_url() -> dict[str, str]:
    """Return the URL that pqpp was installed from, with pip's details; {} for a package index."""
    from importlib import metadata

    try:
        origin = parse_json(metadata.distribution("pqpp").read_text("direct_url.json") or "")
        return {"url": str(origin["url"]), **origin.get("vcs_info", {})}
    except metadata.PackageNotFoundError:
        return {"url": "file:"}  # used from a checkout without an install
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
