"""The words of a case: a command line that would do, with some words odd, gone or added."""

import argparse
import dataclasses
import re
from functools import cache
from random import Random
from types import ModuleType

from metrics.module_cases import CASES

from fuzz.command_lines.damage import HUGE, ODD_WORDS
from fuzz.command_lines.files import Files

# What stands in braces is a method of `Words`, or one of its lists.
_LINES = """
predict {prompt} --predictors {quick}
predict {prompt} {prompt} {prompt} --predictors {predictor} --format {style} --targets {targets}
predict --file {captions} --predictors {quick} --output {output}
predict --file {table} --column {text} --predictors {predictor} --output {output}
predict --file {table} --predictors {quick} --format {style} --uncertainty
predict --dataset {data} --predictors {quick} --split {split} --format json
predict --dataset {dataset} --predictors {quick} --output {output}
predict --dataset pqpp --subset {subset} --data-dir {root} --split {split} --predictors {quick}
predict --predictors {quick}
predict --file - --predictors {quick} --output {output}
fit {table} --targets {score} --output {folder}
fit {table} --targets {score},{score} --column {text} --output {folder} --folds {count}
fit --dataset {dataset} --targets {score} --output {folder}
fit pqpp --subset sample --targets {targets} --output {folder} --overwrite
bench --dataset {table} --predictors {predictor},n_words --targets {score} --format {style}
bench --dataset {dataset} --split {split} --predictors {quick} --targets {score} --output {output}
bench --subset sample --predictors {quick},n_words --baseline n_words --table {paper}
bench --data-dir {root} --subset {subset} --predictors {quick} --split {split} --no-published
bench --dataset {table} --report {page} --projection none --predictors {quick},{predictor}
bench --subset sample --predictors n_words --table automatic-metrics --metrics {table}
bench --table generalisation --predictors {quick} --scores {scores} --data-dir {root}
bench --dataset richhf --models {rahf} --data-dir {richhf} --split test --limit 2
build {votes} --output {folder}
build {votes} --output {folder} --min-kappa -1 --min-reference-share 0 --best {count}
build --runs {runs} --relevance {relevance} --output {folder} --k {count}
build --judgments {votes} --runs {runs} --relevance {relevance} --output {folder}
build {votes} --output {folder} --fractions train=.5,test=.5
select {captions} --count {count} --embeddings {vectors} --output {plain}
select --file {table} --count {count} --embeddings {vectors} --format json
select {captions} --count {count} --encoder {encoder}
datasets list
datasets show {subset}
datasets export sample --output {folder}
datasets export {subset} --data-dir {root} --output {folder}
datasets push {exported} owner/name --dry-run
models list
models show {predictor}
models show {checkpoint}
models push {checkpoint} owner/name --dry-run
metrics list
metrics show {metric}
metrics compute {metric} {inputs} --format {style}
metrics compute {metric} {inputs}
metrics compute {metric} {inputs} --output {plain}
metrics compute {pairs} --predictions {scores} --references {scores} --missing {missing}
metrics compute {ranking} --predictions {run} --references {qrels} --missing {missing} --format json
metrics push {metric} owner --dry-run
collection build {captions} --predictor {ensemble} --output {folder}
collection build {captions} --column {text} --model {encoder} --layers {count} --output {folder}
collection attach {collection} --predictor {ensemble} --output {folder}
feedback {images} --model {rahf} --output {page} --json {json} --overlays {folder}
feedback {images} --model {rahf} --output {page} --sort-by alignment --batch-size {count}
autoload status
train_bert --config {recipe} --model {encoder} --dataset pqpp --subset sample --output {folder}
train_bert --config {recipe}
train_clip --config {recipe} --model {clip} --subset pqpp-v1.0 --data_dir {root}
train_correlation_cnn --config {recipe} --model {clip} --data_dir {root} --output_dir {folder}
train_rahf --config {recipe} --data_dir {richhf} --model {rahf} --output_dir {folder}
train_rahf_baselines --config {recipe} --data_dir {richhf} --output_dir {folder}
train_static --config {recipe} --model {encoder} --captions {captions} --parti {captions}
train_text_ensemble --config {recipe} --model {encoder} --captions {captions} --output_dir {folder}
finetune_t2i --config {recipe} --model {encoder} --image_dir {images} --output_dir {folder}
--version
--help
"""
_SLOW = """
demo --output {folder}
models export {bert} --onnx --output {folder}
"""
TRAINERS = ("train_bert", "train_clip", "train_correlation_cnn", "train_rahf", "train_static")
TRAINERS += ("train_rahf_baselines", "train_text_ensemble", "finetune_t2i", "train_lexical")
_NETWORKS = re.compile(
    r"train_|finetune_|{(predictor|checkpoint|rahf|encoder|ensemble|collection)}"
)
_ALL = _LINES.strip().splitlines()
LINES = {
    "light": [line for line in _ALL if not _NETWORKS.search(line)],
    "torch": [line for line in _ALL if _NETWORKS.search(line)],
    "slow": _SLOW.strip().splitlines(),
}
"""Command lines: those that need no torch, those that do, and those that take long."""
_LISTS = {
    "quick": ("n_words", "n_words", "static", "ridge"),
    "score": ("mean_hbpp", "mean_p10", "mean_rating", "x", "y"),
    "target": ("mean_hbpp", "glide_hbpp", "mean_p10", "clip_rr", "alignment", "flux_hbpp"),
    "targets": ("mean_hbpp", "mean_hbpp,mean_p10", "mean_rr", "all", "alignment"),
    "style": ("table", "markdown", "csv", "json", "jsonl", "parquet", "latex"),
    "text": ("prompt", "caption", "prompt_id", "nowhere"),
    "split": ("train", "test", "validation", "dev"),
    "count": ("1", "2", "3", "5", "10", "100"),
    "paper": ("main", "cross-model", "cross-dataset", "cross-task", "by-source"),
    "missing": ("error", "zero", "drop"),
    "subset": ("pqpp", "pqpp-v1.0", "sample", "conqa", "gimbrr", "vistar", "richhf", "genai"),
    "pairs": ("pearson_qpp", "kendall_qpp", "smare", "cc", "pairwise_accuracy", "qpp_report"),
    "ranking": ("ndcg", "average_precision", "reciprocal_rank", "precision_at_k", "r_precision"),
}
_COPIES = {
    **{name: f"models/{name}" for name in ("bert", "rahf", "encoder", "collection")},
    **{"ensemble": "models/text_ensemble", "clip": "models/clip_generation"},
    **{"root": "data", "richhf": "data/richhf", "exported": "exported"},
}
_OUTPUTS = {
    "output": (".csv", ".json", ".jsonl", ".parquet", ".md", ".tex", ".txt", "", ".x", ".csv"),
    "plain": (".txt", "", ".json", ".csv"),
    "page": (".html", ".html", ".htm", ".txt"),
    "json": (".json", ".json", ""),
    "folder": ("_made",),
}


