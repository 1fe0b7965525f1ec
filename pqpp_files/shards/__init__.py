"""Run long jobs shard by shard, on any number of machines; killed jobs can be resumed."""

from pqpp_files.shards.cells import get_ids as get_ids
from pqpp_files.shards.cells import get_texts as get_texts
from pqpp_files.shards.cut import Shard as Shard
from pqpp_files.shards.cut import cut_table as cut_table
from pqpp_files.shards.cut import find_shards as find_shards
from pqpp_files.shards.cut import get_process_share as get_process_share
from pqpp_files.shards.cut import select_share as select_share
from pqpp_files.shards.ray_engine import RayOptions as RayOptions
from pqpp_files.shards.run import ERROR as ERROR
from pqpp_files.shards.run import ShardSummary as ShardSummary
from pqpp_files.shards.run import run_shards as run_shards
from pqpp_files.shards.store import ShardStore as ShardStore
from pqpp_files.shards.store import is_local as is_local
