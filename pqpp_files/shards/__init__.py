"""Long jobs, shard by shard: killed and run again at any time, on any number of machines."""

from pqpp_files.shards.cells import all_utf_8, ids_of, texts_of
from pqpp_files.shards.cut import (
    HeldShard,
    Shard,
    find_shards,
    hold_shards,
    launched_share,
    parts_of_share,
    share_of,
)
from pqpp_files.shards.run import ERROR, MANIFEST, ShardsDone, run_shards

__all__ = [
    "ERROR",
    "MANIFEST",
    "HeldShard",
    "Shard",
    "ShardsDone",
    "all_utf_8",
    "find_shards",
    "hold_shards",
    "ids_of",
    "launched_share",
    "parts_of_share",
    "run_shards",
    "share_of",
    "texts_of",
]
