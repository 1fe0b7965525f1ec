"""Known answers: an oracle is right, chance is wrong, and each planted fault is found."""

import json

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image", reason="images need pillow")
pytest.importorskip("rapidocr", reason="assessors need pqpp[assess]")

from support.made_assessor import Redness  # noqa: E402
from support.true_eyes import true_assessors  # noqa: E402

from pqpp_feedback.assess.assessor import Verdict, random_for  # noqa: E402
from pqpp_feedback.assess.pictures import open_picture  # noqa: E402
from pqpp_feedback.assess.run import assessed_rows  # noqa: E402
from pqpp_feedback.assess.verdicts import checks_of  # noqa: E402
from pqpp_feedback.check.known_answers import check, grade, write_scenes  # noqa: E402
from pqpp_feedback.check.scenes import SCENE_KINDS, known_scenes  # noqa: E402
from pqpp_feedback.errors import AssessError  # noqa: E402


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), known_scenes())


def graded(drawn, assessor, kinds=tuple(SCENE_KINDS), most=99):
    some = [pair for pair in drawn if pair[1].name.startswith(tuple(kinds))]
    some = [pair for pair in some if int(pair[1].name[-3:]) < most]
    rows = assessed_rows([picture for picture, _ in some], [assessor], 16)
    return grade(rows, [scene for _, scene in some])


def assessors(drawn, kinds, faults=()):
    return true_assessors([s for _, s in drawn if s.name.startswith(tuple(kinds))], faults)


class Judge(Redness):
    """Says a number of each picture, and sees nothing."""

    name, columns = "judge", ()

    def __init__(self, of):
        super().__init__()
        self.of = of

    def perceive(self, images, pictures):
        return [{"said": self.of(picture)} for picture in pictures]

    def score(self, evidence, picture):
        return Verdict(None, evidence["said"], "")


def test_200_scenes_are_drawn_and_a_quarter_lies_sideways(drawn):
    names = {scene.name for _, scene in drawn}
    assert len(names) == 200 and len(drawn) == 400
    paths = {picture.path for picture, _ in drawn}
    turned = [path for path in paths if Image.open(path).getexif().get(0x0112) == 6]
    assert 50 <= len(turned) <= 60
    for picture, scene in drawn[:40]:
        assert np.array_equal(open_picture(picture.path), scene.image)
        assert scene.image.width != scene.image.height


def test_an_oracle_is_right_everywhere(drawn):
    asked = {"gimbrr": ("objects", "counts"), "text": ("text",), "light": ("light",)}
    asked |= {"penetration": ("depth",), "characters": ("posture",)}
    whats = {}
    for name, kinds in asked.items():
        lines = graded(drawn, assessors(drawn, kinds)[name], kinds)
        whats[name] = [line["what"] for line in lines]
        assert {line["scenes"] for line in lines} == set(kinds)
        for line in lines:
            assert line["told"] == line["of"] and line["accuracy"][0] == 1, line
            assert line["said"] == "right"
    assert whats["penetration"] == ["answers", "boxes", "depth order"]
    assert whats["characters"] == ["answers", "boxes", "joints"]
    lines = graded(drawn, Judge(lambda picture: float("right" in picture.image_id)))
    assert len(lines) == len(SCENE_KINDS)
    assert all(line["accuracy"][0] == 1 and line["said"] == "right" for line in lines)


def test_chance_is_wrong_and_silence_is_not_shown(drawn):
    by_lot = Judge(lambda picture: random_for(picture.image_id, "x").random())
    constant = Judge(lambda picture: 0.7)
    for judge in (by_lot, constant):
        lines = graded(drawn, judge)
        said = [line["said"] for line in lines]  # twenty throws may be thirteen times heads
        assert said.count("wrong") >= len(SCENE_KINDS) - 2 and "right" not in said
        assert sum(line["accuracy"][0] * line["of"] for line in lines) == pytest.approx(100, abs=20)
    silent = graded(drawn, Judge(lambda picture: None))
    assert {(line["told"], line["said"]) for line in silent} == {(0, "not shown")}
    blind = assessors(drawn, ["counts"], {"boxes": lambda boxes: []})["gimbrr"]
    assert {line["said"] for line in graded(drawn, blind, ["counts"])} == {"not shown"}


def boxes(change):
    """A fault of each box's corners."""

    def spoil(seen):
        return [{**box, "box": np.clip(change(*box["box"]), 0, 1).tolist()} for box in seen]

    return {"boxes": spoil}


def shifted(text):
    return "".join(chr(ord(letter) + 1) for letter in text)


def mapped(like):
    names = ["apple", "clock", "umbrella", "kite"]
    later = zip(names[1:] + names[:1], names, strict=True)
    return {**like, **{name: like[other] for name, other in later}}


