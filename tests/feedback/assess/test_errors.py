"""Errors of assessors and services: rows with a reason, or the end of the run."""

import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")

from support.chat_server import serve_chat  # noqa: E402
from support.redness import Redness, write_images  # noqa: E402

from pqpp_backbones.chat.chat import Request  # noqa: E402
from pqpp_backbones.chat.models import Endpoint  # noqa: E402
from pqpp_backbones.errors import ServiceError  # noqa: E402
from pqpp_feedback.assess.pictures import find_pictures  # noqa: E402
from pqpp_feedback.assess.run import assess  # noqa: E402
from pqpp_feedback.assess.verdicts import read_verdicts  # noqa: E402


class FailingAssessor(Redness):
    """An assessor that raises an error on some images."""

    def __init__(self, error):
        super().__init__()
        self.error = error

    def observe(self, images, pictures):
        if any(picture.image_id.startswith("3/") for picture in pictures):
            raise self.error
        return super().observe(images, pictures)


@pytest.mark.parametrize("error", [ZeroDivisionError("by 0"), RuntimeError()])
def test_error_on_one_image_is_a_row(tmp_path, error):
    prompts = write_images(tmp_path / "images", 5)
    pictures, _ = find_pictures(tmp_path, prompts)
    assess(pictures, [FailingAssessor(error)], tmp_path / "v.parquet")
    rows = {row["image"]: row for row in read_verdicts(tmp_path / "v.parquet")}
    broken = [name for name, row in rows.items() if row["evidence"] is None]
    assert broken == ["3/glide_0.png", "3/sdxl_0.png"] and len(rows) == 10
    assert type(error).__name__ in rows["3/glide_0.png"]["reason"]


class ChatAssessor(Redness):
    """An assessor that calls a service for each image."""

    is_one_by_one = True

    def __init__(self, chat):
        super().__init__()
        self.chat = chat

    def observe(self, images, pictures):
        for _ in images:
            self.chat.ask(Request("What is it?"))
        return super().observe(images, pictures)


def test_refused_image_is_a_row_but_invalid_key_ends_run(tmp_path):
    pictures, _ = find_pictures(tmp_path, write_images(tmp_path / "images", 3, ("sdxl",)))
    with serve_chat() as server:
        assessor = ChatAssessor(Endpoint(server.url, "m"))
        server.faults = [None, (400, "Your input was declined", "content_policy_violation")]
        assess(pictures, [assessor], tmp_path / "v.parquet")
        reasons = [row["reason"] for row in read_verdicts(tmp_path / "v.parquet")]
        assert ["content_policy_violation" in reason for reason in reasons] == [False, True, False]
        assert len(server.requests) == 3  # no request was repeated
        server.faults = [(401, "no such key", "invalid_api_key")]
        with pytest.raises(ServiceError, match="invalid_api_key"):
            assess(pictures, [assessor], tmp_path / "w.parquet")
