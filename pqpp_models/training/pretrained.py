"""What the training scripts load beside a pretrained model: its tokenizer or processor."""

from __future__ import annotations

from typing import Any

from pqpp_models.rahf.pretrained import loading


def load_tokenizer(name_or_path: str) -> Any:
    """Return a pretrained model's tokenizer.

    Args:
        name_or_path: A folder, or a name on the Hub.

    Raises:
        CheckpointError: There is none that can be loaded.

    Example:
        >>> import tempfile
        >>> load_tokenizer(tempfile.mkdtemp())
        Traceback (most recent call last):
            ...
        pqpp_models.errors.CheckpointError: ... holds no usable tokenizer (...); name ...
    """
    from transformers import AutoTokenizer

    with loading(*_said(name_or_path, "tokenizer"), name_or_path):
        return AutoTokenizer.from_pretrained(name_or_path)


def load_processor(name_or_path: str) -> Any:
    """Return the tokenizer and image processor of a pretrained CLIP-like model.

    Args:
        name_or_path: A folder, or a name on the Hub.

    Raises:
        CheckpointError: There is none that can be loaded.

    Example:
        >>> import tempfile
        >>> load_processor(tempfile.mkdtemp())
        Traceback (most recent call last):
            ...
        pqpp_models.errors.CheckpointError: ... holds no usable processor (...); name ...
    """
    from transformers import AutoProcessor

    with loading(*_said(name_or_path, "processor"), name_or_path):
        return AutoProcessor.from_pretrained(name_or_path)


def _said(name: str, kind: str) -> tuple[str, str]:
    return f"{name} holds no usable {kind}", "name a folder or OWNER/REPOSITORY that has one"
