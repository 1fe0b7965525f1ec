"""`pqpp collection`: let a text ensemble measure prompts against your own captions."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pqpp_cli.output import OutputFolder

_EPILOG = """examples:
  pqpp collection build captions.txt --predictor runs/text_ensemble --output my_collection
  pqpp collection attach my_collection --predictor runs/text_ensemble --output my_predictor
  pqpp predict "a red cat" --predictor my_predictor

How well a query is answered depends on the collection that it is run against. A text ensemble
(training/train_text_ensemble.py) measures how densely captions lie around a prompt. With these two
commands it looks at your captions instead of MS COCO's. It keeps its training prompts.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "collection",
        help="replace the captions that a text ensemble compares prompts with",
        description="Encode your own captions, and let a text ensemble use them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    _add_build(actions)
    _add_attach(actions)


def _add_build(actions) -> None:
    build = actions.add_parser(
        "build",
        help="encode captions and save their vectors and word counts",
        description="Encode captions and save their vectors and hashed word counts, but not their "
        "text. Captions with the same words count once.",
    )
    build.add_argument(
        "captions",
        metavar="CAPTIONS",
        help="text file with one caption on each line, or CSV, TSV, JSON, JSONL or Parquet; - is "
        "standard input",
    )
    build.add_argument(
        "--column", default="caption", help="the file's column of captions (default: %(default)s)"
    )
    encoder = build.add_mutually_exclusive_group(required=True)
    encoder.add_argument(
        "--predictor", metavar="FOLDER", help="the text ensemble to build for: its own encoder"
    )
    encoder.add_argument("--model", metavar="NAME", help="another encoder: name or folder")
    build.add_argument(
        "--layers",
        metavar="N[,N...]",
        help="layers to keep; 0 is what the first one gets (default: the predictor's; with "
        "--model, the last)",
    )
    build.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="where to save it"
    )
    build.set_defaults(run=run_build)


def _add_attach(actions) -> None:
    attach = actions.add_parser(
        "attach",
        help="save a text ensemble that uses a collection",
        description="Save a copy of a text ensemble that uses this collection. The copy keeps the "
        "captions that it was trained on; all others are replaced.",
    )
    attach.add_argument("collection", metavar="COLLECTION", help="what `build` saved")
    attach.add_argument("--predictor", metavar="FOLDER", required=True, help="the text ensemble")
    attach.add_argument(
        "--output", type=OutputFolder, metavar="DIR", required=True, help="where to save it"
    )
    attach.set_defaults(run=run_attach)


def run_build(options: argparse.Namespace) -> None:
    """Encode the captions and save them."""
    from pqpp_cli.texts import read_texts
    from pqpp_files.full_disk import require_room
    from pqpp_models.checkpoint import check_place
    from pqpp_models.text.collection.encoded import KIND, EncodedCaptions, distinct

    check_place(options.output, KIND)  # before the encoding
    captions = read_texts(options.captions, options.column)
    encoder, tokenizer, layers, normaliser = _encoder(options)
    texts = distinct(captions)
    require_room(options.output, len(texts) * len(layers) * encoder.config.hidden_size * 2)
    collection = EncodedCaptions.build(
        texts, encoder, tokenizer, layers, sys.stderr.isatty(), normaliser
    )
    folder = collection.save_pretrained(options.output)
    print(f"{len(collection):,} distinct captions of {len(captions):,}, saved in {folder}")


def run_attach(options: argparse.Namespace) -> None:
    """Put a collection into a predictor and save that."""
    from pqpp_models import Predictor
    from pqpp_models.checkpoint import check_place
    from pqpp_models.text.collection.encoded import EncodedCaptions, encoder_of, with_collection

    predictor: Any = Predictor.from_pretrained(options.predictor)
    encoder_of(predictor)  # refuses those without a collection before much is read
    check_place(options.output, predictor.name)
    captions = EncodedCaptions.from_pretrained(options.collection)
    made: Any = with_collection(predictor, captions)
    before, after = len(predictor.model.collection), len(made.model.collection)
    folder = made.save_pretrained(options.output)
    if not 0.5 <= after / before <= 2:
        print(
            f"pqpp: note: the collection now has {after:,} captions instead of {before:,}; scores "
            "depend on that number, so don't compare them with those of the old predictor",
            file=sys.stderr,
        )
    print(f"{after:,} captions, {made.model.collection.labelled:,} of them labelled: {folder}")


def _encoder(options: argparse.Namespace):
    """Return the encoder, its tokenizer, the layers, and the name of the normaliser."""
    from pqpp_cli.errors import CommandError
    from pqpp_files.extras import needing
    from pqpp_files.names import comma_separated
    from pqpp_models import Predictor
    from pqpp_models.encoder.normaliser import CURRENT
    from pqpp_models.text.collection.encoded import encoder_of

    try:
        layers = [int(part) for part in comma_separated(options.layers or "")]
    except ValueError:
        raise CommandError(f"--layers {options.layers}: whole numbers with commas") from None
    if options.predictor is not None:
        predictor: Any = Predictor.from_pretrained(options.predictor)
        encoder, own = encoder_of(predictor)
        return encoder, predictor.tokenizer, layers or own, predictor.normaliser
    with needing("pqpp collection build --model", "models"):
        from pqpp_models.encoder.pretrained import load_encoder
    encoder, tokenizer = load_encoder(options.model)
    return encoder, tokenizer, layers or [encoder.config.num_hidden_layers], CURRENT
