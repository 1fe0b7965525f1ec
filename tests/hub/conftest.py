"""Fixtures: a Hub on loopback, and worker processes that use it."""

import json
from types import SimpleNamespace

import pytest
from support import local_hub
from support.local_hub.store import Store
from support.worker import Worker

_OWNERS = tuple(f"owner-{number}" for number in range(400))


@pytest.fixture(scope="session")
def _session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("user")
    tester = local_hub.Account("tester", organizations=("pqpp", *_OWNERS))
    accounts = {**local_hub.DEFAULT_ACCOUNTS, "hf_tester": tester}
    with local_hub.serve(accounts=accounts) as hub:
        environment = hub.environment(folder / "home")
        environment |= {"HF_UPDATE_DOWNLOAD_COUNTS": "0", "HF_MODULES_CACHE": str(folder / "code")}
        # Long enough for a busy machine.
        environment |= {"HF_HUB_DOWNLOAD_TIMEOUT": "60", "HF_HUB_ETAG_TIMEOUT": "60"}
        user = Worker(environment, folder)
        yield SimpleNamespace(
            hub=hub, user=user, folder=folder, environment=environment, owners=iter(_OWNERS)
        )
        user.close()


@pytest.fixture(scope="session")
def plain_worker(_session):
    """A process in which pqpp cannot be imported."""
    environment = _session.hub.environment(_session.folder / "another-home")
    environment |= {"PQPP_NO_AUTOLOAD": "1", "PYTHONPATH": ""}
    user = Worker(environment, _session.folder)
    code = "import sys\nfor name in ('datasets', 'hub', 'metrics', 'models'):\n"
    assert user.run(code + "    sys.modules['pqpp_' + name] = None").error is None
    yield user
    user.close()


@pytest.fixture
def state(_session):
    """The Hub, emptied and without faults, the process and its settings, and an unused owner."""
    _session.hub.hub.store = Store()
    _session.hub.faults.clear()
    _session.hub.requests.clear()
    return SimpleNamespace(**{**vars(_session), "owner": next(_session.owners)})


@pytest.fixture
def hub(state):
    """The shared Hub, emptied and without faults."""
    return state.hub


@pytest.fixture
def run_python(state, tmp_path):
    """Return a function that runs Python and parses its last line as JSON; no token is printed."""

    def run(code: str, token: str | None = "hf_tester"):
        outcome = state.user.run(code, token, tmp_path)
        assert outcome.error is None, outcome.error
        for secret in local_hub.DEFAULT_ACCOUNTS:
            assert secret not in outcome.output
        return json.loads(outcome.stdout.splitlines()[-1])

    return run


@pytest.fixture
def run_pqpp(state):
    """Return a function that runs the command line against the Hub; no token is printed."""

    def run(*arguments: str, fails: bool = False):
        outcome = state.user.pqpp(*map(str, arguments))
        assert outcome.error is None, outcome.error
        assert bool(outcome.value) == fails, outcome.stderr
        assert not any(secret in outcome.output for secret in local_hub.DEFAULT_ACCOUNTS)
        return outcome

    return run
