"""`pqpp models export`: convert a text predictor for serving on CPUs."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_files.options.option import NEEDED, option


class ModelsExport(Command):
    """Convert a fine-tuned text encoder for onnxruntime, which is faster on CPUs and needs no torch
    to predict. Needs the extras models and onnx.
    """

    EPILOG = """examples:
  pqpp models export outputs/bert --output bert_onnx
  pqpp predict "a red cat" --predictor ./bert_onnx
"""
    predictor: str = option(
        NEEDED, "a folder or a Hub repository", metavar="NAME_OR_PATH", path="name", word=True
    )
    output: str = option(NEEDED, "where to save it", metavar="DIR", path="output")

    def run(self) -> None:
        """Convert and save."""
        from pqpp_backbones.checkpoint import check_place
        from pqpp_models import Predictor
        from pqpp_models.bert.onnx_predictor import OnnxBertPredictor
        from pqpp_models.bert.predictor import BertPredictor

        check_place(self.output, OnnxBertPredictor.name)
        predictor = Predictor.from_pretrained(self.predictor)
        if not isinstance(predictor, BertPredictor):
            raise CommandError(
                f"{self.predictor} is a {predictor.name}; only a fine-tuned text encoder "
                "(pqpp train bert) can be converted"
            )
        with _without_advice():
            converted = OnnxBertPredictor.from_torch(predictor)
        folder = converted.save_pretrained(self.output)
        print(f"{len(converted.graph) / 1e6:.1f} MB, saved in {folder}")


@contextlib.contextmanager
def _without_advice() -> Iterator[None]:
    """Keep what the exporters tell their own developers off the screen."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
