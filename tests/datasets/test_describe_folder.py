"""`describe_folder` on cards that others wrote."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.export.describe import describe_folder


def test_types_that_nobody_knows_are_one_line(tmp_path):
    """Damaged where the columns' types stand, a file is sound to pyarrow alone."""
    note = b'{"info": {"features": {"prompt": {"dtype": "stning", "_type": "Value"}}}}'
    table = pa.table({"prompt": ["a cat"]}).replace_schema_metadata({b"huggingface": note})
    pq.write_table(table, tmp_path / "a.parquet")
    files = [{"split": "train", "path": "a.parquet"}]
    card = yaml.safe_dump({"configs": [{"config_name": "mine", "data_files": files}]})
    (tmp_path / "README.md").write_text(f"---\n{card}---\n")
    with pytest.raises(BenchmarkError, match=r"a\.parquet: not Parquet, or damaged \(.*stning"):
        describe_folder(tmp_path)
