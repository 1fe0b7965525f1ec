"""Writing into a saved predictor which prompts its verdicts rank a prompt among.

`python -m pqpp_models.verdict.write_reference FOLDER DATA_DIR`. Train rows alone are read: the
captions of PQPP's train split, and the studies of `alignment` whose prompts people wrote freely;
those of the other studies were put together by rules.
"""

import sys
from pathlib import Path

from pqpp_datasets.load import load_benchmark
from pqpp_models.predictor import Predictor
from pqpp_models.text.training.studies import SOURCES, read_sources
from pqpp_models.verdict.reference import KEY, reference_of

FREELY_WRITTEN = ("agiqa", "genai", "t2v", "drawbench")
"""The studies whose prompts people wrote."""


def write_reference(folder: str, data_dir: str) -> None:
    """Write its reference into a saved predictor; all else of it stays, but for the card.

    Args:
        folder: Of the predictor.
        data_dir: As for `read_sources`; PQPP's captions lie there in `pqpp/v1.0`.
    """
    predictor = Predictor.from_pretrained(Path(folder))
    place = str(Path(data_dir) / "pqpp/v1.0")
    captions = load_benchmark("pqpp-v1.0", split="train", data_dir=place)["prompt"][:]
    studies = read_sources(data_dir, set(SOURCES) - set(FREELY_WRITTEN))
    people = {name: study.prompts for name, study in studies.items()}
    record = reference_of(predictor, captions, people)
    predictor.details = {**predictor.details, KEY: record}
    predictor.save_pretrained(folder)


if __name__ == "__main__":
    write_reference(*sys.argv[1:])
