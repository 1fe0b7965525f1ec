"""Make `load_dataset("pqpp")` and `evaluate.load("pqpp/...")` work without an import of pqpp.

Every interpreter calls `start` (through `pqpp_autoload.pth`, from Python 3.15 on through
`pqpp_autoload.start`), which adds a finder to `sys.meta_path`. The libraries are patched when they
are imported, so other processes lose less than a millisecond. Errors become warnings.

`PQPP_NO_AUTOLOAD=1` turns this off for a process, `pqpp models autoload off` for an environment.
"""

import os
import sys

TYPE_CHECKING = False  # as type checkers know it; importing typing would slow every start
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

# Which library module is wrapped when it appears, and which of our modules knows how.
_PLUGINS = (
    ("datasets.load", "pqpp_datasets.registration"),
    ("evaluate.loading", "pqpp_metrics.registration"),
    ("transformers.models.auto.configuration_auto", "pqpp_models.registration"),
    ("transformers.models.auto.configuration_auto", "pqpp_feedback.registration"),
    ("transformers.pipelines", "pqpp_models.registration"),
    ("transformers.pipelines", "pqpp_feedback.registration"),
)

# The files in site-packages that make the interpreter run `start`; from Python 3.15 on the second
# one is used (PEP 829). The guard keeps a half-removed installation from printing at every start.
START_UP_FILES = {
    "pqpp_autoload.pth": (
        'import sys; exec("try:\\n    import pqpp_autoload\\n    pqpp_autoload.start()'
        "\\nexcept Exception:\\n    pass"
        '\\nexcept KeyboardInterrupt:\\n    import os; os._exit(130)")\n'
    ),
    "pqpp_autoload.start": "pqpp_autoload:start\n",
}

OFF_MARKER = "pqpp_autoload.off"

_callbacks: "dict[str, list[Callable[[ModuleType], None]]]" = {}


def start() -> None:
    """Register the plugins as soon as their libraries are imported, unless `is_disabled`."""
    try:
        if is_disabled():
            return
        for module_name, plugin in _PLUGINS:
            try:
                call_when_imported(module_name, _make_patch(plugin))
            except Exception as error:
                _warn(error, plugin)
    except Exception as error:
        _warn(error, *get_plugins())


def get_plugins() -> list[str]:
    """Return the names of the modules that register pqpp with other libraries."""
    return list(dict.fromkeys(plugin for _, plugin in _PLUGINS))


def is_disabled() -> bool:
    """Return whether `PQPP_NO_AUTOLOAD` (not 0, false or no) or a marker file turns this off."""
    if os.environ.get("PQPP_NO_AUTOLOAD", "").lower() not in ("", "0", "false", "no"):
        return True
    # The mark is next to this file; importing pathlib would slow every start.
    return os.access(__file__.removesuffix(".py") + ".off", os.F_OK)


def call_when_imported(module_name: str, callback: "Callable[[ModuleType], None]") -> None:
    """Call `callback(module)` now if the module is imported, or else after its first import."""
    module = sys.modules.get(module_name)
    spec = getattr(module, "__spec__", None)
    if module is not None and not getattr(spec, "_initializing", False):
        callback(module)
        return
    _callbacks.setdefault(module_name, []).append(callback)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _make_patch(plugin):
    def patch_library(module):
        # A project may have a `datasets/load.py` of its own; a library has a version.
        package = sys.modules.get(module.__name__.partition(".")[0])
        if not hasattr(package, "__version__"):
            return
        __import__(plugin)
        try:
            sys.modules[plugin].patch_library(module)
        except Exception:
            if _is_installed(package):
                raise  # else it is a project's own, which has a version too

    patch_library.plugin = plugin
    return patch_library


def _is_installed(package):
    """Return whether a package was installed, which leaves metadata next to it."""
    from pathlib import Path  # only here: it would make every interpreter start later

    folders = Path(package.__file__).parents[1].glob(f"{package.__name__}[-.]*")
    return any(path.suffix in (".dist-info", ".egg-info") for path in folders)


class _Finder:
    """A finder that finds modules with the other finders, and adds callbacks to their loaders."""

    def find_spec(self, name, path=None, target=None):
        if name not in _callbacks:
            return None
        for finder in sys.meta_path:
            find_spec = getattr(finder, "find_spec", None)
            if finder is self or find_spec is None:
                continue
            spec = find_spec(name, path, target)
            if spec is not None:
                _call_back_after_execution(spec.loader, name)
                return spec
        return None


def _call_back_after_execution(loader, name):
    """Let a loader run the callbacks of a module once, after it has executed the module."""
    exec_module = getattr(loader, "exec_module", None)
    if exec_module is None:
        return

    def exec_module_then_call_back(module):
        del loader.exec_module
        exec_module(module)
        for callback in _callbacks.pop(name, ()):
            try:
                callback(module)
            except Exception as error:
                _warn(error, *([callback.plugin] if hasattr(callback, "plugin") else get_plugins()))

    loader.exec_module = exec_module_then_call_back


def _warn(error, *names):
    try:
        import warnings

        by_hand = "; ".join(f"from {name} import register; register()" for name in names)
        warnings.warn(
            f"{' and '.join(names)} could not be registered "
            f"({type(error).__name__}: {error}); install pqpp again, or run: {by_hand}",
            stacklevel=3,
        )
    except Exception:  # a warning turned into an error must not stop an import either
        return
