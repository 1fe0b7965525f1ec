"""`pqpp collection`: a collection of captions of one's own, for the predictors that use one."""

import argparse
import sys

_EPILOG = """examples:
  pqpp collection build captions.txt --predictor runs/text_ensemble --output my_collection
  pqpp collection attach my_collection --predictor runs/text_ensemble --output my_predictor
  pqpp predict "a red cat" --predictor my_predictor

How well a query is answered depends on the collection that it is run against. A text ensemble
(training/train_text_ensemble.py) measures how densely captions lie around a prompt; here they
become yours instead of MS COCO's. Its training prompts stay.
"""


def add_parser(subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "collection",
        help="make a collection of your own captions, and let a predictor use it",
        description="Make a collection of captions and let a predictor use it.",
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
        description="Encode captions and save their vectors and hashed word counts, never their "
        "text. Captions that say the same words count once.",
    )
    build.add_argument(
        "captions",
        metavar="CAPTIONS",
        help="text file with one a line, or CSV, TSV, JSON, JSONL or Parquet; - is standard input",
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
    build.add_argument("--output", metavar="FOLDER", required=True, help="where to save it")
    build.set_defaults(run=run_build)


def _add_attach(actions) -> None:
    attach = actions.add_parser(
        "attach",
        help="let a text ensemble use a collection",
        description="Save a text ensemble whose collection is another one. Its labelled captions, "
        "those of its training prompts, stay; the others are replaced.",
    )
    attach.add_argument("collection", metavar="COLLECTION", help="what `build` saved")
    attach.add_argument("--predictor", metavar="FOLDER", required=True, help="the text ensemble")
    attach.add_argument("--output", metavar="FOLDER", required=True, help="where to save it")
    attach.set_defaults(run=run_attach)


def run_build(options: argparse.Namespace) -> None:
    """Encode the captions and save them."""
    from pqpp_cli.texts import read_texts
    from pqpp_models.checkpoint import check_place
    from pqpp_models.text.encoded_captions import KIND, EncodedCaptions

    check_place(options.output, KIND)  # before the encoding
    captions = read_texts(options.captions, options.column)
    encoder, tokenizer, layers = _encoder(options)
    collection = EncodedCaptions.build(
        captions, encoder, tokenizer, layers, progress=sys.stderr.isatty()
    )
    folder = collection.save_pretrained(options.output)
    print(f"{len(collection):,} distinct captions of {len(captions):,}, saved in {folder}")


def run_attach(options: argparse.Namespace) -> None:
    """Put a collection into a predictor and save that."""
    from pqpp_models import Predictor
    from pqpp_models.checkpoint import check_place
    from pqpp_models.text.encoded_captions import EncodedCaptions, encoder_of, with_collection

    predictor = Predictor.from_pretrained(options.predictor)
    encoder_of(predictor)  # refuses those without a collection before much is read
    check_place(options.output, predictor.name)
    captions = EncodedCaptions.from_pretrained(options.collection)
    made = with_collection(predictor, captions)
    before, after = len(predictor.model.collection), len(made.model.collection)
    folder = made.save_pretrained(options.output)
    if not 0.5 <= after / before <= 2:
        print(
            f"pqpp: note: {after:,} captions take the place of {before:,}; densities change with "
            "the number, so compare predictions with each other, not with the old ones",
            file=sys.stderr,
        )
    print(f"{after:,} captions, {made.model.collection.labelled:,} of them labelled: {folder}")


def _encoder(options: argparse.Namespace):
    """Return the encoder, its tokenizer and the layers."""
    from pqpp_cli.errors import CommandError
    from pqpp_files.extras import needing
    from pqpp_models import Predictor
    from pqpp_models.text.encoded_captions import encoder_of

    try:
        layers = [int(part) for part in (options.layers or "").split(",") if part.strip()]
    except ValueError:
        raise CommandError(f"--layers {options.layers}: whole numbers with commas") from None
    if options.predictor is not None:
        predictor = Predictor.from_pretrained(options.predictor)
        encoder, own = encoder_of(predictor)
        return encoder, predictor.tokenizer, layers or own
    with needing("pqpp collection build --model", "models"):
        from pqpp_models.text.encoder.pretrained import load_encoder
    encoder, tokenizer = load_encoder(options.model)
    return encoder, tokenizer, layers or [encoder.config.num_hidden_layers]
