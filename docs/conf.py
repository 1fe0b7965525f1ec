"""Sphinx's settings: `make docs`. `site_parts` generates pages at build time."""

import os
import sys
from configparser import ConfigParser
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
# Cells call the commands, and find the package, that this build was started with.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(HERE.parent), os.environ.get("PYTHONPATH")])
)
os.environ |= {
    "HF_HOME": str(HERE / "_build" / "huggingface"),
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "100",
}
os.environ["PQPP_SITE_ROOT"] = str(HERE.parent)
os.environ["PYTHONWARNINGS"] = "ignore"  # of cells; a build's own warnings are Sphinx's

import fastapi  # noqa: E402, F401 - autodoc imports with TYPE_CHECKING set, which pydantic refuses
from site_parts.sources import compute_digest  # noqa: E402

_about = ConfigParser()
_about.read(HERE.parent / "setup.cfg", "utf-8")

project = "pqpp"
author = "the pqpp authors"
copyright = "the pqpp authors, Apache-2.0"
version = release = _about["metadata"]["version"]

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "site_parts",
]
exclude_patterns = ["_build", "site_parts"]
templates_path = ["_templates"]
suppress_warnings = ["ref.python"]  # of two types of one name in a signature either will do

highlight_language = "text"  # of blocks without a label: outputs

html_theme = "furo"
html_title = f"pqpp {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_show_sphinx = False
html_math_renderer = "mathml"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_update_mathjax = False

# Executed once for each state of the cells and of the package.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed" / compute_digest(HERE.parent))
nb_execution_timeout = 600  # seconds of the clock, on a busy machine too
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # they would be fetched from outside

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_use_type_comments = False
toc_object_entries = False  # a page begins with its names; else every page copies all of them
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
smartquotes = False
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_attr_annotations = False  # autodoc says the types
napoleon_use_ivar = True  # the fields of named tuples are said once
default_role = "said"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
