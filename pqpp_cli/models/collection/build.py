"""`pqpp models collection build`: encode captions and save their vectors and word counts."""

from __future__ import annotations

import sys
from typing import Any

from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class ModelsCollectionBuild(Command):
    """Encode captions and save their vectors and hashed word counts, but not their text. Captions
    with the same words count once.
    """

    captions: str = option(
        NEEDED,
        "text file with one caption on each line, or CSV, TSV, JSON, JSONL or Parquet; - is "
        "standard input",
        metavar="CAPTIONS",
        path="file",
        word=True,
    )
    column: str = option("caption", "the file's column of captions")
    predictor: str | None = option(
        None, "the text ensemble to build for: its own encoder", metavar="FOLDER", path="name"
    )
    model: str | None = option(None, "another encoder: name or folder", metavar="NAME", path="name")
    layers: tuple[int, ...] = option(
        (),
        "layers to keep; 0 is what the first one gets (default: the predictor's; with --model, the "
        "last)",
        metavar="N[,N...]",
    )
    output: str = option(NEEDED, "where to save it", metavar="DIR", path="output")

    def __post_init__(self) -> None:
        """Check that there is one encoder."""
        super().__post_init__()
        self.require_one_of("predictor", "model")

    def run(self) -> None:
        """Encode the captions and save them."""
        from pqpp_backbones.checkpoint import check_place
        from pqpp_files.full_disk import require_room
        from pqpp_models.prompt_file import read_texts
        from pqpp_models.text.collection.encoded import KIND, EncodedCaptions, distinct

        check_place(self.output, KIND)  # before the encoding
        captions = read_texts(self.captions, self.column)
        encoder, tokenizer, layers, normaliser = self._encoder()
        texts = distinct(captions)
        require_room(self.output, len(texts) * len(layers) * encoder.config.hidden_size * 2)
        collection = EncodedCaptions.build(
            texts, encoder, tokenizer, layers, sys.stderr.isatty(), normaliser
        )
        folder = collection.save_pretrained(self.output)
        print(f"{len(collection):,} distinct captions of {len(captions):,}, saved in {folder}")

    def _encoder(self) -> tuple[Any, Any, list[int], str]:
        """Return the encoder, its tokenizer, the layers, and the name of the normaliser."""
        from pqpp_backbones.encoder.normaliser import CURRENT
        from pqpp_files.extras import needing
        from pqpp_models import Predictor
        from pqpp_models.text.collection.encoded import encoder_of

        if self.predictor is not None:
            predictor: Any = Predictor.from_pretrained(self.predictor)
            encoder, layers = encoder_of(predictor)
            return encoder, predictor.tokenizer, list(self.layers or layers), predictor.normaliser
        with needing("pqpp models collection build --model", "models"):
            from pqpp_backbones.encoder.pretrained import load_encoder
        encoder, tokenizer = load_encoder(self.model or "")
        last = [encoder.config.num_hidden_layers]
        return encoder, tokenizer, list(self.layers) or last, CURRENT
