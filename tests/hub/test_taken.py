"""Whether a name is somebody's on the Hub: asked briefly, and answered offline too."""

import time

from pqpp_hub.taken import is_taken


def test_a_repository_is_taken_and_another_name_is_free(printed):
    found = printed(
        "import json\nfrom huggingface_hub import HfApi\nfrom pqpp_hub.taken import is_taken\n"
        "HfApi().create_repo('tester/taken', repo_type='dataset')\n"
        "names = (['tester/taken'], ['tester/free'], ['tester/free', 'tester/taken'])\n"
        "print(json.dumps([is_taken(n, 'dataset') for n in names] + "
        "[is_taken(['tester/taken'], 'space')]))"
    )
    assert found == [True, False, True, False]


def test_who_does_not_answer_is_not_waited_for(monkeypatch):
    class Silent:
        def repo_info(self, *_, **__):
            time.sleep(5)

    monkeypatch.setattr("huggingface_hub.HfApi", Silent)
    start = time.monotonic()
    assert not is_taken(["somebody/something", "else"], "space")
    assert time.monotonic() - start < 4
