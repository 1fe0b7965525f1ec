"""Commands whose disk is full, on disks of a few kilobytes that a process mounts for itself."""

import contextlib
import io
import json
import shutil
import subprocess
import sys
import traceback
from pathlib import Path

_UNSHARE = ["unshare", "--map-root-user", "--mount"]


def can_mount() -> bool:
    """Tell whether this system lets a process mount a file system for itself."""
    if shutil.which("unshare") is None:
        return False
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt"]
    return subprocess.run([*_UNSHARE, *mount], capture_output=True).returncode == 0


def run_on_small_disks(cases: list[dict], folder: Path) -> list[dict]:
    """Run commands one after another in one process, each on an empty disk of its own.

    Args:
        cases: With `disk`, the folder that it is mounted on, `size` in bytes, 0 for one that can
            only be read, `words`, those of
            `pqpp`, or those of the training script that `script` names, and `cache`, the cache of
            `datasets`.
        folder: Where they run.

    Returns:
        For each `code`, the exit status, `stderr`, `error`, the traceback of what came through,
        and `left`, the names of what is on the disk.
    """
    done = subprocess.run(
        [*_UNSHARE, sys.executable, __file__],
        cwd=folder,
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"code"')]
    assert len(found) == len(cases), done.stderr[-2000:]
    return found


def _serve() -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    for case in json.loads(sys.stdin.read()):
        disk = Path(case["disk"])
        disk.mkdir(exist_ok=True)
        options = f"size={case['size']},nr_inodes=0" if case["size"] else "ro"
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
        subprocess.run(mount, check=True)
        try:
            answer = _run(case)
            paths = sorted(path for path in disk.rglob("*") if path.is_file())
            answer["left"] = [str(path.relative_to(disk)) for path in paths]
        finally:
            subprocess.run(["umount", "--lazy", str(disk)], check=True)
        print(json.dumps(answer), file=sys.__stdout__, flush=True)


def _run(case: dict) -> dict:
    import datasets

    from pqpp_cli.main import main

    datasets.config.HF_DATASETS_CACHE = Path(case["cache"])
    stderr, error, code = io.StringIO(), None, 0
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
        try:
            code = main(case["words"])
        except SystemExit as ended:
            code = ended.code
        except BaseException:
            error = traceback.format_exc()
    return {"code": code, "stderr": stderr.getvalue(), "error": error}


if __name__ == "__main__":
    _serve()
