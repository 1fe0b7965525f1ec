"""The kind `relevance` with PQPP's four grades: answers, and the export for `pqpp build`."""

import pytest
from support.kinds import make_vote, write_csv
from support.votes import build, to_dict

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds import get_task_kind

KIND = get_task_kind("relevance")


def test_parses_expected_answers():
    settings = KIND.complete_settings({})
    assert KIND.parse_expected("Unrealistic", settings) == {"label": -1}
    assert KIND.is_right({"label": 2}, {"label": 2})
    assert not KIND.is_right({"label": 1}, {"label": 2})
    with pytest.raises(AnnotationError, match=r"-1, 0, 1, 2; got 'good'"):
        KIND.parse_expected("good", settings)


def test_build_reads_the_export(tmp_path):
    # HBPP by hand: the majority of 2, 2, -1 is high, mean 2; of 0, -1, 1 low, mean -0.5.
    fields = {"prompt": "A cat, red."}
    labels_by_image = {"1.png": (2, 2, -1), "2.png": (0, -1, 1)}
    votes = [
        make_vote(
            *(image, annotator, {"label": label}),
            model="sdxl" if image[0] == "1" else "glide",
            **fields,
        )
        for image, labels in labels_by_image.items()
        for annotator, label in zip(("ann", "bob", "cy"), labels, strict=True)
    ]
    votes += [
        make_vote(
            "ref.png", name, {"label": 2}, model="reference", is_control=name == "chief", **fields
        )
        for name in ("ann", "bob", "cy", "chief")
    ]
    votes.append(make_vote("training.png", "ann", {"label": -1}, purpose="training"))
    files = KIND.export_tables(votes)
    path = write_csv(tmp_path / "judgments.csv", files["judgments"])
    lines = path.read_text("utf-8").splitlines()
    assert lines[0] == "prompt_id,prompt,image,model,annotator,label,control,seconds"
    assert lines[1] == '1,"A cat, red.",1.png,sdxl,ann,2,false,3.0'
    assert lines[-1] == '1,"A cat, red.",ref.png,reference,chief,2,true,3.0'
    built = build(path, scale=KIND.get_scale({}), min_kappa=-1)
    assert to_dict(built, "sdxl_hbpp") == {"A cat, red.": 2.0}
    assert to_dict(built, "glide_hbpp") == {"A cat, red.": -0.5}
    assert "chief" not in [annotator.name for annotator in built.generation.annotators]
