"""`pqpp models collection attach`: save a text ensemble that uses a collection."""

from __future__ import annotations

import sys
from typing import Any

from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class ModelsCollectionAttach(Command):
    """Save a copy of a text ensemble that uses this collection. The copy keeps the captions that it
    was trained on; all others are replaced.
    """

    collection: str = option(
        NEEDED, "what `build` saved", metavar="COLLECTION", path="folder", word=True
    )
    predictor: str = option(NEEDED, "the text ensemble", metavar="FOLDER", path="name")
    output: str = option(NEEDED, "where to save it", metavar="DIR", path="output")

    def run(self) -> None:
        """Put the collection into the predictor and save that."""
        from pqpp_backbones.checkpoint import check_place
        from pqpp_models import Predictor
        from pqpp_models.text.collection.encoded import EncodedCaptions, encoder_of, with_collection

        predictor: Any = Predictor.from_pretrained(self.predictor)
        encoder_of(predictor)  # refuses those without a collection before much is read
        check_place(self.output, predictor.name)
        captions = EncodedCaptions.from_pretrained(self.collection)
        changed: Any = with_collection(predictor, captions)
        before, after = len(predictor.model.collection), len(changed.model.collection)
        folder = changed.save_pretrained(self.output)
        if not 0.5 <= after / before <= 2:
            note = (
                f"the collection now has {after:,} captions instead of {before:,}; scores depend "
                "on that number, so don't compare them with those of the old predictor"
            )
            print(f"pqpp: note: {note}", file=sys.stderr)
        labelled = changed.model.collection.labelled
        print(f"{after:,} captions, {labelled:,} of them labelled: {folder}")
