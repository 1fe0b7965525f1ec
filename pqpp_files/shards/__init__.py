"""Long jobs, shard by shard: killed and run again at any time, on any number of machines."""

from pqpp_files.shards.cut import Shard, find_shards, parts_of_share, share_of
from pqpp_files.shards.run import ERROR, ShardsDone, run_shards

__all__ = [
    "ERROR",
    "Shard",
    "ShardsDone",
    "find_shards",
    "parts_of_share",
    "run_shards",
    "share_of",
]
