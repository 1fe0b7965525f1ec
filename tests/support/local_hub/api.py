"""The part of the Hub's HTTP interface that clients use to write, list and read repositories.

What each request holds and what its answer must hold was read off huggingface_hub 2.4's client
code; a repository that may not be seen answers as the Hub does, like one that does not exist.
"""

import base64
import binascii
import hashlib
import json
import re
import secrets
import urllib.parse
from collections.abc import Callable, Mapping

from . import views
from .messages import REPOSITORY_ERROR, Account, Refusal, Request, Response, expired_token
from .store import Commit, Entry, Repository, Store, now

KINDS = ("model", "dataset", "space")
_API = r"/api/(?P<kind>model|dataset|space)s/(?P<id>[^/]+/[^/]+)"
_FILES = r"/(?:(?P<kind>dataset|space)s/)?(?P<id>[^/]+/[^/]+)"


class Hub:
    """A Hub without its HTTP server: takes requests and answers them.

    Args:
        store: The repositories.
        accounts: Token to whom it stands for.
    """

    def __init__(self, store: Store, accounts: Mapping[str, Account]):
        self.store = store
        self.accounts = dict(accounts)
        self.url = ""
        self._tickets: set[str] = set()
        routes: list[tuple[str, str, Callable]] = [
            ("POST", r"/api/repos/create", self._create),
            ("POST", r"/api/validate-yaml", self._validate_yaml),
            ("GET", _API, self._info),
            ("GET", _API + r"/revision/(?P<revision>[^/]+)", self._info),
            ("GET", _API + r"/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?", self._tree),
            ("POST", _API + r"/paths-info/(?P<revision>[^/]+)", self._paths_info),
            ("POST", _API + r"/branch/(?P<branch>[^/]+)", self._create_branch),
            ("POST", _API + r"/preupload/(?P<revision>[^/]+)", self._preupload),
            ("POST", _API + r"/commit/(?P<revision>[^/]+)", self._commit),
            ("GET", _API + r"/discussions", self._discussions),
            ("GET", r"/api/datasets/(?P<id>[^/]+/[^/]+)/leaderboard", self._leaderboard),
            ("POST", _FILES + r"\.git/info/lfs/objects/batch", self._lfs_batch),
            ("PUT", r"/_lfs/(?P<ticket>[^/]+)/(?P<oid>[0-9a-f]{64})", self._lfs_upload),
            ("POST", r"/_lfs/(?P<ticket>[^/]+)/verify", self._lfs_verify),
            ("GET", _FILES + r"/resolve/(?P<revision>[^/]+)/(?P<path>.+)", self._resolve),
        ]
        self._routes = [(method, re.compile(path), handler) for method, path, handler in routes]

    def answer(self, request: Request) -> Response:
        """Answer a request; a refusal is an answer too."""
        method = "GET" if request.method == "HEAD" else request.method
        try:
            for wanted, pattern, handler in self._routes:
                found = pattern.fullmatch(request.path) if method == wanted else None
                if found:
                    parts = {k: urllib.parse.unquote(v or "") for k, v in found.groupdict().items()}
                    with self.store.lock:
                        return handler(request, **parts)
            raise Refusal(404, f"there is no {request.method} {request.path}")
        except Refusal as refusal:
            return refusal.response()

    # ---- who may do what

    def _account(self, request: Request) -> Account | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return None
        account = self.accounts.get(token) if scheme == "Bearer" else None
        if account is None:
            raise Refusal(401, "Invalid credentials in Authorization header")
        if account.expired:
            raise expired_token()
        return account

    def _readable(self, request: Request, kind: str, name: str) -> Repository:
        account = self._account(request)
        repository = self.store.repositories.get((kind or "model", name))
        owner = name.split("/")[0]
        hidden = (
            repository and repository.private and owner not in getattr(account, "namespaces", ())
        )
        if repository is None or hidden:
            if account is None:
                raise Refusal(401, "Invalid username or password.", REPOSITORY_ERROR)
            raise Refusal(404, "Repository not found", REPOSITORY_ERROR)
        return repository

    def _writable(self, request: Request, kind: str, name: str) -> tuple[Repository, Account]:
        repository = self._readable(request, kind, name)
        return repository, self._writer(request, name.split("/")[0])

    def _writer(self, request: Request, namespace: str) -> Account:
        account = self._account(request)
        if account is None:
            raise Refusal(401, "Invalid username or password.")
        if not account.write:
            raise Refusal(403, "You must use a write token for this action")
        if namespace not in account.namespaces:
            raise Refusal(
                403, f'You don\'t have the rights to write under the namespace "{namespace}"'
            )
        return account

    def _at(self, repository: Repository, revision: str) -> tuple[str, Commit]:
        found = repository.resolve(revision or "main")
        if found is None:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return found, repository.commits[found]

    # ---- accounts and repositories

    def _create(self, request: Request) -> Response:
        wanted, account = request.json(), self._account(request)
        owner = wanted.get("organization") or (account.name if account else "")
        kind, name = wanted.get("type") or "model", f"{owner}/{wanted.get('name', '')}"
        if kind not in KINDS or not re.fullmatch(r"[\w.-]{1,96}/[\w.-]{1,96}", name):
            raise Refusal(400, f"cannot create a {kind} called {name}")
        account = self._writer(request, name.split("/")[0])
        url = f"{self.url}/{'' if kind == 'model' else kind + 's/'}{name}"
        if (kind, name) in self.store.repositories:
            message = f"You already created this {kind} repo: {name}"
            return Response.of({"error": message, "url": url}, 409, **{"X-Error-Message": message})
        private = wanted.get("visibility") == "private" or bool(wanted.get("private"))
        self.store.create(kind, name, private, account.name, wanted.get("sdk"))
        return Response.of({"url": url, "name": name, "id": name})

    def _validate_yaml(self, request: Request) -> Response:
        error = views.metadata_error(request.json().get("content", ""))
        errors = [{"message": error}] if error else []
        return Response.of({"errors": errors, "warnings": []}, 400 if error else 200)

    # ---- reading

    def _info(self, request: Request, kind: str, id: str, revision: str = "") -> Response:
        repository = self._readable(request, kind, id)
        commit_id, _ = self._at(repository, revision)
        return Response.of(
            views.information(self.store, repository, commit_id, request.flag("blobs"))
        )

    def _tree(self, request: Request, kind: str, id: str, revision: str, path: str) -> Response:
        repository = self._readable(request, kind, id)
        commit_id, commit = self._at(repository, revision)
        entries = views.tree(commit, path, request.flag("recursive"))
        if path and not entries:
            raise Refusal(404, f"{path} does not exist on {revision}", "EntryNotFound")
        return Response.of(entries, **{"X-Repo-Commit": commit_id})

    def _paths_info(self, request: Request, kind: str, id: str, revision: str) -> Response:
        _, commit = self._at(self._readable(request, kind, id), revision)
        everything = {one["path"]: one for one in views.tree(commit, "", recursive=True)}
        wanted = request.form().get("paths", [])
        return Response.of([everything[path] for path in wanted if path in everything])

    def _resolve(self, request: Request, kind: str, id: str, revision: str, path: str) -> Response:
        repository = self._readable(request, kind, id)
        commit_id, commit = self._at(repository, revision)
        headers = {"X-Repo-Commit": commit_id, "Accept-Ranges": "bytes"}
        entry = commit.files.get(path)
        if entry is None:
            refusal = Refusal(404, "Entry not found", "EntryNotFound").response()
            refusal.headers["X-Repo-Commit"] = commit_id
            return refusal
        headers["ETag"] = f'"{entry.etag}"'
        headers["Content-Type"] = "application/octet-stream"
        if entry.lfs:
            headers |= {"X-Linked-Etag": f'"{entry.etag}"', "X-Linked-Size": str(entry.size)}
        return views.part(self.store.get(entry.sha256), request.headers.get("range"), headers)

    # ---- writing

    def _create_branch(self, request: Request, kind: str, id: str, branch: str) -> Response:
        repository, _ = self._writable(request, kind, id)
        if branch in repository.branches:
            raise Refusal(409, f"Reference already exists: refs/heads/{branch}")
        repository.branches[branch] = self._at(repository, request.json().get("startingPoint", ""))[
            0
        ]
        return Response.of({})

    def _preupload(self, request: Request, kind: str, id: str, revision: str) -> Response:
        repository, _ = self._proposing(request, kind, id)
        _, commit = self._at(repository, revision)
        answers = []
        for file in request.json().get("files", []):
            path = file["path"]
            sample = base64.b64decode(file.get("sample", ""))
            large = self.store.is_large(commit, path, file["size"], sample)
            one = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
            if path in commit.files:
                one["oid"] = commit.files[path].etag
            answers.append(one)
        return Response.of({"files": answers})

    def _lfs_batch(self, request: Request, kind: str, id: str) -> Response:
        self._writable(request, kind, id)
        answers = []
        for wanted in request.json().get("objects", []):
            answers.append(wanted)
            if not self.store.has(wanted["oid"]):
                ticket = secrets.token_hex(8)
                self._tickets.add(ticket)
                place = f"{self.url}/_lfs/{ticket}"
                actions = {"upload": {"href": f"{place}/{wanted['oid']}"}}
                wanted["actions"] = {**actions, "verify": {"href": f"{place}/verify"}}
        return Response.of({"transfer": "basic", "objects": answers})

    def _lfs_upload(self, request: Request, ticket: str, oid: str) -> Response:
        if ticket not in self._tickets:
            raise Refusal(403, "this upload was not asked for")
        if hashlib.sha256(request.body).hexdigest() != oid:
            raise Refusal(400, "the content is not what its sha256 says")
        self.store.put(request.body)
        return Response(headers={"ETag": f'"{oid}"'})

    def _lfs_verify(self, request: Request, ticket: str) -> Response:
        oid = request.json().get("oid", "")
        if ticket not in self._tickets or not self.store.has(oid):
            raise Refusal(404, "the content has not arrived")
        self._tickets.discard(ticket)
        return Response.of({"message": "success"})

    def _commit(self, request: Request, kind: str, id: str, revision: str) -> Response:
        repository, account = self._proposing(request, kind, id)
        if revision not in repository.branches:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        lines = [json.loads(line) for line in request.body.splitlines() if line.strip()]
        if not lines or lines[0].get("key") != "header":
            raise Refusal(400, "a commit starts with its header")
        header, head = lines[0]["value"], repository.branches[revision]
        if not self._is_head(header.get("parentCommit"), head):
            raise Refusal(412, "A commit has happened since. Please refresh and try again.")
        files = dict(repository.commits[head].files)
        for line in lines[1:]:
            self._apply(files, line.get("key"), line.get("value", {}))
        title, message = header.get("summary", ""), header.get("description", "")
        commit = Commit(files, head, title, message, account.name, now())
        place = f"{self.url}/{'' if kind == 'model' else kind + 's/'}{id}"
        told = {"success": True, "commitOid": commit.id, "hookOutput": ""}
        if request.flag("create_pr"):
            repository.commits[commit.id] = commit
            about = {"title": title, "author": account.name, "status": "open"}
            repository.requests.append({"head": commit.id, **about})
            told["pullRequestUrl"] = f"{place}/discussions/{len(repository.requests)}"
        else:
            repository.add(commit, revision)
        return Response.of({**told, "commitUrl": f"{place}/commit/{commit.id}"})

    def _proposing(self, request: Request, kind: str, id: str) -> tuple[Repository, Account]:
        """Return who writes, or opens a pull request, for which a token to write is enough."""
        account = self._account(request)
        if request.flag("create_pr") and account is not None and account.write:
            return self._readable(request, kind, id), account
        return self._writable(request, kind, id)

    def _discussions(self, request: Request, kind: str, id: str) -> Response:
        repository = self._readable(request, kind, id)
        asked = request.query.get("status", [""])[0]
        found = [
            views.discussion(repository, number)
            for number, one in enumerate(repository.requests, 1)
            if asked in ("", "all", one["status"])
        ]
        return Response.of({"discussions": found, "count": len(found), "start": 0})

    def _leaderboard(self, request: Request, id: str) -> Response:
        dataset = self._readable(request, "dataset", id)
        if "eval.yaml" not in self._at(dataset, "")[1].files:
            raise Refusal(404, f"{id} is no benchmark")
        models = [one for one in self.store.repositories.values() if one.kind == "model"]
        visible = [one for one in models if not one.private]
        return Response.of(views.leaderboard(self.store, id, visible))

    @staticmethod
    def _is_head(parent: str | None, head: str) -> bool:
        return parent is None or (len(parent) >= 7 and head.startswith(parent))

    def _apply(self, files: dict[str, Entry], key: str, value: dict) -> None:
        path = value.get("path", "")
        if not path or path.startswith("/") or ".." in path.split("/"):
            raise Refusal(400, f"{path!r} cannot be a path of a file")
        if key == "file":
            try:
                files[path] = self.store.regular(base64.b64decode(value["content"], validate=True))
            except binascii.Error:
                raise Refusal(400, f"the content of {path} is not base64") from None
        elif key == "lfsFile":
            if not self.store.has(value["oid"]):
                raise Refusal(400, f"{path} points to a large file that was not uploaded")
            files[path] = self.store.large(value["oid"])
        elif key == "deletedFile":
            if files.pop(path, None) is None:
                raise Refusal(404, f"{path} does not exist", "EntryNotFound")
        else:
            raise Refusal(400, f"{key!r} is not an operation of a commit")
