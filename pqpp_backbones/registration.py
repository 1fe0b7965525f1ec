"""Register pqpp's models with the auto classes and pipelines of transformers.

The modules of a model are imported when it is first used, so that importing transformers is not
slowed down.
"""

import functools
import importlib
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pqpp_autoload import call_when_imported

_lock = threading.Lock()
_PIPELINES = "transformers.pipelines"


@dataclass(frozen=True)
class Registration:
    """The models and pipelines that a package registers with transformers.

    Args:
        models: For each `model_type`, "module:Class" of the configuration and of the model.
        pipelines: For each task, "module:Class" of the pipeline, and its type in transformers.
        named: For each task, "module:function" of a function that loads a shipped model by its
            name, or the default model for None. It returns None for other names.
    """

    models: Mapping[str, tuple[str, str]]
    pipelines: Mapping[str, tuple[str, str]]
    named: Mapping[str, str] = field(default_factory=dict)

    def register(self) -> None:
        """Register with transformers, now or as soon as it is imported."""
        for name in ("transformers.models.auto.configuration_auto", _PIPELINES):
            call_when_imported(name, self.patch_library)

    def patch_library(self, module: Any) -> None:
        """Register the classes with an imported module of transformers."""
        with _lock:
            if module.__name__ != _PIPELINES:
                for model_type, (config, _) in self.models.items():
                    module.CONFIG_MAPPING.register(model_type, _Deferred.new(config), exist_ok=True)
                return
            from transformers import AutoModel

            # A pipeline's module may be importing transformers at this moment.
            registry = module.PIPELINE_REGISTRY
            for task, (path, kind) in self.pipelines.items():
                if task not in registry.supported_tasks:
                    impl = _Deferred.new(path)
                    registry.register_pipeline(task, impl, pt_model=AutoModel, type=kind)
                    self._patch_pipeline(task, module)

    def add_classes(self, config_class: Any, processor: str | None = None) -> None:
        """Register a configuration's classes with `AutoModel` and `AutoProcessor`.

        Args:
            config_class: The model's configuration.
            processor: "module:Class" of the processor, if it is pqpp's own.
        """
        model = self.models[config_class.model_type][1]

        def add(module):
            for name, path in (("MODEL_MAPPING", model), ("PROCESSOR_MAPPING", processor)):
                if path and hasattr(module, name):
                    getattr(module, name).register(config_class, _Deferred.new(path), exist_ok=True)

        for name in ("modeling", "processing"):
            call_when_imported(f"transformers.models.auto.{name}_auto", add)

    def _patch_pipeline(self, pqpp_task: str, module: Any) -> None:
        """Make `pipeline` load the default and shipped models of a task."""
        original, loader_path = module.pipeline, self.named.get(pqpp_task)

        @functools.wraps(original)
        def pipeline(task: Any = None, model: Any = None, *args: Any, **options: Any) -> Any:
            if task == pqpp_task and (model is None or isinstance(model, str)):
                model = (loader_path and _import(loader_path)(model)) or model
            return original(task, model, *args, **options)

        namespace: Any
        for namespace in (module, sys.modules["transformers"]):
            if vars(namespace).get("pipeline") is original:
                namespace.pipeline = pipeline


class _Deferred(type):
    """A placeholder for a class, which is imported when it is called or an attribute is read."""

    @classmethod
    def new(mcs, path):
        return mcs(path.partition(":")[2], (), {"_pqpp_path": path})

    def __getattr__(cls, name):
        return getattr(_import(cls._pqpp_path), name)

    def __call__(cls, *args, **kwargs):
        return _import(cls._pqpp_path)(*args, **kwargs)


def _import(path):
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
