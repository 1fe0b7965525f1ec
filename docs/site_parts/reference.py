"""Generate the reference of public names, one page per package, from docstrings."""

import ast
import inspect
from functools import cache

from site_parts.sources import ROOT

_PACKAGES = (
    "pqpp_models",
    "pqpp_datasets",
    "pqpp_metrics",
    "pqpp_feedback",
    "pqpp_engines",
    "pqpp_annotation",
    "pqpp_hub",
)


def make_pages() -> dict[str, str]:
    """Return the generated pages: reStructuredText or Markdown by path below `made`."""
    pages = {"api/pqpp.rst": _make_front_door()}
    for package, modules in list_packages().items():
        parts = [_make_title(package, "="), _make_module(package)]
        for module in modules:
            links = " · ".join(f":py:obj:`~{module}.{name}`" for name in list_public_names(module))
            parts += [_make_title(module, "-"), f"{links}\n", _make_module(module)]
        pages[f"api/{package}.rst"] = "\n".join(parts)
    return pages


def list_packages() -> dict[str, list[str]]:
    """Return the modules with public names, by package and subpackage."""
    modules: dict[str, list[str]] = {}
    for package in _PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            name = ".".join(parts)
            if any(part.startswith("_") for part in parts) or name in list_metric_modules():
                continue
            # A folder has a page; so has what stands at the top of a package.
            page = ".".join(parts[:2]) if len(parts) > 2 else package
            if list_public_names(name):
                modules.setdefault(page, []).append(name)
    return modules


@cache
def list_metric_modules() -> dict[str, str]:
    """Return the metrics by the full names of their `evaluate` modules, which have own pages."""
    from pqpp_metrics.registration import list_metrics

    return {f"pqpp_metrics.{name}.{name}": name for name in list_metrics()}


def skip_inherited(app, kind, name, documented, skip, options):
    """Skip members that named tuples and SQLAlchemy add to classes."""
    doc = getattr(documented, "__doc__", None) or ""
    if doc.startswith("Alias for field number") or name in ("metadata", "registry"):
        return True
    return None


def list_public_names(module: str) -> list[str]:
    """Return the names of the public functions and classes that a module defines.

    >>> public_names("pqpp_files.escape")
    ['escape_controls', 'escape_cell']
    """
    tree = ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text("utf-8"))
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [node.name for node in tree.body if isinstance(node, kinds) and node.name[0] != "_"]


def _make_front_door() -> str:
    import pqpp

    rows = [
        f".. autoclass:: pqpp.{name}\n   :no-members:\n\n   Members: :py:obj:`~{home}.{name}`.\n"
        if inspect.isclass(getattr(pqpp, name))
        else f".. autofunction:: pqpp.{name}\n"
        for name, home in pqpp._HOMES.items()
    ]
    return "\n".join([_make_title("pqpp", "="), ".. automodule:: pqpp\n   :no-members:\n", *rows])


def _make_title(name: str, line: str) -> str:
    return f"{name}\n{line * len(name)}\n"


def _make_module(name: str) -> str:
    return f".. automodule:: {name}\n"
