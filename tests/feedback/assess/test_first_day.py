"""The first day: photographs, tables of others, and services that refuse."""

import numpy as np
import pandas as pd
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.chat_server import serve_chat  # noqa: E402
from support.made_assessor import Redness, write_images  # noqa: E402

from pqpp_backbones.chat.chat import Request  # noqa: E402
from pqpp_backbones.chat.endpoint import Endpoint  # noqa: E402
from pqpp_backbones.chat.service import ServiceError  # noqa: E402
from pqpp_feedback.assess.pictures import find_pictures, read_prompt_table  # noqa: E402
from pqpp_feedback.assess.run import assess  # noqa: E402
from pqpp_feedback.assess.values import listed  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402
from pqpp_feedback.errors import ImageError  # noqa: E402
from pqpp_feedback.gimbrr.conditions import asked_of  # noqa: E402
from pqpp_feedback.vistar.scores.geometry import Geometry  # noqa: E402
from pqpp_feedback.vistar.scores.penetration import meeting_pairs  # noqa: E402
from pqpp_feedback.vistar.sight import Sight, uneven  # noqa: E402


def test_a_csv_that_datasets_wrote_names_two_objects(tmp_path):
    from datasets import Dataset

    rows = {"prompt": ["a"], "task": ["Multiple objects"], "representations": [["guitar", "bat"]]}
    Dataset.from_dict(rows).to_csv(str(tmp_path / "p.csv"))
    cell = pd.read_csv(tmp_path / "p.csv")["representations"][0]
    assert isinstance(cell, str) and "guitar" in cell  # numpy's way to write a list
    (row,) = read_prompt_table(tmp_path / "p.csv")
    assert asked_of(row).objects == ("guitar", "bat")


@pytest.mark.parametrize("names", [["it's", "a b"], ['say "hi"', "x"]])
def test_lists_come_back_as_they_were_written(names):
    import json

    spellings = str(names), json.dumps(names), str(np.array(names)), str(np.array(names, object))
    for text in (*spellings, repr(np.array(names, object))):
        assert listed(text, ",") == names, text


class Fragile(Redness):
    """Breaks at some images, as code of others may."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def perceive(self, images, pictures):
        if any(one.image_id.startswith("3/") for one in pictures):
            raise self.error
        return super().perceive(images, pictures)


@pytest.mark.parametrize("error", [ZeroDivisionError("by 0"), RuntimeError()])
def test_whatever_breaks_at_one_image_is_a_row(tmp_path, error):
    prompts = write_images(tmp_path / "images", 5)
    found, _ = find_pictures(tmp_path, prompts)
    assess(found, [Fragile(error)], tmp_path / "v.parquet")
    rows = {row["image"]: row for row in read_verdicts(tmp_path / "v.parquet")}
    broken = [name for name, row in rows.items() if row["evidence"] is None]
    assert broken == ["3/glide_0.png", "3/sdxl_0.png"] and len(rows) == 10
    assert type(error).__name__ in rows["3/glide_0.png"]["reason"]


@pytest.mark.parametrize("amount", [0, 1e-9])
def test_flat_depth_is_no_penetration_and_ends_nothing(amount, tmp_path):
    masks = np.zeros((2, 20, 20), bool)
    masks[0, 5:15, 2:10] = masks[1, 5:15, 10:18] = True
    depth = 2 + amount * np.mgrid[:20, :20][1] / 20
    assert meeting_pairs(masks, depth, [0.9, 0.8]) == []
    with pytest.raises(ImageError, match="one distance everywhere"):
        uneven(depth[:2, :2] * 0 + 3 + amount / 10)
    assert uneven(depth + np.eye(20)).shape == (20, 20)


def test_one_image_of_even_depth_is_a_row_and_the_run_goes_on(tmp_path):
    found, _ = find_pictures(tmp_path, write_images(tmp_path / "images", 2, ("sdxl",)))
    ramp = np.mgrid[:10, :12][1] + 1.0
    depths = iter([np.full((10, 12), 2.0), ramp])

    class Depths(Sight):
        def told(self, *roles):
            return {}

        def _depth(self, image):
            return uneven(next(depths))

    assess(found, [Geometry(Depths())], tmp_path / "v.parquet")
    rows = list(read_verdicts(tmp_path / "v.parquet"))
    assert rows[0]["score"] is None and "one distance everywhere" in rows[0]["reason"]
    assert rows[1]["score"] is not None


class Asking(Redness):
    """Asks a service about each image."""

    is_one_by_one = True

    def __init__(self, chat):
        super().__init__()
        self.chat = chat

    def perceive(self, images, pictures):
        for _ in images:
            self.chat.ask(Request("What is it?"))
        return super().perceive(images, pictures)


def test_a_refused_content_is_a_row_and_a_wrong_key_ends_the_run(tmp_path):
    found, _ = find_pictures(tmp_path, write_images(tmp_path / "images", 3, ("sdxl",)))
    with serve_chat() as server:
        assessor = Asking(Endpoint(server.url, "m"))
        server.faults = [None, (400, "Your input was declined", "content_policy_violation")]
        assess(found, [assessor], tmp_path / "v.parquet")
        reasons = [row["reason"] for row in read_verdicts(tmp_path / "v.parquet")]
        assert ["content_policy_violation" in reason for reason in reasons] == [False, True, False]
        assert len(server.asked) == 3  # none twice
        server.faults = [(401, "no such key", "invalid_api_key")]
        with pytest.raises(ServiceError, match="invalid_api_key"):
            assess(found, [assessor], tmp_path / "w.parquet")
