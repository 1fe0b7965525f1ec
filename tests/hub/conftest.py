"""A Hub on loopback and one process that uses it, shared by the tests that change no setting."""

import json
from types import SimpleNamespace

import pytest
from support import local_hub
from support.local_hub.store import Store
from support.worker import Worker

_OWNERS = tuple(f"owner-{number}" for number in range(400))


@pytest.fixture(scope="session")
def _running(tmp_path_factory):
    place = tmp_path_factory.mktemp("user")
    tester = local_hub.Account("tester", organizations=("pqpp", *_OWNERS))
    accounts = {**local_hub.DEFAULT_ACCOUNTS, "hf_tester": tester}
    with local_hub.serve(accounts=accounts) as hub:
        environment = hub.environment(place / "home")
        environment |= {"HF_UPDATE_DOWNLOAD_COUNTS": "0", "HF_MODULES_CACHE": str(place / "code")}
        # Even a machine that has much to do answers within it.
        environment |= {"HF_HUB_DOWNLOAD_TIMEOUT": "60", "HF_HUB_ETAG_TIMEOUT": "60"}
        user = Worker(environment, place)
        yield SimpleNamespace(
            hub=hub, user=user, place=place, environment=environment, owners=iter(_OWNERS)
        )
        user.close()


@pytest.fixture(scope="session")
def stranger(_running):
    """A process in which this package is not there."""
    environment = _running.hub.environment(_running.place / "another-home")
    environment |= {"PQPP_NO_AUTOLOAD": "1", "PYTHONPATH": ""}
    user = Worker(environment, _running.place)
    gone = "import sys\nfor name in ('datasets', 'hub', 'metrics', 'models'):\n"
    assert user.run(gone + "    sys.modules['pqpp_' + name] = None").error is None
    yield user
    user.close()


@pytest.fixture
def shared(_running):
    """The Hub, empty and healthy, the process, where and how it works, an owner of its own."""
    _running.hub.hub.store = Store()
    _running.hub.faults.clear()
    _running.hub.requests.clear()
    return SimpleNamespace(**{**vars(_running), "owner": next(_running.owners)})


@pytest.fixture
def hub(shared):
    """The shared Hub, empty and healthy."""
    return shared.hub


@pytest.fixture
def printed(shared, tmp_path):
    """Run Python and return what its last line prints, read as JSON; no token is ever said."""

    def run(code: str, token: str | None = "hf_tester"):
        outcome = shared.user.run(code, token, tmp_path)
        assert outcome.error is None, outcome.error
        for secret in local_hub.DEFAULT_ACCOUNTS:
            assert secret not in outcome.said
        return json.loads(outcome.stdout.splitlines()[-1])

    return run
