"""`pqpp models show`: print what a predictor needs and gives, and its card."""

from __future__ import annotations

from pqpp_cli.command import Command
from pqpp_files.options.option import NEEDED, option


class ModelsShow(Command):
    """Print what a predictor needs and gives, and its card."""

    predictor: str = option(
        NEEDED, "a name, folder or Hub repository", metavar="NAME_OR_PATH", path="name", word=True
    )

    def run(self) -> None:
        """Load it, and print what it tells of itself."""
        from pqpp_models import Predictor

        predictor = Predictor.from_pretrained(self.predictor)
        print(f"name: {predictor.called}")
        print(f"targets: {', '.join(predictor.targets)}")
        print(f"inputs: {predictor.inputs}")
        print(f"supervised: {'yes' if predictor.supervised else 'no'}\n")
        print(predictor.card().strip())
