"""Publishing the page of a predictor as a Space on the Hub."""

import re

import pqpp_hub
from pqpp_files.names import is_repository_id
from pqpp_files.paths import expanded
from pqpp_hub import PushReport
from pqpp_hub.card import render_card
from pqpp_hub.space import SDK_VERSION, app_of, space_files
from pqpp_models.demo.answer import Answerer
from pqpp_models.predictor import Predictor
from pqpp_models.registry import DEFAULT_PREDICTOR, NOTES, PREDICTORS


def push_space(
    name: str,
    repo_id: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
    folder: str | None = None,
) -> PushReport:
    """Publish the page of `pqpp demo --serve` as a Space on the Hub, in one commit.

    The Space holds a card, three lines that serve the page and the versions of what they need; it
    loads the predictor by its name. Files of others in it stay. For all else see
    `pqpp_hub.push_files`.

    Args:
        name: A shipped predictor, or the Hub repository of one of texts. It is loaded first.
        repo_id: `OWNER/NAME` of the Space.
        private: Make a new Space private. A public one that exists is then refused.
        revision: The branch; `main` if left out.
        dry_run: Only say what would change; nothing is written.
        token: An access token with write permission; the stored one if left out. It is never
            shown, logged or kept.
        folder: What `name` will hold when the Hub has it, on this machine.

    Returns:
        What was done, or would be.

    Raises:
        HubError: `name` is a folder, which a Space cannot see.
        PredictorError: The predictor needs more than texts, or there is none.
        HubError: The Hub cannot be reached or refuses.

    Example:
        >>> push_space("static", "OWNER/NAME", dry_run=True).added  # doctest: +SKIP
        ['README.md', 'app.py', 'requirements.txt']
    """
    if not is_repository_id(repo_id):
        raise pqpp_hub.HubError(f"{repo_id!r} is not a valid Space name; write OWNER/NAME")
    is_known = name in PREDICTORS or folder is not None
    if not is_known and (expanded(name).exists() or not is_repository_id(name)):
        raise pqpp_hub.HubError(
            f"a Space does not see {name!r} of this machine; push it too, to a repository: "
            f"pqpp models push {name} OWNER/REPOSITORY --space {repo_id}"
        )
    files = predictor_space(name, folder)
    message = f"Upload the page of {name} with pqpp"
    return pqpp_hub.push_files(
        files, repo_id, "space", files.__contains__, message, private, revision, dry_run, token
    )


def predictor_space(name: str, folder: str | None = None) -> dict[str, bytes]:
    """Return what the Space of a predictor holds, by name.

    Args:
        name: As for `push_space`.
        folder: As for `push_space`.

    Raises:
        PredictorError: The predictor needs more than texts, or there is none.

    Example:
        >>> print(predictor_space("static")["app.py"].decode(), end="")
        from pqpp_models.demo import serve_demo
        <BLANKLINE>
        serve_demo("static")
    """
    predictor = shown_predictor(folder or name)
    _, needs = NOTES.get(predictor.name, ("", ""))
    card = render_card(
        "spaces/predictor",
        name=name,
        targets=list(predictor.targets),
        model="" if name in PREDICTORS else name,
        is_default=name == DEFAULT_PREDICTOR,
        sdk_version=SDK_VERSION,
    )
    extras = re.findall(r"pqpp\[(\w+)\]", needs)
    return space_files(card, app_of("pqpp_models.demo", "serve_demo", name), *extras)


def shown_predictor(name: str) -> Predictor:
    """Return a predictor that the page can show.

    Args:
        name: What `Predictor.from_pretrained` takes.

    Raises:
        PredictorError: It needs more than texts, or there is none.

    Example:
        >>> shown_predictor("static").called
        'static'
    """
    predictor = Predictor.from_pretrained(name)
    Answerer(predictor)
    return predictor