FAULTS = {
    "boxes halved": ("counts", boxes(lambda a, b, c, d: (a, b / 2, c, d / 2))),
    "axes of boxes swapped": ("counts", boxes(lambda a, b, c, d: (b, a, d, c))),
    "width and height for corners": ("counts", boxes(lambda a, b, c, d: (a, b, c - a, d - b))),
    "centre for corner": ("counts", boxes(lambda a, b, c, d: ((a + c) / 2, (b + d) / 2, c, d))),
    "sideways image": ("counts", boxes(lambda a, b, c, d: (1 - d, a, 1 - b, c))),
    "mirrored image": ("counts", boxes(lambda a, b, c, d: (1 - c, b, 1 - a, d))),
    "square that was padded": ("text", boxes(lambda a, b, c, d: (a, b / 2, c, d / 2))),
    "axes of lines swapped": ("text", boxes(lambda a, b, c, d: (b, a, d, c))),
    "wrong label map": ("objects", {"similarities": mapped}),
    "similarities with the other sign": (
        "objects",
        {"similarities": lambda like: {name: -value for name, value in like.items()}},
    ),
    "one similarity for all": (
        "objects",
        {"similarities": lambda like: dict.fromkeys(like, 0.3)},
    ),
    "letters of another dictionary": ("text", {"texts": shifted}),
    "one text for all images": ("text", {"texts": lambda text: "OPEN"}),
    "nearness for distance": ("depth", {"depth": lambda depth: 1 / depth}),
    "depth upside down": ("depth", {"depth": lambda depth: depth[::-1]}),
    "depth of a mirrored image": ("depth", {"depth": lambda depth: depth[:, ::-1]}),
    "masks in another order": ("depth", {"masks": lambda masks: masks[::-1]}),
    "left for right in the room": ("light", {"x": lambda x: -x}),
    "turned about the upright": ("light", {"x": lambda x: -x, "z": lambda z: -z}),
    "axes of joints swapped": ("posture", {"keypoints": lambda points: points[:, [1, 0, 2]]}),
    "joints in shares": ("posture", {"keypoints": lambda points: points / [320, 320, 1]}),
    "joints of the crop": (
        "posture",
        {"keypoints": lambda points: points - [*points[:, :2].min(0), 0]},
    ),
    "joints in another order": ("posture", {"keypoints": lambda points: points[::-1]}),
}
ASSESSOR = {"counts": "gimbrr", "objects": "gimbrr", "text": "text", "light": "light"}
ASSESSOR |= {"depth": "penetration", "posture": "characters"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault, drawn):
    kind, faults = FAULTS[fault]
    assessor = assessors(drawn, [kind], faults)[ASSESSOR[kind]]
    lines = graded(drawn, assessor, [kind], 12 if kind == "light" else 99)
    assert "wrong" in {line["said"] for line in lines}, lines


def test_photographs_of_a_user_are_graded_by_a_table(tmp_path):
    for number in range(24):
        Image.new("RGB", (20, 16), (250 if number % 2 else 40, 20, 20)).save(
            tmp_path / f"{number}.png"
        )
    rows = [
        {
            "file_name": f"{n}.png",
            "prompt": "a",
            "wrong": "b",
            "kind": "red",
            "task": "up" if n % 2 else "down",
        }
        | {"wrong_task": "down" if n % 2 else "up"}
        for n in range(24)
    ]
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))

    class Fits(Redness):
        def score(self, evidence, picture):
            return Verdict(
                None, float((evidence["red"] > 0.5) == (picture.about["task"] == "up")), ""
            )

    found = check([Fits()], tmp_path)
    (line,) = found.scores.rows
    assert (line["scenes"], line["told"], line["accuracy"][0]) == ("red", 24, 1)
    assert line["said"] == "right" and found.wrong == []
    assert found.models.rows[0]["revision"] == "abc" and found.models.rows[0]["seconds"] > 0
    assert "MiB" in found.notes[-1]
    del rows[3]["wrong"]
    (tmp_path / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(AssessError, match=r"3\.png has no wrong prompt; each row"):
        check([Fits()], tmp_path)


def test_the_command_says_that_random_models_are_wrong(tmp_path, capsys):
    pytest.importorskip("torch")
    from support.tiny_eyes import save_detector
    from support.tiny_models import save_clip

    from pqpp_cli.main import main

    models = ["--clip", str(save_clip(tmp_path / "clip"))]
    models += ["--detector", str(save_detector(tmp_path / "detr")), "--device", "cpu"]
    told = tmp_path / "checked.json"
    words = ["assess", "check", "gimbrr", *models, "--scenes", "24", "--output", str(told)]
    assert main(words) == 0, capsys.readouterr().err
    found = json.loads(told.read_text())
    said = {(row["what"], row["said"]) for row in found["tables"]["scores"]["rows"]}
    assert ("answers", "wrong") in said and "right" not in {word for _, word in said}
    assert {row["role"] for row in found["tables"]["models"]["rows"]} == {"clip", "detector"}
    assert all(row["revision"] for row in found["tables"]["models"]["rows"])
    # The table goes into that of a run with these models, and into no other.
    Image.new("RGB", (20, 16)).save(tmp_path / "a.png")
    (tmp_path / "a.txt").write_text("a cat")
    out = tmp_path / "v.parquet"
    words = ["assess", "gimbrr", "--image-dir", str(tmp_path), "--checked", str(told)]
    assert main([*words, *models, "--output", str(out)]) == 0
    assert json.loads(checks_of(out)) == found
    assert "gimbrr: wrong on some scenes" in capsys.readouterr().err
    found["tables"]["models"]["rows"].pop()
    told.write_text(json.dumps(found))
    assert main([*words, *models, "--output", str(out)]) == 2
    assert "says nothing of" in capsys.readouterr().err
    assert main(["assess", "check", "gimbrr", "--evidence", __file__]) == 2
    assert "a check looks at scenes of its own" in capsys.readouterr().err
