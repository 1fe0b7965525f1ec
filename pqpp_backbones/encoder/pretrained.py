"""Load pretrained text encoders, and check the length of their input."""

from collections.abc import Sequence
from typing import Any

from torch import nn
from transformers import (
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForTextEncoding,
    PreTrainedModel,
)

from pqpp_backbones.encoder.tokens import MAX_LENGTH
from pqpp_backbones.errors import ModelError
from pqpp_backbones.pretrained import load_tokenizer, safe_load

# Names of learned position embeddings in transformers.
_POSITION_TABLES = ("position_embeddings", "position_embedding", "embed_positions", "wpe")


def load_encoder(name_or_path: str) -> tuple[PreTrainedModel, Any]:
    """Load a pretrained text encoder in evaluation mode, and its tokenizer.

    Raises:
        ModelError: the encoder does not exist, or is not a text encoder.
    """
    return load_text_encoder(name_or_path).eval(), load_tokenizer(name_or_path)


def load_text_encoder(name_or_path: str, **options: Any) -> PreTrainedModel:
    """Load a pretrained text encoder, which may be a part of a CLIP or T5 model.

    Args:
        name_or_path: a folder or OWNER/REPOSITORY.
        **options: options of `AutoModel.from_pretrained`.

    Raises:
        ModelError: the encoder does not exist, or is not a text encoder.

    >>> import tempfile
    >>> load_text_encoder(tempfile.mkdtemp())
    Traceback (most recent call last):
        ...
    pqpp_backbones.errors.ModelError: ... is not a text encoder that transformers can load ...
    """
    remedy = "use an encoder such as google-bert/bert-base-cased"
    what = f"{name_or_path} is not a text encoder that transformers can load"
    with safe_load(what, remedy, name_or_path):
        config = AutoConfig.from_pretrained(name_or_path, trust_remote_code=False)
        tower = getattr(config, "text_config", None)  # for a model of texts and images
        config = tower if _is_text_model(tower) else config
        encoder, report = _get_loader(config).from_pretrained(
            name_or_path,
            config=config,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
            **options,
        )
        missing = sorted(report["missing_keys"]) if config is tower else []
        if missing:
            raise ModelError(f"its text tower has no {missing[0]!r}")
    config = encoder.config
    is_seq2seq = getattr(config, "is_encoder_decoder", False) and not _is_text_model(config)
    if encoder.main_input_name != "input_ids" or is_seq2seq or not hasattr(config, "hidden_size"):
        raise ModelError(
            f"{name_or_path} is a model of type {config.model_type!r}, not a text encoder; {remedy}"
        )
    return encoder


def build_encoder(config: Any) -> PreTrainedModel:
    """Build an encoder with random weights from a configuration.

    >>> from transformers import T5Config
    >>> tiny = T5Config(vocab_size=9, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    >>> type(build_encoder(tiny)).__name__
    'T5EncoderModel'
    """
    return _get_loader(config).from_config(config, trust_remote_code=False)


def _get_loader(config: Any) -> Any:
    return AutoModelForTextEncoding if _is_text_model(config) else AutoModel


def _is_text_model(config: Any) -> bool:
    return type(config) in MODEL_FOR_TEXT_ENCODING_MAPPING


def get_word_pieces(encoder: Any, tokenizer: Any) -> list[str]:
    """Return an encoder's word pieces in the order of their ids.

    Raises:
        ModelError: the tokenizer is not WordPiece, or its ids do not match the word vectors.
    """
    algorithm = type(getattr(getattr(tokenizer, "backend_tokenizer", None), "model", None)).__name__
    if algorithm not in ("WordPiece", "WordLevel"):
        raise ModelError(
            f"the encoder's tokenizer is {algorithm}, not WordPiece; use an encoder such as BERT"
        )
    ids = tokenizer.get_vocab()
    n_vectors = encoder.get_input_embeddings().num_embeddings
    if sorted(ids.values()) != list(range(len(ids))) or len(ids) > n_vectors:
        raise ModelError(
            f"the ids of the tokenizer's {len(ids)} pieces do not match the encoder's {n_vectors} "
            "word vectors; use another encoder"
        )
    return sorted(ids, key=ids.__getitem__)


def get_max_length(encoder: nn.Module) -> int | None:
    """Return the maximum number of tokens that an encoder accepts; None if there is no limit.

    >>> from transformers import BertConfig
    >>> tiny = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1,
    ...                   num_attention_heads=2, max_position_embeddings=40)
    >>> get_max_length(AutoModel.from_config(tiny))
    40
    """
    lengths = []
    for name, module in encoder.named_modules():
        if isinstance(module, nn.Embedding) and name.rpartition(".")[2] in _POSITION_TABLES:
            # RoBERTa's positions start after the padding id.
            offset = 0 if module.padding_idx is None else module.padding_idx + 1
            lengths.append(module.num_embeddings - offset)
    configured = getattr(encoder.config, "max_position_embeddings", None)
    return min([*lengths, configured or lengths[0]]) if lengths else None


def resolve_max_length(encoder: nn.Module, max_length: int | None) -> int:
    """Return the number of tokens to which prompts are truncated.

    Args:
        max_length: the requested number; default: `MAX_LENGTH`, or the encoder's limit if that is
            lower.

    Raises:
        ModelError: the requested length exceeds the encoder's limit.
    """
    limit = get_max_length(encoder)
    if max_length is None:
        return MAX_LENGTH if limit is None else min(MAX_LENGTH, limit)
    if limit is not None and max_length > limit:
        raise ModelError(
            f"`max_length` must be at most {limit}, the limit of the encoder; got {max_length}"
        )
    return max_length


def check_layers(encoder: Any, layers: Sequence[int]) -> None:
    """Check that an encoder has the requested layers; layer 0 is the input of the first one.

    Raises:
        ModelError: a layer does not exist, or none is requested.

    >>> from types import SimpleNamespace
    >>> check_layers(SimpleNamespace(config=SimpleNamespace(num_hidden_layers=2)), [0, 6])
    Traceback (most recent call last):
        ...
    pqpp_backbones.errors.ModelError: the encoder has no layer 6; choose layers from 0 to 2
    """
    n_layers = encoder.config.num_hidden_layers
    invalid = [layer for layer in layers if not 0 <= layer <= n_layers]
    if invalid or not layers:
        fault = f"the encoder has no layer {invalid[0]}" if invalid else "`layers` is empty"
        raise ModelError(f"{fault}; choose layers from 0 to {n_layers}")
