"""Tails of a prompt that tell how good a picture shall be, not what it shows.

In AGIQA-3K, where adjectives were added to prompts by design, light and detail change how well
images show their prompts by less than the error of a mean (2.49 to 2.53 beside 2.53 without), while
views (2.24 to 2.39) and styles do more: these stay with the content.
"""

from __future__ import annotations

import re

_QUALITY_WORDS = """
masterpiece quality high-quality high-resolution high-res high-detail detail details detailed
ultra-detailed hyper-detailed highly-detailed hyperdetailed ultradetailed resolution highres
absurdres hires hd fhd qhd uhd hdr 2k 4k 8k 16k 32k 720p 1080p 2160p realistic photorealistic
photo-realistic hyperrealistic hyper-realistic ultrarealistic ultra-realistic photorealism
hyperrealism hyper-realism sharp focus depth dof bokeh dslr slr grain lighting volumetric
illumination occlusion scattering raytracing ray rtx octane unreal ue4 ue5 vray v-ray redshift
render artstation deviantart cgsociety trending award-winning awardwinning award photography raw
lowres
"""
_QUALITY = frozenset(_QUALITY_WORDS.split())
_BESIDE_WORDS = """
masterpieces best good high highest top great amazing ultra super hyper very extremely highly
insanely incredibly max maximum intricate intricately res realism lifelike sharpness crisp clear
focused in-focus field film cinematic light soft studio dramatic global ambient subsurface rim
tracing traced path engine blender cycles arnold 3d cgi renders rendered rendering pixiv behance
featured winning professional professionally photograph photo composition perfect stunning
beautiful skin textures texture bad worst low jpeg artifacts extra missing deformed wallpaper
unity contest winner on of and in 4 5
"""
_QUALITY_AND_BESIDE = _QUALITY.union(_BESIDE_WORDS.split())
_LAST = "2k 4k 8k 16k 32k uhd hdr masterpiece artstation deviantart render engine"
_LAST_WORDS = frozenset(_LAST.split())
_LENS = re.compile(
    r"(?:(?:shot|taken|captured)\s+(?:on|with)\s+)?(?:an?\s+)?"
    r"(?:(?:canon|nikon|sony|fujifilm|fuji|leica|hasselblad|kodak|portra|arri|alexa|panasonic|lumix)"
    r"(?:\s+[\w-]+){0,4}|\d{2,3}\s?mm(?:\s+(?:lens|film|photograph|photo))?|f\s?/?\s?\d+(?:\.\d+)?"
    r"|iso\s?\d+|1/\d+s?)",
    re.IGNORECASE,
)
_BAD_PARTS = re.compile(
    r"(?:bad|extra|missing|deformed|mutated)\s+(?:anatomy|hands?|fingers|limbs|arms|legs)", re.I
)
_ENDING = re.compile(
    r"(?:\s+(?:(?:2|4|8|16|32)k|uhd|hdr|masterpiece|trending\s+on\s+(?:artstation|deviantart)"
    r"|octane\s+render|unreal\s+engine(?:\s+\d)?))+\s*$",
    re.IGNORECASE,
)
_ARTIST = re.compile(
    r"(?:(?:digital\s+|concept\s+)?(?:art|artwork|painting|illustration|drawing|painted|drawn)\s+by\s+.+"
    r"|by\s+(?:[^\W\d_.'’-]+\.?\s+){1,3}[^\W\d_'’-]+(?:\s+and\s+(?:[^\W\d_.'’-]+\.?\s*){2,4})?)",
    re.IGNORECASE,
)
_NO_NAME_WORDS = """
the a an my his her its our their this that some one two three night day candle light hand foot
side moonlight firelight sunlight sea water train bus car boat bike default itself himself
"""
_NO_NAME = frozenset(_NO_NAME_WORDS.split())
_UNWANTED = re.compile(
    r"(?:no|without(?:\s+any)?)\s+((?:blur(?:ry|red)?|watermarks?|texts?|signatures?|logos?|noise|grain"
    r"|distortions?|distorted\s+\w+|artifacts?|artefacts?|deformed\s+\w+|deformities|extra\s+\w+"
    r"|bad\s+\w+|borders?|frames?|cropping|low\s+quality|captions?)(?:\s+or\s+\w+)?)",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"\s+without\s+(?:any\s+)?(watermarks?|blur|signatures?|distortions?)\s*$", re.I
)
_BETWEEN = re.compile(r"(\s*[,;|]+\s*|[.!]+\s+|[.!]+$)")
_WORD = re.compile(r"[^\s,()\[\]]+")


def take_tails(text: str, ignored: dict[str, list[str]], unwanted: list[str]) -> str:
    """Take away parts between commas that tell quality, who would draw it, or what to leave out.

    Where nothing else would stay, all stays.
    """
    if not _may_end_in_one(text) and not any(mark in text for mark in ",;|.!"):
        return text
    pieces = _BETWEEN.split(text)
    endings: dict[str, list[str]] = {"quality": [], "style": [], "unwanted": []}
    kept: list[str] = []
    for at in range(0, len(pieces), 2):
        part = _without_ending(pieces[at], endings)
        kind = _kind_of(part, bool(kept))
        if match := _UNWANTED.fullmatch(part.strip(" ()")):
            endings["unwanted"].append(match[1])
        elif kind:
            endings[kind].append(part.strip())
        elif part.strip():
            kept += [pieces[at - 1], part] if kept else ["", part]
    if not any(endings.values()) or not kept:
        return text
    ignored["quality"] += endings["quality"]
    ignored["style"] += endings["style"]
    unwanted += endings["unwanted"]
    return "".join(kept)


def _kind_of(part: str, is_later: bool) -> str:
    """Return what a part tells, an empty word for content."""
    bare = part.strip(" ()")
    words = [word.lower().strip(".:") for word in _WORD.findall(bare)]
    if not words:
        return ""
    if _LENS.fullmatch(bare) or _BAD_PARTS.fullmatch(bare):
        return "quality"
    if _QUALITY_AND_BESIDE.issuperset(words) and not _QUALITY.isdisjoint(words):
        return "quality"
    if is_later and words[:4] == ["in", "the", "style", "of"]:
        return "style"
    if is_later and _ARTIST.fullmatch(bare) and not set(words) & _NO_NAME:
        return "style"
    return ""


def _without_ending(part: str, endings: dict[str, list[str]]) -> str:
    """Take away what ends a part without a comma: "a train 8k", "a dog without watermark"."""
    if not _may_end_in_one(part):
        return part
    for kind, pattern in (("quality", _ENDING), ("unwanted", _WITHOUT)):
        match = pattern.search(part)
        if match and part[: match.start()].strip():
            endings[kind].append(match[1] if kind == "unwanted" else match[0].strip())
            part = part[: match.start()]
    return part


def _may_end_in_one(part: str) -> bool:
    """Tell, faster than the patterns, whether a part may end in a tail."""
    words = part.lower().split()
    return bool(words) and (words[-1] in _LAST_WORDS or "engine" in words or "without" in words)
