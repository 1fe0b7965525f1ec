"""The Ray engine: the same output as a local run, killed nodes and errors."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.processes import run_python
from support.shard_jobs import SlowDouble, double, refuse

from pqpp_cli.main import main
from pqpp_files.errors import FileError, MissingExtraError
from pqpp_files.shards import RayOptions, cut_table, run_shards

TESTS = Path(__file__).parents[1]
REPOSITORY = TESTS.parent


def contents(folder):
    """Return the visible files of a folder; a killed node leaves temporary ones."""
    return {path.name: path.read_bytes() for path in folder.glob("[!.]*")}


@pytest.fixture
def cluster():
    """A cluster of a node with one CPU and one GPU, to which tests add another."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    node = {"num_cpus": 1, "num_gpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    paths = os.pathsep.join([str(TESTS), *sys.path])
    environment = {"env_vars": {"PYTHONPATH": paths}}
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR", runtime_env=environment)
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def add_second_node(cluster):
    """Add a node; on a busy machine, its start may take longer than Ray's 30 seconds."""
    for _ in range(5):
        try:
            return cluster.add_node(num_cpus=1, num_gpus=1)
        except Exception as error:
            assert "timed out during startup" in str(error)
    pytest.skip("no second node started in 150 seconds")
    return None


@pytest.mark.slow
@pytest.mark.parametrize("options", [RayOptions(), RayOptions(num_gpus=0.5)])
def test_killed_ray_node_does_not_change_the_output(options, cluster, tmp_path):
    node = add_second_node(cluster)
    shards = cut_table(pa.table({"n": range(24)}), 1)
    job = SlowDouble(seconds=0.3)

    def kill():
        while len(list(tmp_path.glob("ray/part-*"))) < 5:
            time.sleep(0.05)
        cluster.remove_node(node, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    summary = run_shards(job, shards, tmp_path / "ray", {}, engine="ray", ray=options)
    killer.join()
    assert (summary.shards, summary.skipped, summary.rows) == (24, 0, 24)
    run_shards(double, shards, tmp_path / "local", {})
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")


@pytest.mark.slow
def test_ray_errors_are_one_line(cluster, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def same(table):\n    return table\n")
    monkeypatch.syspath_prepend(tmp_path)
    from only_here import same

    shards = cut_table(pa.table({"n": range(4)}), 1)
    for options, message in (
        (RayOptions(num_cpus=4), "no node has 4 CPU"),
        (RayOptions(num_gpus=3), "no node has 1 CPU, 3 GPU"),
    ):
        with pytest.raises(FileError, match=message):
            run_shards(double, shards, tmp_path / "out", {}, engine="ray", ray=options)
    with pytest.raises(FileError, match=r"^no such column$"):
        run_shards(refuse, shards, tmp_path / "out", {}, engine="ray")
    for options in (RayOptions(), RayOptions(num_gpus=1)):
        with pytest.raises(FileError, match=r"^.*No module named 'only_here'.*$"):
            run_shards(same, shards, tmp_path / "out", {}, engine="ray", ray=options)
    assert not (tmp_path / "out").exists()
    # With more workers than slots, as many run as fit.
    options = {"engine": "ray", "ray": RayOptions(num_gpus=1), "workers": 9}
    summary = run_shards(double, shards, tmp_path / "out", {}, **options)
    assert summary.shards == 4


MAIN = """
import sys
from pqpp_cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_local_ray_cluster_stops_after_ctrl_c(tmp_path):
    pytest.importorskip("ray")
    pq.write_table(pa.table({"prompt": [f"{n} dogs" for n in range(300)]}), tmp_path / "p.parquet")
    words = ["predict", "--file", str(tmp_path / "p.parquet"), "--shard-size", "50", "--target",
             "mean_hbpp", "--output"]  # fmt: skip
    command = [sys.executable, "-c", MAIN, *words, str(tmp_path / "ray"), "--engine", "ray"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stderr.count("\n") == 1, done.stderr
    assert main([*words, str(tmp_path / "local")]) == 0
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    command[-3] = str(tmp_path / "cut")
    process = subprocess.Popen([*command, "--num-cpus", "2"], stderr=subprocess.PIPE)
    while not list(tmp_path.glob("cut/part-*")) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130 or process.returncode == 0
    assert process.stderr.read().count(b"\n") == 1


SCRIPT = """
import ray  # before pqpp, as in a notebook
from ray._raylet import AuthenticationMode, get_authentication_mode
import pyarrow as pa
from pqpp_files.shards import cut_table, run_shards
from support.shard_jobs import double
shards = cut_table(pa.table({"n": range(4)}), 1)
done = run_shards(double, shards, "out", {}, engine="ray")
print(done.shards, get_authentication_mode() == AuthenticationMode.TOKEN, ray.is_initialized())
"""


@pytest.mark.slow
def test_local_ray_cluster_requires_a_token(tmp_path):
    pytest.importorskip("ray")
    done = run_python(SCRIPT, tmp_path, PYTHONPATH=os.pathsep.join(map(str, (REPOSITORY, TESTS))))
    assert done.stdout.split() == ["4", "True", "False"], done.stderr


def test_ray_options_need_the_ray_engine(tmp_path, capsys, monkeypatch):
    (tmp_path / "p.csv").write_text("prompt\na cat\n")
    words = ["predict", "--file", str(tmp_path / "p.csv"), "--output", str(tmp_path / "out")]
    assert main([*words, "--num-gpus", "0.5"]) == 2
    assert "--num-gpus applies only with --engine ray" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ray", None)
    shards = cut_table(pa.table({"n": [1]}), 1)
    with pytest.raises(MissingExtraError, match=r"needs ray; run: pip install"):
        run_shards(double, shards, tmp_path / "out", {}, engine="ray")
