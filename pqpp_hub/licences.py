"""The keys of licences that the Hub knows, as its documentation lists them."""

from pqpp_files.errors import PqppError
from pqpp_files.names import did_you_mean

# huggingface.co/docs/hub/repositories-licenses
_KEYS = """
apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0
bigcode-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear
c-uda cc cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0
cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0
cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cdla-sharing-1.0 cdla-permissive-1.0 cdla-permissive-2.0 wtfpl
ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl
lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c ms-pl apple-ascl apple-amlr mpl-2.0
odc-by odbl openmdw-1.0 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib pddl lgpl-lr
deepfloyd-if-license fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2
llama3.3 llama4 grok2-community gemma unknown other
"""
LICENCE_KEYS = frozenset(_KEYS.split())


def require_licence(key: str, error: type[PqppError] = PqppError) -> None:
    """Refuse a licence that is no key of the Hub's.

    Raises:
        PqppError: There is no such key; as the class `error`.

    Example:
        >>> require_licence("CC BY 4.0")
        Traceback (most recent call last):
            ...
        pqpp_files.errors.PqppError: --license CC BY 4.0: not a licence key of the Hub; ...
    """
    if key not in LICENCE_KEYS:
        wanted = key.lower().replace(" ", "-")
        near = did_you_mean(key, sorted(LICENCE_KEYS))
        hint = f"did you mean {wanted}?" if wanted in LICENCE_KEYS else near
        raise error(f"--license {key}: not a licence key of the Hub; {hint}")
