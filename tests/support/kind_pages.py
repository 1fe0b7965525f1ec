"""A study of each kind, with drawn pictures, and the answers that it received."""

from PIL import Image, ImageDraw

from pqpp_annotation.store.answers import iterate_votes, read_records
from pqpp_annotation.store.people import get_people
from pqpp_annotation.study import make_study
from support.kinds import write_csv

PROMPT = 'A red cube on a "blue" ball, beside a cat.'
IMAGES = {"relevance": 2, "rating": 1, "match": 1, "binary": 3}
IMAGES |= {"preference": 2, "rich": 1, "order": 3}
"""How many images an item of each kind has here; `binary` is relevance by two grades."""
SIZE = (400, 200)


def draw_image(path, number):
    """Draw a picture that differs by the number."""
    image = Image.new("RGB", SIZE, (90 + 40 * number, 160, 200 - 30 * number))
    pen = ImageDraw.Draw(image)
    pen.rectangle([150, 90 + number, 230, 170], fill="#b33")
    pen.ellipse([210 + 20 * number, 30, 290 + 20 * number, 110], fill="#36c")
    pen.polygon([(40, 180), (70, 60), (110, 180)], fill="#373")
    image.save(path)


MODELS = ("sdxl", "glide")


def make_kind_study(
    folder,
    kind,
    prompts=(PROMPT,),
    images=None,
    task=None,
    models=MODELS,
    practice=None,
    **settings,
):
    """Make a study with some images for each prompt, of two models in turn.

    Args:
        practice: The right answers of a training item, one for each image.
    """
    (folder / "images").mkdir()
    rows = []
    number_of_images = images or IMAGES[kind]
    if kind == "binary":
        kind, task = "relevance", {"grades": "binary", **(task or {})}
    texts = [*prompts, *(["practice"] if practice else [])]
    for number, prompt in enumerate(texts):
        for index in range(number_of_images):
            name = f"{number}-{index}.png"
            draw_image(folder / "images" / name, 3 * number + index)
            row = {"prompt_id": str(number), "prompt": prompt, "image": name}
            linked_id = str(number + 1) if number + 1 < len(prompts) else ""
            is_practice = number >= len(prompts)
            row |= {"training": "yes" if is_practice else "", "linked_prompts": linked_id}
            row["expected"] = practice[index] if is_practice else ""
            rows.append({**row, "model": models[index % 2]})
    table = write_csv(folder / "prompts.csv", rows)
    path = folder / "study.yaml"
    return make_study(path, table, folder / "images", kind, task=task or {}, **settings)


def get_values(study):
    """Return the answers of the newest person, in the order of their times."""
    name = get_people(study.store)[-1].name
    votes = sorted(iterate_votes(read_records(study.store)), key=lambda vote: vote.created)
    return [vote.value for vote in votes if vote.annotator == name]


def wait_for_thanks(page):
    """Wait for the page of thanks."""
    page.wait_for_url("**/thanks")
