"""Images for prompts: one seed an image, so that none depends on what is made beside it."""

from pqpp_engines.generate.endpoint import EndpointGenerator
from pqpp_engines.generate.folder import FolderGenerator
from pqpp_engines.generate.generators import CommandGenerator, DiffusersGenerator, Generator, Made
from pqpp_engines.generate.run import generate, seed_of

__all__ = [
    "CommandGenerator",
    "DiffusersGenerator",
    "EndpointGenerator",
    "FolderGenerator",
    "Generator",
    "Made",
    "generate",
    "seed_of",
]
