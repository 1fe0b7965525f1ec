"""How accounts, repositories, trees and parts of files look in the Hub's answers."""

import hashlib
import re

import yaml

from .messages import Response
from .store import Commit, Entry, Repository, Store


def read_metadata(text: str) -> tuple[dict, str | None]:
    """Return the YAML at the top of a card, empty if it is broken, and what is wrong with it."""
    match = re.match(r"---\r?\n(.*?)\r?\n---", text, re.DOTALL)
    try:
        metadata = yaml.safe_load(match[1]) if match else {}
    except yaml.YAMLError as error:
        return {}, f"the metadata is not YAML: {str(error).splitlines()[0]}"
    if metadata is None or isinstance(metadata, dict):
        return metadata or {}, None
    return {}, "the metadata is no mapping"


def describe(store: Store, repository: Repository, commit_id: str, blobs: bool = False) -> dict:
    """Describe a repository at a commit, with its files."""
    commit = repository.commits[commit_id]
    metadata, _ = read_metadata(store.read_text(commit, "README.md"))
    tags = [str(tag) for tag in metadata.get("tags") or []]
    description = {
        "_id": hashlib.sha1(repository.id.encode()).hexdigest()[:24],
        "id": repository.id,
        "author": repository.id.split("/")[0],
        "sha": commit_id,
        "lastModified": commit.date,
        "createdAt": repository.created,
        "private": repository.private,
        "tags": tags,
        "cardData": metadata,
        "siblings": [_to_sibling(path, commit.files[path], blobs) for path in sorted(commit.files)],
    }
    if repository.kind == "model":
        description["modelId"] = repository.id
        for name in ("library_name", "pipeline_tag", "model-index"):
            if name in metadata:
                description[name] = metadata[name]
    if repository.kind == "space":
        description["sdk"] = repository.sdk
    return description


def _to_sibling(path: str, entry: Entry, blobs: bool) -> dict:
    if not blobs:
        return {"rfilename": path}
    description = {"rfilename": path, "size": entry.size, "blobId": entry.oid}
    if entry.lfs:
        description["lfs"] = {"sha256": entry.sha256, "size": entry.size, "pointerSize": 134}
    return description


def describe_discussion(repository: Repository, number: int) -> dict:
    """Describe a pull request."""
    request = repository.requests[number - 1]
    return {
        "title": request["title"],
        "num": number,
        "author": {"name": request["author"]},
        "createdAt": repository.commits[request["head"]].date,
        "status": request["status"],
        "repo": {"name": repository.id, "type": repository.kind},
        "isPullRequest": True,
    }


def list_results(store: Store, dataset: str, models: list[Repository]) -> list[dict]:
    """List the results of a benchmark, in main branches and in open pull requests."""
    entries = []
    for model in models:
        heads: list[tuple[int | None, str]] = [(None, model.branches["main"])]
        open_numbers = [n for n, one in enumerate(model.requests, 1) if one["status"] == "open"]
        heads += [(n, model.requests[n - 1]["head"]) for n in open_numbers]
        for number, head in heads:
            commit = model.commits[head]
            for path in (one for one in commit.files if one.startswith(".eval_results/")):
                for result in yaml.safe_load(store.read_text(commit, path)):
                    if result["dataset"]["id"] == dataset:
                        entries.append((result, model, path, number))
    entries.sort(key=lambda entry: -entry[0]["value"])
    return [
        {
            "rank": rank,
            "modelId": model.id,
            "value": one["value"],
            "filename": path,
            "verified": False,
            "source": one.get("source"),
            "author": {"type": "user", "name": model.id.split("/")[0], "avatarUrl": ""}
            | {"fullname": ""},
            "notes": one.get("notes"),
            **({"pullRequest": number} if number else {}),
        }
        for rank, (one, model, path, number) in enumerate(entries, 1)
    ]


def list_tree(commit: Commit, path: str, recursive: bool) -> list[dict]:
    """List the files and folders below a folder, by path."""
    prefix = path.strip("/") + "/" if path else ""
    entries: dict[str, dict] = {}
    for name in sorted(commit.files):
        if not name.startswith(prefix):
            continue
        parts = name[len(prefix) :].split("/")
        folders = [prefix + "/".join(parts[:depth]) for depth in range(1, len(parts))]
        for folder in folders if recursive else folders[:1]:
            entries.setdefault(folder, _describe_folder(commit, folder))
        if recursive or len(parts) == 1:
            entries[name] = _describe_file(name, commit.files[name])
    return [entries[name] for name in sorted(entries)]


def _describe_file(path: str, entry: Entry) -> dict:
    description = {"type": "file", "path": path, "size": entry.size, "oid": entry.oid}
    if entry.lfs:
        description["lfs"] = {"oid": entry.sha256, "size": entry.size, "pointerSize": 134}
    return description


def _describe_folder(commit: Commit, path: str) -> dict:
    files = [(name, file.oid) for name, file in commit.files.items() if name.startswith(path + "/")]
    oid = hashlib.sha1(repr(sorted(files)).encode()).hexdigest()
    return {"type": "directory", "path": path, "size": 0, "oid": oid}


def get_range(content: bytes, byte_range: str | None, headers: dict[str, str]) -> Response:
    """Answer with content, or with the range of it that was asked for."""
    match = re.fullmatch(r"bytes=(\d*)-(\d*)", byte_range or "")
    if not match or match[0] == "bytes=-":
        return Response(200, content, headers)
    size = len(content)
    first, last = match[1], match[2]
    start = int(first) if first else max(size - int(last), 0)
    stop = min(int(last) + 1, size) if first and last else size
    if start >= stop:
        return Response(416, b"", {**headers, "Content-Range": f"bytes */{size}"})
    return Response(
        206, content[start:stop], {**headers, "Content-Range": f"bytes {start}-{stop - 1}/{size}"}
    )
