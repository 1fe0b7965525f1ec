"""Generate images for prompts; each image has its own seed and does not depend on the others."""

from pqpp_engines.generate.endpoint import EndpointGenerator as EndpointGenerator
from pqpp_engines.generate.generators import CommandGenerator as CommandGenerator
from pqpp_engines.generate.generators import GeneratedImage as GeneratedImage
from pqpp_engines.generate.generators import Generator as Generator
from pqpp_engines.generate.pipeline import DiffusersGenerator as DiffusersGenerator
from pqpp_engines.generate.run import derive_seed as derive_seed
from pqpp_engines.generate.run import generate as generate
