"""An assessor of colours, for tests of the behaviour that all assessors share."""

import os
import signal

import numpy as np
from PIL import Image

from pqpp_backbones.pretrained import ModelId
from pqpp_feedback.assess.assessor import Assessor, Verdict, make_rng
from pqpp_feedback.errors import FeedbackError


class Redness(Assessor):
    """Decides whether an image is red; kills the process after `kill_after` images."""

    name, routine, columns = "redness", "redness-mean", ("task",)

    def __init__(self, kill_after=None, at_least=0.5):
        super().__init__({"eye": ModelId("someone/eye", "abc")})
        self.kill_after, self.at_least, self.batches = kill_after, at_least, []

    @property
    def settings(self):
        return {"at_least": self.at_least}

    def observe(self, images, pictures):
        self.batches.append([picture.image_id for picture in pictures])
        if self.kill_after is not None and sum(map(len, self.batches)) > self.kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
        if any("refused" in picture.image_id for picture in pictures):
            raise FeedbackError("it is refused")
        return [
            {
                "red": np.asarray(image)[..., 0].mean() / 255,
                "draw": make_rng(picture.image_id, "draw").random(),
                "size": image.size,
            }
            for image, picture in zip(images, pictures, strict=True)
        ]

    def score(self, evidence, picture):
        red = evidence["red"]
        return Verdict(red >= self.at_least, red, f"red is {red:.3f}, task {picture.about['task']}")


def write_images(folder, count=100, models=("sdxl", "glide")):
    """Write small images of two models as `{prompt_id}/{model}_0.png`, and return prompts."""
    for number in range(count):
        for index, model in enumerate(models):
            path = folder / str(number) / f"{model}_0.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            red = (37 * number + 91 * index) % 256
            Image.new("RGB", (12, 10), (red, 20, 30)).save(path)
    return [{"prompt_id": n, "prompt": f"a red {n}", "task": "colour"} for n in range(count)]


def make_assessors():
    """Return the assessor, for a worker's job."""
    return [Redness()]
