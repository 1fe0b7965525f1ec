"""Push predictors to the Hub."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pqpp_backbones.checkpoint import FILES
from pqpp_backbones.hub import push_model, require_model_folder
from pqpp_files.errors import MissingExtraError
from pqpp_files.extras import list_pins
from pqpp_hub import PushReport
from pqpp_models import registry
from pqpp_models.errors import PredictorError
from pqpp_models.predictor import Predictor


def push_to_hub(
    predictor: Predictor | str | os.PathLike[str],
    repo_id: str,
    *,
    commit_message: str | None = None,
    anyway: bool = False,
    extra_files: Mapping[str, Path | bytes] | None = None,
    **options: Any,
) -> PushReport:
    """Push a predictor to the Hub, in one commit.

    The commit contains the checkpoint, its `.eval_results/*.yaml` and, for a text predictor, the
    files of an Inference Endpoint. Files of an older checkpoint are removed; others are kept.

    Args:
        predictor: a predictor, a folder written by ``save_pretrained``, or a shipped name.
        repo_id: ``owner/repository``.
        anyway: whether to push a predictor that is not clearly better than chance.
        extra_files: further files or their content, by path in the repository.
        **options: ``private``, ``revision``, ``dry_run`` and ``token`` of ``pqpp_hub.push_files``.

    Returns:
        A report of the changes.

    Raises:
        ModelError: the folder has no usable predictor.
        PredictorError: the predictor is not clearly better than chance on any target.
        HubError: the Hub cannot be reached or refuses.
    """
    if isinstance(predictor, str) and predictor in registry.PREDICTORS:
        predictor = Predictor.from_pretrained(predictor)
    with tempfile.TemporaryDirectory() as temp_folder:
        if isinstance(predictor, Predictor):
            folder = predictor.save_pretrained(Path(temp_folder) / "checkpoint")
        else:
            folder = require_model_folder(predictor)
        loaded = Predictor.from_pretrained(folder)
        if not anyway and set(loaded.unlearned_targets) == set(loaded.targets):
            problem = "in cross-validation, the predictor was not clearly better than chance on "
            problem += ", ".join(loaded.targets)
            raise PredictorError(f"{problem}; fit it to more prompts, or set `anyway`")
        files = list_endpoint_files(loaded) | dict(extra_files or {})
        return push_model(folder, FILES, repo_id, commit_message, files, **options)


def list_endpoint_files(predictor: Predictor) -> dict[str, Path | bytes]:
    """Return the Inference Endpoint files of a text predictor by name; others have none."""
    if predictor.inputs != "text":
        return {}
    try:
        requirement = list_pins()[0]
    except MissingExtraError:  # a source checkout, which endpoints cannot install
        requirement = "pqpp"
    handler = Path(__file__).parent / "endpoint" / "handler.py"
    return {"handler.py": handler, "requirements.txt": f"{requirement}\n".encode()}
