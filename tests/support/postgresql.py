"""A PostgreSQL server for a test, on a socket in its folder and on no port."""

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parts[4]))


def find_binaries() -> Path:
    """Return the folder of the server's programs; without them skip the test, or fail it."""
    program = shutil.which("pg_ctl")
    if program is not None:
        return Path(program).resolve().parent
    if _BINARIES:
        return _BINARIES[-1]
    reason = "needs PostgreSQL: apt-get install postgresql"
    if os.environ.get("PQPP_POSTGRESQL"):
        pytest.fail(reason)
    return pytest.skip(reason)


def make_database_fixture(mark):
    """Return the fixture of a study's database: SQLite or, under the mark, PostgreSQL."""

    @pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=mark)])
    def database(request, monkeypatch) -> dict[str, str]:
        """Settings of a study with an empty database."""
        if request.param == "sqlite":
            return {}
        monkeypatch.setenv("STUDY_DATABASE", request.getfixturevalue("make_postgresql")())
        return {"database": "$STUDY_DATABASE"}

    return database


@contextlib.contextmanager
def run_server(*settings: str):
    """Start a server; yield a function that makes an empty database and returns its URL.

    Args:
        settings: Of the server, like `fsync=off`.
    """
    binaries = find_binaries()
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short: a socket's path has at most 107 letters
    as_server = []
    if os.geteuid() == 0:  # the server refuses to run as root
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}"]
        as_server = ["setpriv", *ids, "--clear-groups"]
    data = str(folder / "data")

    def run(*command: str) -> None:
        result = subprocess.run(
            [*as_server, *command], cwd=folder, capture_output=True, text=True, timeout=900
        )
        assert result.returncode == 0, result.stdout + result.stderr

    initdb = [str(binaries / "initdb"), "--auth=trust", "--username=pqpp", "--encoding=UTF8"]
    run(*initdb, "--locale=C", "--no-sync", data)
    options = f"-k {folder} -c listen_addresses= -c max_connections=100 "
    options += " ".join(f"-c {setting}" for setting in settings)
    control = [str(binaries / "pg_ctl"), "--pgdata", data, "--wait", "--log", str(folder / "log")]
    run(*control, "-o", options, "start")
    count = 0

    def create_database() -> str:
        nonlocal count
        count += 1
        run(str(binaries / "createdb"), "-h", str(folder), "-U", "pqpp", f"study{count}")
        return f"postgresql://pqpp@/study{count}?host={folder}"

    try:
        yield create_database
    finally:
        run(*control, "--mode=immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)
