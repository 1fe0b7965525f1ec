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
from .messages import REPOSITORY_ERROR, Account, Refusal, Request, Response, make_expired_error
from .store import Commit, Entry, Repository, Store, get_time

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
            ("GET", _API, self._get_info),
            ("GET", _API + r"/revision/(?P<revision>[^/]+)", self._get_info),
            ("GET", _API + r"/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?", self._get_tree),
            ("POST", _API + r"/paths-info/(?P<revision>[^/]+)", self._get_paths_info),
            ("POST", _API + r"/branch/(?P<branch>[^/]+)", self._create_branch),
            ("POST", _API + r"/preupload/(?P<revision>[^/]+)", self._choose_modes),
            ("POST", _API + r"/commit/(?P<revision>[^/]+)", self._add_commit),
            ("GET", _API + r"/discussions", self._list_discussions),
            ("GET", r"/api/datasets/(?P<id>[^/]+/[^/]+)/leaderboard", self._list_results),
            ("POST", _FILES + r"\.git/info/lfs/objects/batch", self._prepare_upload),
            ("PUT", r"/_lfs/(?P<ticket>[^/]+)/(?P<oid>[0-9a-f]{64})", self._accept_upload),
            ("POST", r"/_lfs/(?P<ticket>[^/]+)/verify", self._verify_upload),
            ("GET", _FILES + r"/resolve/(?P<revision>[^/]+)/(?P<path>.+)", self._resolve),
        ]
        self._routes = [(method, re.compile(path), handler) for method, path, handler in routes]

    def answer(self, request: Request) -> Response:
        """Answer a request; a refusal is an answer too."""
        method = "GET" if request.method == "HEAD" else request.method
        try:
            for verb, pattern, handler in self._routes:
                match = pattern.fullmatch(request.path) if method == verb else None
                if match:
                    args = {k: urllib.parse.unquote(v or "") for k, v in match.groupdict().items()}
                    with self.store.lock:
                        return handler(request, **args)
            raise Refusal(404, f"there is no {request.method} {request.path}")
        except Refusal as refusal:
            return refusal.to_response()

    # ---- who may do what

    def _get_account(self, request: Request) -> Account | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return None
        account = self.accounts.get(token) if scheme == "Bearer" else None
        if account is None:
            raise Refusal(401, "Invalid credentials in Authorization header")
        if account.expired:
            raise make_expired_error()
        return account

    def _get_readable(self, request: Request, kind: str, name: str) -> Repository:
        account = self._get_account(request)
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

    def _get_writable(self, request: Request, kind: str, name: str) -> tuple[Repository, Account]:
        repository = self._get_readable(request, kind, name)
        return repository, self._get_writer(request, name.split("/")[0])

    def _get_writer(self, request: Request, namespace: str) -> Account:
        account = self._get_account(request)
        if account is None:
            raise Refusal(401, "Invalid username or password.")
        if not account.write:
            raise Refusal(403, "You must use a write token for this action")
        if namespace not in account.namespaces:
            raise Refusal(
                403, f'You don\'t have the rights to write under the namespace "{namespace}"'
            )
        return account

    def _get_commit(self, repository: Repository, revision: str) -> tuple[str, Commit]:
        commit_id = repository.resolve(revision or "main")
        if commit_id is None:
            raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return commit_id, repository.commits[commit_id]

    # ---- accounts and repositories

    def _create(self, request: Request) -> Response:
        body, account = request.json(), self._get_account(request)
        owner = body.get("organization") or (account.name if account else "")
        kind, name = body.get("type") or "model", f"{owner}/{body.get('name', '')}"
        if kind not in KINDS or not re.fullmatch(r"[\w.-]{1,96}/[\w.-]{1,96}", name):
            raise Refusal(400, f"cannot create a {kind} called {name}")
        account = self._get_writer(request, name.split("/")[0])
        url = f"{self.url}/{'' if kind == 'model' else kind + 's/'}{name}"
        if (kind, name) in self.store.repositories:
            error = f"You already created this {kind} repo: {name}"
            return Response.json({"error": error, "url": url}, 409, **{"X-Error-Message": error})
        private = body.get("visibility") == "private" or bool(body.get("private"))
        self.store.create(kind, name, private, account.name, body.get("sdk"))
        return Response.json({"url": url, "name": name, "id": name})

    def _validate_yaml(self, request: Request) -> Response:
        _, error = views.read_metadata(request.json().get("content", ""))
        errors = [{"message": error}] if error else []
        return Response.json({"errors": errors, "warnings": []}, 400 if error else 200)

    # ---- reading

    def _get_info(self, request: Request, kind: str, id: str, revision: str = "") -> Response:
        repository = self._get_readable(request, kind, id)
        commit_id, _ = self._get_commit(repository, revision)
        return Response.json(
            views.describe(self.store, repository, commit_id, request.has_flag("blobs"))
        )

    def _get_tree(self, request: Request, kind: str, id: str, revision: str, path: str) -> Response:
        repository = self._get_readable(request, kind, id)
        commit_id, commit = self._get_commit(repository, revision)
        entries = views.list_tree(commit, path, request.has_flag("recursive"))
        if path and not entries:
            raise Refusal(404, f"{path} does not exist on {revision}", "EntryNotFound")
        return Response.json(entries, **{"X-Repo-Commit": commit_id})

    def _get_paths_info(self, request: Request, kind: str, id: str, revision: str) -> Response:
        _, commit = self._get_commit(self._get_readable(request, kind, id), revision)
        entries = {entry["path"]: entry for entry in views.list_tree(commit, "", recursive=True)}
        paths = request.form().get("paths", [])
        return Response.json([entries[path] for path in paths if path in entries])

    def _resolve(self, request: Request, kind: str, id: str, revision: str, path: str) -> Response:
        repository = self._get_readable(request, kind, id)
        commit_id, commit = self._get_commit(repository, revision)
        headers = {"X-Repo-Commit": commit_id, "Accept-Ranges": "bytes"}
        entry = commit.files.get(path)
        if entry is None:
            refusal = Refusal(404, "Entry not found", "EntryNotFound").to_response()
            refusal.headers["X-Repo-Commit"] = commit_id
            return refusal
        headers["ETag"] = f'"{entry.etag}"'
        headers["Content-Type"] = "application/octet-stream"
        if entry.lfs:
            headers |= {"X-Linked-Etag": f'"{entry.etag}"', "X-Linked-Size": str(entry.size)}
        return views.get_range(self.store.get(entry.sha256), request.headers.get("range"), headers)

    # ---- writing

    def _create_branch(self, request: Request, kind: str, id: str, branch: str) -> Response:
        repository, _ = self._get_writable(request, kind, id)
        if branch in repository.branches:
            raise Refusal(409, f"Reference already exists: refs/heads/{branch}")
        commit_id, _ = self._get_commit(repository, request.json().get("startingPoint", ""))
        repository.branches[branch] = commit_id
        return Response.json({})

    def _choose_modes(self, request: Request, kind: str, id: str, revision: str) -> Response:
        repository, _ = self._get_proposable(request, kind, id)
        _, commit = self._get_commit(repository, revision)
        answers = []
        for file in request.json().get("files", []):
            path = file["path"]
            sample = base64.b64decode(file.get("sample", ""))
            large = self.store.is_large(commit, path, file["size"], sample)
            row = {"path": path, "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
            if path in commit.files:
                row["oid"] = commit.files[path].etag
            answers.append(row)
        return Response.json({"files": answers})

    def _prepare_upload(self, request: Request, kind: str, id: str) -> Response:
        self._get_writable(request, kind, id)
        files = []
        for file in request.json().get("objects", []):
            files.append(file)
            if not self.store.has(file["oid"]):
                ticket = secrets.token_hex(8)
                self._tickets.add(ticket)
                url = f"{self.url}/_lfs/{ticket}"
                actions = {"upload": {"href": f"{url}/{file['oid']}"}}
                file["actions"] = {**actions, "verify": {"href": f"{url}/verify"}}
        return Response.json({"transfer": "basic", "objects": files})

    def _accept_upload(self, request: Request, ticket: str, oid: str) -> Response:
        if ticket not in self._tickets:
            raise Refusal(403, "this upload was not asked for")
        if hashlib.sha256(request.body).hexdigest() != oid:
            raise Refusal(400, "the content is not what its sha256 says")
        self.store.put(request.body)
        return Response(headers={"ETag": f'"{oid}"'})

    def _verify_upload(self, request: Request, ticket: str) -> Response:
        oid = request.json().get("oid", "")
        if ticket not in self._tickets or not self.store.has(oid):
            raise Refusal(404, "the content has not arrived")
        self._tickets.discard(ticket)
        return Response.json({"message": "success"})

    def _add_commit(self, request: Request, kind: str, id: str, revision: str) -> Response:
        repository, account = self._get_proposable(request, kind, id)
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
        commit = Commit(files, head, title, message, account.name, get_time())
        url = f"{self.url}/{'' if kind == 'model' else kind + 's/'}{id}"
        answer = {"success": True, "commitOid": commit.id, "hookOutput": ""}
        if request.has_flag("create_pr"):
            repository.commits[commit.id] = commit
            details = {"title": title, "author": account.name, "status": "open"}
            repository.requests.append({"head": commit.id, **details})
            answer["pullRequestUrl"] = f"{url}/discussions/{len(repository.requests)}"
        else:
            repository.add(commit, revision)
        return Response.json({**answer, "commitUrl": f"{url}/commit/{commit.id}"})

    def _get_proposable(self, request: Request, kind: str, id: str) -> tuple[Repository, Account]:
        """Return who writes, or opens a pull request, for which a token to write is enough."""
        account = self._get_account(request)
        if request.has_flag("create_pr") and account is not None and account.write:
            return self._get_readable(request, kind, id), account
        return self._get_writable(request, kind, id)

    def _list_discussions(self, request: Request, kind: str, id: str) -> Response:
        repository = self._get_readable(request, kind, id)
        status = request.query.get("status", [""])[0]
        rows = [
            views.describe_discussion(repository, number)
            for number, discussion in enumerate(repository.requests, 1)
            if status in ("", "all", discussion["status"])
        ]
        return Response.json({"discussions": rows, "count": len(rows), "start": 0})

    def _list_results(self, request: Request, id: str) -> Response:
        dataset = self._get_readable(request, "dataset", id)
        if "eval.yaml" not in self._get_commit(dataset, "")[1].files:
            raise Refusal(404, f"{id} is no benchmark")
        models = [repo for repo in self.store.repositories.values() if repo.kind == "model"]
        public = [repo for repo in models if not repo.private]
        return Response.json(views.list_results(self.store, id, public))

    @staticmethod
    def _is_head(parent: str | None, head: str) -> bool:
        return parent is None or (len(parent) >= 7 and head.startswith(parent))

    def _apply(self, files: dict[str, Entry], key: str, value: dict) -> None:
        path = value.get("path", "")
        if not path or path.startswith("/") or ".." in path.split("/"):
            raise Refusal(400, f"{path!r} cannot be a path of a file")
        if key == "file":
            try:
                files[path] = self.store.add_file(base64.b64decode(value["content"], validate=True))
            except binascii.Error:
                raise Refusal(400, f"the content of {path} is not base64") from None
        elif key == "lfsFile":
            if not self.store.has(value["oid"]):
                raise Refusal(400, f"{path} points to a large file that was not uploaded")
            files[path] = self.store.add_large(value["oid"])
        elif key == "deletedFile":
            if files.pop(path, None) is None:
                raise Refusal(404, f"{path} does not exist", "EntryNotFound")
        else:
            raise Refusal(400, f"{key!r} is not an operation of a commit")
