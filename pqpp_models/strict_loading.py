"""Loading by transformers' own `from_pretrained`, as strictly as `Predictor.from_pretrained` does.

transformers would unpickle weights that are no safetensors, and go on with random ones for what a
file lacks.
"""

from __future__ import annotations

from typing import Any

from pqpp_models.checkpoint import CONFIG, FORMAT_VERSION, WEIGHTS
from pqpp_models.errors import CheckpointError

_REMEDY = "save or download it again"


class StrictLoading:
    """The first base of a `PreTrainedModel`: its `from_pretrained` refuses what is not whole."""

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        """Load a model as transformers does, from safetensors only, with nothing missing.

        Args:
            pretrained_model_name_or_path: As in transformers.
            *args: As in transformers.
            **kwargs: As in transformers; `use_safetensors` is always true. Weights of other shapes
                are let pass with `ignore_mismatched_sizes=True`.

        Returns:
            The model; with `output_loading_info=True` also what transformers says of the loading.

        Raises:
            CheckpointError: The weights are no safetensors, are not all there or do not fit, or
                the format is newer than this version reads.
        """
        from safetensors import SafetensorError

        where = pretrained_model_name_or_path
        check_format(where, kwargs.get("config"))
        wanted = kwargs.pop("output_loading_info", False)
        kwargs["use_safetensors"] = True
        try:
            model, found = super().from_pretrained(where, *args, output_loading_info=True, **kwargs)
        except RuntimeError as error:
            if "mismatch" not in str(error):
                raise
            raise CheckpointError(
                f"{where}: {WEIGHTS} does not fit {CONFIG}: some weights have other shapes; "
                f"{_REMEDY}"
            ) from None
        except SafetensorError as error:
            raise CheckpointError(
                f"{where}: {WEIGHTS} is not readable ({error}); {_REMEDY}"
            ) from None
        except OSError as error:
            if "safetensors" not in str(error):
                raise
            raise CheckpointError(
                f"{where} has no {WEIGHTS}; weights in other formats, which can hold code, are not "
                f"loaded: {_REMEDY}"
            ) from None
        check_format(where, model.config)
        missing = sorted(found["missing_keys"])
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise CheckpointError(
                f"{where}: {WEIGHTS} does not fit {CONFIG}: it lacks {missing[0]!r}{more}; "
                f"{_REMEDY}"
            )
        return (model, found) if wanted else model


def check_format(where: Any, config: Any) -> None:
    """Check that this version understands a configuration's format.

    Args:
        where: where it came from, for the message.
        config: the configuration; whatever tells no format is let pass.

    Raises:
        CheckpointError: the format is unknown.

    >>> from types import SimpleNamespace
    >>> check_format("x", SimpleNamespace(format_version=1))
    >>> check_format("x", SimpleNamespace(format_version=99))
    Traceback (most recent call last):
        ...
    pqpp_models.errors.CheckpointError: x: config.json has format_version 99, this version of ...
    """
    version = getattr(config, "format_version", 1)
    known = isinstance(version, int) and not isinstance(version, bool)
    if not known or not 1 <= version <= FORMAT_VERSION:
        raise CheckpointError(
            f"{where}: {CONFIG} has format_version {version!r}, this version of pqpp reads up to "
            f"{FORMAT_VERSION}; upgrade pqpp or {_REMEDY}"
        )
