"""What to say where an optional package is not installed: the command that installs it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from importlib import metadata

from pqpp_files.errors import MissingExtraError

_EXTRAS = {
    **dict.fromkeys(("torch", "transformers", "accelerate", "peft"), "models"),
    **dict.fromkeys(("diffusers", "gradio"), "apps"),
    **dict.fromkeys(("onnx", "onnxruntime", "onnxscript"), "onnx"),
    **dict.fromkeys(("sklearn", "umap"), "plots"),
    **dict.fromkeys(("alembic", "fastapi", "itsdangerous", "pwdlib", "sqlalchemy"), "annotate"),
    **dict.fromkeys(("uvicorn", "multipart"), "annotate"),
    **dict.fromkeys(("cv2", "httpx", "rapidocr"), "assess"),
    "psycopg": "postgresql",
    "faiss": "select",
    "tensorboard": "trackers",
}
"""Which extra brings a package, by the name that is imported."""


def extra_of(package: str) -> str | None:
    """Return the extra that brings a package, None for a package that none brings.

    Example:
        >>> extra_of("torch"), extra_of("numpy")
        ('models', None)
    """
    return _EXTRAS.get(package)


def install_command(extra: str) -> str:
    """Return the command that installs an extra, as this package itself was installed.

    Args:
        extra: A name of `[options.extras_require]`, like `models`.

    Example:
        >>> install_command("models").startswith("pip install ")
        True
    """
    where = _source()
    if where is None:
        return f"pip install 'pqpp[{extra}]'"
    if where.startswith("file:"):
        return f"pip install '.[{extra}]' in the folder that pqpp was installed from"
    return f"pip install 'pqpp[{extra}] @ {where}'"


@contextlib.contextmanager
def needing(what: str, extra: str) -> Iterator[None]:
    """Turn the missing package of a block's imports into one line with the remedy.

    Args:
        what: What needs it, as "train_bert".
        extra: The extra that brings it.

    Raises:
        MissingExtraError: A package is not installed.

    Example:
        >>> with needing("this example", "models"):
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
            raise  # a defect of ours, not a package that is lacking
        line = f"{what} needs {package}; run: {install_command(extra)}"
        raise MissingExtraError(line) from None


def _source() -> str | None:
    """Return the address that this package was installed from, None for a package index."""
    try:
        text = metadata.distribution("pqpp").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return "file:"  # used from a checkout without an install
    if not text:
        return None
    try:
        found = json.loads(text)
        address, vcs = str(found["url"]), found.get("vcs_info", {}).get("vcs")
    except (ValueError, KeyError, AttributeError):
        return None
    return f"{vcs}+{address}" if vcs else address
