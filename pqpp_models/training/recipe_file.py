"""Reading the YAML file of a recipe: plain values only, whatever the file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pqpp_models.training.options import RecipeError

_MOST_BYTES = 1_000_000


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a recipe's file: a mapping of names to plain values, without aliases.

    Raises:
        RecipeError: It cannot be read, or is no such file.
    """
    import yaml

    class PlainLoader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):  # a few lines of them unfold to gigabytes
                raise yaml.YAMLError("it holds an alias")
            return super().compose_node(parent, index)

    try:
        with Path(path).open("rb") as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise RecipeError(f"{path} is larger than a megabyte; name a recipe")
        content = yaml.load(text.decode("utf-8"), PlainLoader)
    except OSError as error:
        hint = "" if Path(path).suffix in (".yaml", ".yml") else "; `subset` names the data"
        said = f"{path} cannot be read ({error.strerror}); check the path{hint}"
        raise RecipeError(said) from None
    except RecursionError:
        raise RecipeError(f"{path} is nested too deeply; see training/recipes") from None
    except RecipeError:
        raise
    except (yaml.YAMLError, ValueError) as error:  # a number of 5,000 digits is a ValueError
        raise RecipeError(f"{path} is no YAML ({type(error).__name__}); check its form") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{path} holds no `name: value` lines; see training/recipes")
    return content
