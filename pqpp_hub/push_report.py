"""What a push did, or would do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PushReport:
    """What a push did, or would do.

    Attributes:
        repo_id: The repository.
        revision: The branch.
        url: Where the repository is on the Hub.
        new_repository: Whether the repository was made, or would be.
        new_branch: Whether the branch was made, or would be.
        added: Files that were not there.
        changed: Files whose content differs.
        removed: Files of an older push that this one does not have.
        unchanged: Files that are the same already.
        commit: The commit's id; None if there was nothing to commit, or nothing was written.
        dry_run: Whether nothing was written.
        not_compared: Why it could not be seen what is there; all files are `added` then.
    """

    repo_id: str
    revision: str
    url: str
    new_repository: bool
    new_branch: bool
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]
    commit: str | None
    dry_run: bool
    not_compared: str | None = None

    def lines(self) -> list[str]:
        """Return the report as lines to print, one a file.

        Example:
            >>> PushReport("a/b", "main", "", True, False, ("x",), (), (), (), None, True).lines()
            ['would make the repository a/b', 'would add x', 'dry run: nothing was written']
        """
        would = "would " if self.dry_run else ""
        new = [
            f"{would}{'make' if would else 'made'} the {what}"
            for what, made in (
                (f"repository {self.repo_id}", self.new_repository),
                (f"branch {self.revision}", self.new_branch),
            )
            if made
        ]
        verbs = {"added": "add", "changed": "change", "removed": "remove"}
        if self.not_compared:
            verbs["added"] = "push"
        files = [
            f"{would}{verb if would else done} {file}"
            for done, verb in verbs.items()
            for file in getattr(self, done)
        ]
        if self.dry_run:
            end = "dry run: nothing was written"
            if self.not_compared:
                end += f", nor compared with the Hub: {self.not_compared}"
        elif self.commit:
            end = f"commit {self.commit} at {self.url}"
        else:
            end = f"nothing to do: {self.repo_id} has these files already"
        return [*new, *files, *(f"unchanged {file}" for file in self.unchanged), end]
