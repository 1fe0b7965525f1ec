"""`describe_folder` on cards that others wrote."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.export.describe import describe_folder
from pqpp_files.errors import PqppError

FORMS = {
    "a pattern": {"config_name": "default", "data_files": "data/*.parquet"},
    "outside": {"config_name": "a", "data_files": [{"split": "train", "path": "/etc/*"}]},
}


@pytest.mark.parametrize("form", FORMS)
def test_cards_of_other_forms_are_refused_in_a_line(tmp_path, form):
    card = yaml.safe_dump({"configs": [FORMS[form]]})
    (tmp_path / "README.md").write_text(f"---\n{card}---\n")
    with pytest.raises(DataFileError, match="no dataset is described here; name a folder"):
        describe_folder(tmp_path)


def test_a_damaged_head_of_a_card_is_one_line(tmp_path):
    for damaged in (b"a: \0", b"a: [", b"a: \xff", b"a: &b 1\nc: *b"):
        (tmp_path / "README.md").write_bytes(b"---\n" + damaged + b"\n---\n")
        with pytest.raises(PqppError, match=r"README\.md.*; c(heck|onvert)"):
            describe_folder(tmp_path)


def test_types_that_nobody_knows_are_one_line(tmp_path):
    """Damaged where the columns' types stand, a file is sound to pyarrow alone."""
    note = b'{"info": {"features": {"prompt": {"dtype": "stning", "_type": "Value"}}}}'
    table = pa.table({"prompt": ["a cat"]}).replace_schema_metadata({b"huggingface": note})
    pq.write_table(table, tmp_path / "a.parquet")
    files = [{"split": "train", "path": "a.parquet"}]
    card = yaml.safe_dump({"configs": [{"config_name": "mine", "data_files": files}]})
    (tmp_path / "README.md").write_text(f"---\n{card}---\n")
    with pytest.raises(DataFileError, match=r"a\.parquet: not Parquet, or damaged \(.*stning"):
        describe_folder(tmp_path)