def line_of(case: int) -> tuple[str, list[str]]:
    """Return which kind of line a case has, and the line."""
    random = Random(f"line {case}")
    kind = random.choices(list(LINES), (880, 115, 5))[0]
    return kind, random.choice(LINES[kind]).split()


class Words:
    """Makes the command line of a case, and the files that it names.

    Args:
        line: What is filled in.
        random: Decides how.
        files: Makes the files.
        trainers: The training scripts by name.
    """

    def __init__(
        self, line: list[str], random: Random, files: Files, trainers: dict[str, ModuleType]
    ) -> None:
        self.line = line
        self.random, self.files, self.trainers = random, files, trainers
        self.outputs: list[str] = []

    def all(self) -> list[str]:
        """Return the words."""
        words = []
        for part in self.line:
            if "{" not in part:
                words.append(part)
            elif part == "{inputs}":
                words += self._inputs(words[-1])
            else:
                words.append(self._filled(part))
        while self.files.is_hostile(0.25):
            words += self._option()
        if self.files.is_hostile(0.1):
            words.pop(self.random.randrange(int(words[0] in TRAINERS), len(words)))
        # What a shell can't hand over, no command can be given.
        return [word.replace("\0", "") for word in words]

    def _filled(self, part: str) -> str:
        if self.files.is_hostile(0.12):
            return self.random.choice(ODD_WORDS)
        before, _, rest = part.partition("{")
        while rest:
            kind, _, behind = rest.partition("}")
            between, _, rest = behind.partition("{")
            before += self.of(kind) + between
        return before

    def of(self, kind: str) -> str:
        """Return a word of a kind."""
        files, choice = self.files, self.random.choice
        if kind in _LISTS:
            return choice(_LISTS[kind]) if kind != "quick" else self._known(choice(_LISTS[kind]))
        if kind in _COPIES:
            return files.copy(_COPIES[kind])
        if kind in _OUTPUTS:
            return self._output(choice(_OUTPUTS[kind]))
        if kind == "prompt":
            text = files.text()
            return text.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
        if kind in ("predictor", "checkpoint"):
            names = ("bert", "clip_generation", "correlation_cnn", "text_ensemble", "ridge", "rahf")
            return files.copy(f"models/{choice(names)}")
        if kind == "data":
            return choice((files.table, files.dataset))()
        if kind in ("run", "qrels"):
            return files.trec(f".{kind}")
        if kind == "metric":
            return choice(list(CASES))
        if kind == "recipe":
            return files.recipe(self._fields())
        return getattr(files, kind)()

    def _known(self, name: str) -> str:
        return self.files.copy("models/ridge") if name == "ridge" else name

    def _output(self, suffix: str) -> str:
        """Name an output: mostly new; hostile where something is there already."""
        path = self.files.name(suffix)
        if self.files.is_hostile(0.4):
            way = self.random.randrange(7)
            if way == 0:
                path.write_bytes(b"of the user\n")
            elif way == 1:
                path.mkdir()
                (path / "of the user").write_bytes(b"mine\n")
            elif way == 2:
                path.symlink_to("of_the_user")
                path.with_name("of_the_user").write_bytes(b"mine\n")
            elif way == 3:
                path.symlink_to(path.name)
            elif way == 4:
                path = path / "deep" / "er"
            elif way == 5:
                there = sorted(p.name for p in self.files.folder.iterdir())
                return self.random.choice(there) if there else path.name
            else:
                path.with_name("a file").write_bytes(b"mine\n")
                path = path.with_name("a file") / "x"
        word = str(path.relative_to(self.files.folder))
        self.outputs.append(word)
        return word

    def _inputs(self, metric: str) -> list[str]:
        """Name the inputs of a metric, from files of its example or of odd values."""
        case = CASES.get(metric) or CASES["cc"]
        words = []
        for name, cells in case.inputs.items():
            cells = [c if not self.files.is_hostile(0.1) else self.files.number() for c in cells]
            if self.files.is_hostile(0.1):
                cells = cells[: self.random.randrange(len(cells) + 1)]
            suffix = self.random.choice((".json", ".jsonl", ".jsonl", ".parquet", ".csv"))
            file = self.files.written({name: cells}, suffix)
            plain = name in ("predictions", "references")
            words += [f"--{name}", file] if plain else ["--input", f"{name}={file}"]
        for name, value in case.options.items():
            words += ["--option", f"{name}={value}"]
        return words

    def _option(self) -> list[str]:
        """Return an option of the command, with a value that may or may not do."""
        if self.line[0] in TRAINERS:
            names = [f.name for f in dataclasses.fields(recipe_of(self.trainers[self.line[0]]))]
            value = self.random.choice((*ODD_WORDS, self.files.table(), HUGE, "true", "bf16"))
            return [f"--{self.random.choice(names or ['seed'])}", value]
        actions = [a for a in parser_of(tuple(self.line[:2]))._actions if a.option_strings]
        action = self.random.choice(actions)
        name = self.random.choice(action.option_strings)
        if action.nargs == 0:
            return [name]
        value = self._value(action)
        return (
            [f"{name}={value}"]
            if name.startswith("--") and self.random.random() < 0.5
            else [name, value]
        )

    def _value(self, action: argparse.Action) -> str:
        choice = self.random.choice
        if self.random.random() < 0.4:
            return choice(ODD_WORDS)
        if action.choices:
            return str(choice(list(action.choices)))
        if action.type in (int, float):
            return choice(("1", "2", "5", "0", "-1", "0.5", "1e-9", "100", "nan"))
        if action.dest in ("output", "report", "json", "overlays"):
            return self._output(choice(("", ".csv", ".html", "_made")))
        kinds = ("table", "dataset", "root", "recipe", "vectors", "scores", "checkpoint", "score")
        return self.of(choice((*kinds, "target", "split", "subset", "text", "metric", "folder")))

    def _fields(self) -> dict:
        """Return the fields of a recipe that ends soon."""
        name = self.line[0]
        small = {"epochs": 1, "batch_size": 4, "max_train_rows": 8, "early_stopping_patience": 0}
        small |= {"layers": [0, 1, 2], "made_up": 5, "collection_captions": 20, "seed": 3}
        known = {f.name for f in dataclasses.fields(recipe_of(self.trainers.get(name)))}
        fields = {key: value for key, value in small.items() if key in known}
        groups = ("fit", "teacher", "student", "tuned", "tuned_on_sources")
        quick = {"epochs": 1, "networks": 1, "hidden_size": 4, "kernel_layers": [2, 1]}
        for group in groups:
            if group in known and self.random.random() < 0.7:
                fields[group] = {"epochs": 1} | (quick if group in ("fit", "teacher") else {})
                if self.files.is_hostile(0.3):
                    fields[group] = self.random.choice(
                        ([], 1, "x", None, {"x": 1}, {"epochs": -1}, [[1]])
                    )
        if self.files.is_hostile(0.3):
            fields[self.random.choice(sorted(known) or ["seed"])] = self.random.choice(
                (
                    float("inf"),
                    float("nan"),
                    -1,
                    0,
                    [],
                    {},
                    [[[1]]],
                    "x",
                    True,
                    2**70,
                    10**400,
                    "",
                    0.5,
                )
            )
        return fields


def recipe_of(module: ModuleType | None) -> type:
    """Return the recipe that a training script declares; an empty one if it has none."""
    for value in vars(module).values() if module else ():
        is_own = isinstance(value, type) and value.__module__ == module.__name__
        if is_own and value.__name__.endswith("Recipe"):
            return value
    return dataclasses.make_dataclass("Empty", [])


@cache
def parser_of(words: tuple[str, ...]) -> argparse.ArgumentParser:
    """Return the parser of a command, or of its action."""
    from pqpp_cli.main import build_parser

    parser = build_parser()
    for word in words:
        groups = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if groups and word in groups[0].choices:
            parser = groups[0].choices[word]
    return parser
