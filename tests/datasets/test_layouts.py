"""Layouts of votes: columns of models, models in image names, spellings of prompts."""

import gzip
import re

import pytest
from openpyxl import Workbook
from support.votes import build, to_dict, write

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.options import BuildOptions


def test_reads_one_column_per_model(tmp_path):
    lines = ("A,ann,5,1", "A,bob,4,2", "B,ann,3,")
    path = write(tmp_path / "v.csv", *lines, header="prompt,annotator,sdxl,Flux 2")
    built = build(path, models=["sdxl", "Flux 2"], scale="likert5", blank="drop")
    assert to_dict(built, "sdxl_rating") == {"A": 4.5, "B": 3.0}
    assert to_dict(built, "flux-2_rating") == {"A": 1.5, "B": None}
    assert [t.model for t in built.targets] == ["sdxl", "Flux 2", None]
    assert "1 blank vote left out" in built.notes
    with pytest.raises(BenchmarkError, match=r"v\.csv, row 4: 'Flux 2' is empty; .*`blank` to"):
        build(path, models=["sdxl", "Flux 2"], scale="likert5")
    with pytest.raises(BenchmarkError, match="set only one"):
        BuildOptions(models=["sdxl"], model="m")


def test_errors_count_rows_like_a_spreadsheet(tmp_path):
    lines = ['"A\ncat.",1,m,a,5', "", "", "B.,2,m,a,5", "", "C.,3,m,a,9"]
    path = write(tmp_path / "v.csv", *lines)
    (tmp_path / "v.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    book = Workbook()
    for row in (["Votes"], [], ["prompt", "image", "model", "annotator", "label"], [], [*"C3ma9"]):
        book.active.append(row)
    book.save(tmp_path / "v.xlsx")
    other = write(tmp_path / "w.csv", "D.,4,m,a,5")
    for name, row in (("v.csv", 7), ("v.csv.gz", 7), ("v.xlsx", 5)):
        for files in (tmp_path / name, [other, tmp_path / name]):
            with pytest.raises(BenchmarkError, match=rf"{name}, row {row}: 'label' is '9'"):
                build(files, scale="likert5")


def test_reads_model_from_image_name(tmp_path):
    lines = [
        f"A,out/{m}_{n}.png,a,{v}" for m, n, v in (("sd 1.5", 0, 2), ("sd 1.5", 1, 4), ("x", 0, 5))
    ]
    path = write(tmp_path / "v.csv", *lines, header="prompt,image,annotator,label")
    built = build(path, model_pattern="([^/_]+)_[0-9]", scale="likert5")
    assert to_dict(built, "sd-1.5_rating") == {"A": 3.0} and to_dict(built, "x_rating") == {"A": 5}
    with pytest.raises(BenchmarkError, match=r"row 4: 'image' is 'out/x_0\.png', which `model_pat"):
        build(path, model_pattern="sd", scale="likert5")
    with pytest.raises(BenchmarkError, match="not a regular expression"):
        build(path, model_pattern="(", scale="likert5")


def test_spellings_of_a_prompt_share_a_split(tmp_path):
    spellings = ("A dog number {}.", "a dog  number {}", "A DOG number {}!")
    lines = [f"{s.format(n)},{n}{k},m,a,5" for n in range(40) for k, s in enumerate(spellings)]
    built = build(write(tmp_path / "v.csv", *lines), scale="likert5")
    splits_by_number: dict[int, set[str]] = {}
    for split, table in built.splits.items():
        for prompt in table["prompt"].to_pylist():
            splits_by_number.setdefault(int("".join(filter(str.isdigit, prompt))), set()).add(split)
    assert len(splits_by_number) == 40 and set(map(len, splits_by_number.values())) == {1}
    assert [table.num_rows for table in built.splits.values()] == [72, 24, 24]


@pytest.mark.parametrize("vote", ["P9.,3.png,m,c,2", "P1.,3.png,x,c,2"])
def test_notes_images_with_two_prompts_or_models(tmp_path, vote):
    lines = [f"P{n // 2}.,{n}.png,m,{who},{n % 5 + 1}" for n in range(24) for who in "ab"]
    expected = re.compile(
        r"several .*: 1, such as '3\.png': .* row 8 and (prompt 'P9|model 'x).* 50;"
    )
    built = build(write(tmp_path / "v.csv", *lines, vote), scale="likert5")
    assert any(map(expected.search, built.notes))
    lines = [f"P{n // 2}.,{n % 2}.png,m,a,5" for n in range(24)]  # names that are not unique
    assert build(write(tmp_path / "v.csv", *lines), scale="likert5").prompts.num_rows == 12
