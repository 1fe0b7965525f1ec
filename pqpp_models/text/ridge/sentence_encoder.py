"""Any pretrained sentence encoder beside the network of `static`, saved with the head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pqpp_backbones.checkpoint import Tensors
from pqpp_backbones.foreign import building_within
from pqpp_files.extras import needing
from pqpp_models.text.arrays import Singles, unit
from pqpp_models.text.saved_encoder import encoder_config, encoder_weights, rebuilt_encoder
from pqpp_models.torch_predictor import processor_files

_NEEDED_FOR = "a sentence encoder"


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """An encoder of transformers and its tokenizer.

    Attributes:
        name: its repository, or its folder's name.
        revision: the commit, or the hash of the folder's files.
        model, tokenizer: those of transformers.
    """

    name: str
    revision: str
    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, name_or_path: str) -> Self:
        """Return that of a folder or of a name on the Hub.

        Raises:
            CheckpointError: there is none.
            MissingExtraError: torch or transformers is not installed.
        """
        with needing(_NEEDED_FOR, "models"):
            from pqpp_backbones.encoder.pretrained import load_encoder
        from pqpp_backbones.pretrained import fetch

        folder, source = fetch(name_or_path, "encoder")
        name = Path(source.name).name if source.revision.startswith("sha256:") else source.name
        return cls(name, source.revision, *load_encoder(str(folder)))

    def embed(self, prompts: Sequence[str]) -> Singles:
        """Return the means of the last layer's states of each prompt's tokens, of length one."""
        from pqpp_backbones.encoder.encoding import layer_means

        last = self.model.config.num_hidden_layers
        return unit(layer_means(self.model, self.tokenizer, prompts, [last])[last])

    def state(self) -> tuple[dict[str, Any], Tensors]:
        """Return what a configuration tells of it, and its arrays."""
        facts = {"name": self.name, "revision": self.revision, "config": encoder_config(self.model)}
        return facts, encoder_weights(self.model)

    def files(self) -> dict[str, bytes]:
        """Return the tokenizer's files."""
        return processor_files(self.tokenizer)

    @classmethod
    def saved(cls, folder: Path, facts: Mapping[str, Any], arrays: Tensors) -> Self:
        """Return that of a checkpoint.

        Raises:
            MissingExtraError: torch or transformers is not installed.
            Exception: whatever does not fit; who loads a folder says so in a line.
        """
        with needing(_NEEDED_FOR, "models"):
            from transformers import AutoTokenizer
        with building_within(folder):
            model = rebuilt_encoder(facts["config"], arrays)
        tokenizer = AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
        return cls(str(facts["name"]), str(facts["revision"]), model, tokenizer)
