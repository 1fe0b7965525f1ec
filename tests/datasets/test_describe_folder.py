"""`describe_folder` on cards that others wrote."""

import pytest
import yaml

from pqpp_datasets.errors import MissingFileError
from pqpp_datasets.export.describe import describe_folder

FORMS = {
    "a pattern": {"config_name": "default", "data_files": "data/*.parquet"},
    "no name": {"data_files": [{"split": "train", "path": "data/*.parquet"}]},
    "no split": {"config_name": "default", "data_files": [{"path": "data/*.parquet"}]},
    "a list": {"config_name": "a", "data_files": [{"split": "train", "path": ["a.parquet"]}]},
    "outside": {"config_name": "a", "data_files": [{"split": "train", "path": "/etc/*"}]},
}


@pytest.mark.parametrize("form", FORMS)
def test_cards_of_other_forms_are_refused_in_a_line(tmp_path, form):
    card = yaml.safe_dump({"configs": [FORMS[form]]})
    (tmp_path / "README.md").write_text(f"---\n{card}---\n")
    with pytest.raises(MissingFileError, match="no dataset is described here; name a folder"):
        describe_folder(tmp_path)
