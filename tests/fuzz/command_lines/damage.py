"""What is done to the bytes of a good file, to a JSON value and to a path."""

import json
from pathlib import Path
from random import Random

HUGE = "9" * 5000
_PLAIN = """- -- -1 0 1 a a,b , ,,, : = a=b a:b =: . .. / ~ ~nobody/x ../../x ./x C:\\x owner/name
owner/name/x /dev/null nan inf -inf 1e999 1e3 1_000 0x10 ٣ 1.5 é 🧸 %s%n {0} {x} <script> * [ None
null true [] {} prompt mean_hbpp static sample pqpp train linguistic --help --output"""
_BLANK = ("", " ", "a b", "a\nb", "a\rb", "\x1b[2J\x1b]0;x\x07", "\u2028", "\u202e", "\ufeff")
_LONG = (str(2**63), str(2**70), HUGE, "x" * 5000, "{{ 7 * 7 }}", "\udcff")
ODD_WORDS = (*_PLAIN.split(), *_BLANK, *_LONG)
ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 2, 7, 10**7, 2**31, 2**63, 2**64, 10**400, 0.5, -0.5, 1e308),
    *(float("nan"), float("inf"), "", "x", "\ud800", "\x1b[2J", "x" * 5000, HUGE, "1", "nan"),
    *([], {}, [[]], [None], {"": None}, {"a": 1}, [1, "a"], ["a"] * 50, {"auto_map": "x--y.Z"}),
)
_INSERTED = (b"\r", b"\n", b"\n\n", b"\r\n", b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b'"')
_INSERTED += (b"'", b",", b"\t", b";", b"|", b"\\", b"\xe2\x80\xa8", b"\xef\xbb\xbf", b"\x1a")
_INSERTED += (b"\x1b[2J", b"{", b"[", b"#", b"NaN", b"Infinity", b"1e999", b"-1", b"1_0", b"null")
_INSERTED += (b"true", b"&a [*a]", b"!!python/name:os", b"[" * 100_000, b'{"a":' * 50_000)
_INSERTED += (b"x" * 140_000, str(2**70).encode(), HUGE.encode())


def damaged(content: bytes, random: Random) -> bytes:
    """Return the bytes of a file with one thing wrong."""
    way, place = random.randrange(11), random.randrange(len(content) + 1)
    if way == 0:
        return content[:place]
    if way == 1:
        return b""
    if way == 2:
        return b"\xef\xbb\xbf" + content
    if way == 3:
        return content.replace(b"\n", random.choice((b"\r", b"\r\n", b"", b"\n\n", b"\x0b")))
    if way == 4:
        flipped = bytearray(content)
        for _ in range(random.choice((1, 1, 8, 100)) if content else 0):
            flipped[random.randrange(len(content))] = random.randrange(256)
        return bytes(flipped)
    if way == 5:
        lines = content.split(b"\n")
        lines.insert(random.randrange(len(lines)), random.choice(lines))
        return b"\n".join(lines)
    if way == 6:  # a cell more or less
        at = content.find(b",", place)
        return content if at < 0 else content[:at] + random.choice((b"", b",,")) + content[at + 1 :]
    if way == 7:  # a number becomes another
        digits = [i for i in range(len(content)) if content[i : i + 1].isdigit()]
        at = random.choice(digits) if digits else 0
        return content[:at] + random.choice(
            (b"NaN", b"", b"-", b"1e", b"99999999999999999999", b"x")
        )
    return content[:place] + random.choice(_INSERTED) + content[place:]


def damaged_json(content: bytes, random: Random) -> bytes:
    """Return JSON in which one value is another, or is gone, or a key is new."""
    value = json.loads(content)
    holder, key, above = None, None, value
    while isinstance(above, dict | list) and above and random.random() < 0.8:
        holder = above
        key = (
            random.choice(list(above)) if isinstance(above, dict) else random.randrange(len(above))
        )
        above = holder[key]
    if holder is None:
        value = random.choice(ODD_VALUES)
    elif isinstance(holder, dict) and random.random() < 0.25:
        del holder[key]
    else:
        holder[key] = random.choice(ODD_VALUES)
    return json.dumps(value).encode()


def misplaced(path: Path, random: Random) -> str:
    """Put something else at a path, or the same elsewhere, and return the name to use."""
    way = random.randrange(9)
    if way == 0:
        link = path.with_name(f"link_{path.name}")
        link.symlink_to(path.name)
        return link.name
    if way == 1:
        one, other = path.with_name(f"loop_{path.name}"), path.with_name(f"pool_{path.name}")
        one.symlink_to(other.name)
        other.symlink_to(one.name)
        return one.name
    if way == 2:
        return f"missing_{path.name}"
    if way == 3 and path.is_file():
        folder = path.with_name(f"folder_{path.name}")
        folder.mkdir()
        return folder.name
    if way == 4:
        moved = path.with_suffix(
            random.choice((".csv", ".json", ".jsonl", ".parquet", ".gz", "", ".x"))
        )
        return path.rename(moved).name if not moved.exists() else path.name
    if way == 5:
        odd = ("a b", "a:b", "é", "a\nb", "-x", "\udcff", "a=b", "a,b", "*", "#", "%20", "\x1b[2J")
        return path.rename(path.with_name(random.choice(odd) + path.suffix)).name
    if way == 6:
        path.chmod(0)
        return path.name
    if way == 7:
        return str(path.absolute())
    return random.choice((f"./{path.name}", f"{path.name}/", f"{path.name}/x", f"x/../{path.name}"))
