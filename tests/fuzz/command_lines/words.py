"""The words of a case: a command and its options, drawn from their declarations, some of them odd.

Every command comes equally often. Its needed options come, those of one of its `_WAYS`, and others
by chance; the value of each by its declaration or by `_VALUES`. An option that neither tells how to
fill is an error, so that a new one is told of here.
"""

import dataclasses
import json
import re
import socket
from functools import cache
from random import Random

from metrics.module_cases import CASES

from fuzz.command_lines.damage import HUGE, ODD_WORDS
from fuzz.command_lines.files import PLAIN, SHAPES, Files
from pqpp_cli.commands import commands
from pqpp_cli.train import trainer_of
from pqpp_files.options.flags import _in_order
from pqpp_files.options.option import NEEDED, fields_of

TRAINERS = {
    "train bert": "model=<encoder> dataset=pqpp subset=sample",
    "train clip": "model=<clip_generation> dataset=pqpp subset=pqpp-v1.0 data_dir=<root>",
    "train correlation_cnn": "model=<clip_generation> data_dir=<root>",
    "train rahf": "data_dir=<richhf> model=<rahf>",
    "train static": "model=<encoder> data_dir=<root> captions=<captions> parti=<captions>",
    "train text_ensemble": "model=<encoder> data_dir=<root> captions=<captions>",
}
"""The trainers, each with what it cannot do without."""
SERVERS = ("annotate serve", "annotate demo", "demo --serve")
"""Those that end when they are told to."""
_WAYS = {
    "predict": "prompts|file|file output|dataset|file=<sharded> shard_size output|"
    "dataset=pqpp subset data_dir|prompts neighbours predictor=<collected>",
    "bench": "subset=sample predictors=<quick>|dataset=<table> predictors targets=<score>|"
    "data_dir=<root> predictors=<quick>|dataset=<dataset> predictors=<quick> targets=<score>|"
    "table=generalisation predictors=<quick> scores data_dir=<root>|"
    "table=automatic-metrics subset=sample predictors=<quick> metrics",
    "bench routing": "subset=sample predictors=<quick>|data_dir=<root> predictors=<quick>",
    "bench richhf": "models data_dir=<richhf> limit=2|models data_dir=<root> limit=1",
    "bench conqa": "data_dir=<root>",
    "bench gimbrr": "data_dir=<root>",
    "bench vistar": "|people",
    "fit": "dataset=<table> targets|dataset=<table> targets folds=2|"
    "dataset=pqpp subset=sample targets=<target> overwrite",
    "build": "judgments min_kappa=-1 min_reference_share=0|judgments|runs relevance|preferences|"
    "rankings|judgments runs relevance",
    "annotate init": "file image_dir|file image_dir|dataset|file add study=<study>/study.yaml",
    "annotate import": "",
    "assess check gimbrr": "scenes=8 clip detector|photos clip detector",
    "assess check rahf": "scenes=8 model|photos model",
    "assess check vistar": "scenes=8 only=text_rendering|photos only",
    "assess check vqa": "scenes=8 chat_model=<chat_model>|photos chat_model chat_url",
    "assess gallery": "",
    "assess gimbrr": "image_dir=<pictures> file=<asked> clip detector|evidence|"
    "image_dir=<pictures> file=<asked> clip detector gallery|evidence people",
    "assess rahf": "image_dir model|image_dir model overlays|image_dir model gallery|evidence|"
    "image_dir=<pictures> file=<asked> model shard_size output=<made>",
    "assess vqa": "image_dir chat_url chat_model most_calls|image_dir chat_model=<chat_model>|"
    "evidence|image_dir chat_model chat_url replace",
    "assess vistar": "image_dir only|evidence|image_dir only card|"
    "image_dir only=hwpq chat_url chat_model most_calls questionnaires",
    "generate": "image_dir=<pictures> pattern model_name|images_url images_model model_name|"
    "command model_name|model num_inference_steps=1 height=16 width=16",
    "search add": "index=<search>/index model=<search>/clip source=<more>|"
    "index=<search>/vectors source=<more_vectors> ids",
    "search build": "model=<clip> source=<images>|source=<vectors>|source=<vectors> ids",
    "search merge": "index=<search>/vectors other=<search>/other|",
    "search labels": "encoder|words|",
    "search embed": "model=<clip> file=<sharded>|model=<clip> image_dir file=<sharded>",
    "search retrieve": "model=<search>/clip|index=<search>/vectors queries|"
    "model=<search>/clip file=<sharded> shard_size output=<made>",
    "route fit": "budget=3|share|floor|share=.5",
    "route predict": "prompts|file",
    "rewrite": "prompts candidates|file candidates target=mean_hbpp|prompts chat_url chat_model|"
    "prompts synonyms|prompts candidates study model_name|prompts chat_model=<chat_model>",
    "datasets export": "subset=sample|subset=conqa data_dir=<root>|subset data_dir",
    "datasets push": "dry_run|",
    "datasets select": "file=<many> embeddings|file encoder|dataset embeddings",
    "datasets show": "|data_dir",
    "metrics compute": "inputs|inputs|inputs output|predictions references metric=<pairs>|"
    "metric=<ranking> predictions=<run> references=<qrels>|metric=ndcg@10 runs qrels|"
    "metric=map runs qrels by_query",
    "metrics push": "dry_run|",
    "models export": "predictor=<bert> onnx|onnx|",
    "models push": "predictor repository dry_run|predictor repository|space dry_run",
    "models submit": "",
    "leaderboard": "source|source verify dataset=<exported>|source report",
    "models collection build": "predictor=<ensemble>|model layers",
    "demo": "|serve port open=0|output open=0|data_dir open=0",
    "annotate demo": "browser=0 port",
    "annotate serve": "port",
}
"""Options of a command that do together, with a value where it matters."""
_VALUES = dict(
    part.split(": ", 1)
    for part in re.split(
        r";\s+",
        r"""add model: <search>/clip;  address: http://127.0.0.1:8000|https://a.example/|x;
annotations_creators: expert-generated|crowdsourced|x;  annotator_columns: x|y;
base: alignment|mean_hbpp|x;
answers: kept|<images>;  benchmark: owner/name|x;  listed_as: owner/name|x;
leaderboard source: <results>|owner/name;  leaderboard dataset: <exported>|<table>;
leaderboard models: owner/name;  models submit predictor: owner/name|x;
attach predictor: <ensemble>;  baseline: n_words|static;
init kind: relevance|match|order|preference|rating|rich|ranking|x;
serve url: https://a.example/study|http://127.0.0.1:8000|x;  serve root_path: /study|x;
branch: main|x;  build images: <table>;  build labels: <labels>;
build model: <encoder>|<clip>;  build name: My benchmark|x/y|é;  build prompts: <table>;
pseudonym_key: <captions>;  scheduler: DDIMScheduler|x;  lora: <clip>|x;  entailment: <encoder>|x;
dropped: text_encoder_2|x;  negative_prompt: blurry|é;  ray_address: x;  pipeline: <captions>;
build relevance: <relevance>;  build runs: <runs>|one=<runs>;  candidates: <candidates>;
caption_column: caption|prompt;  captions: <captions>;
certificate: <password>;  chat_model: tiny|<chat_model>;  chat_url: <chat>;  citation: <bib>;
clip: <clip>;  collection: <collection>;  column: prompt|prompt|caption|prompt_id|nowhere;
columns: prompt=caption|label=x|source=source|x=y;
command: cp <pictures>/0.png {output}|false|cp '|no-such-program {prompt};  cost: 1|4;
data_dir: <root>|<root>|<richhf>;  dataset: <dataset>|<table>|sample|pqpp;
datasets show dataset: sample|pqpp|conqa|vistar|x;  detector: <detector>;  device: cpu|cuda|x;
dtype: float32|float16|x;  embeddings: <vectors>;  encoder: <clip>|<encoder>;
encoding: utf-8|latin-1|utf-16|x;  evidence: <gimbrr_verdicts>|<rahf_verdicts>|<vistar_verdicts>;
factory: Flat|HNSW32|IVF2,Flat|x;  file: <captions>|<table>|<table>|-;
fit calibration: <many>|<many>|<captions>;  fit encoder: static|<encoder>;  fit targets: <score>;
fitted_on_train: <ensemble>;  fitted_to: a|drawbench;  flawless_dir: <pictures>;
folder: <exported>;  format: table|csv|json|jsonl|parquet|latex;
fractions: train=.5|test=.5|train=1|a=2;
from_format: label-studio|argilla|imagereward|pickapic|hpd|mturk|x;
gallery file: <rahf_verdicts>|<gimbrr_verdicts>|<vistar_verdicts>;
grid_learning_rates: .001,.01|.001;  grid_weight_decays: 0,.1|0;  host: 127.0.0.1|localhost;
hub_model_id: owner/name;  id: prompt|prompt_id|x;  ids: <ids>;  image_column: image|prompt;
image_dir: <images>|<pictures>;  images_model: m;  images_url: <chat>;
import file: <study>/answers.csv;  import name: ann|é;  index: <search>/index;
init file: <study>/prompts.csv;  init image_dir: <study>/images;
init study: new.yaml|new.yaml|<study>/study.yaml;  input: predictions=<scores>|x=<scores>;
invite name: ann|é;  judgments: <votes>;  key: <password>;  label: Ann|é;
labels captions: <captioned>;  language: en|de|x;  layers: 0|1|2|5;  leave_one_out: a|x;
lexicon: <captions>;
license: cc-by-4.0|mit|x;  load_option: relevance_rule=majority|pickapic_dir=<images>|x=1;
metric: <metric>;  metrics: <metric>;  missing_labels: -1|x|2;  model: <pipe>|<clip>|<encoder>;
model_columns: x|y;  model_name: sdxl|a b|x/y;  model_pattern: (.*)_\d|[|(\w+)-|(a+)+$;
models: <rahf>;  models export predictor: <checkpoint>|<bert>|<ensemble>|n_words;
models push predictor: <checkpoint>|<rahf>;  models show predictor: <checkpoint>|n_words|static;
names: a|b;  offload: model|sequential|x;  only: text_rendering|hwpq|light|geometry|x;
option: ties=tau_b|k=3|x=[1;  other: <search>/vectors|<search>/index;  parti: <captions>;
password_file: <password>;  pattern: {prompt_id}.png|{prompt_id}|../*.png|{x;  people: <people>;
pickapic_dir: <images>;  port: <port>;  predictions: <scores>;  predictor: <quick>|<predictor>;
photos: <images>|<pictures>;  scenes: 8|8|0|x;  checked: <table>|<captions>;
question: Is it {}?|Is it?;
predictors: <quick>|<predictor>;  predictors metric: x=sdxl_hbpp|sdxl_hpsv2=sdxl_hbpp|x=x;
predictors metrics: <table>;  preferences: <preferences>;  prices: 1|2;  prompts: <prompt>;
rankings: <rankings>;
qrels: <qrels>;  queries: <vectors>;  questionnaires: <pictures>;  rahf evidence: <rahf_verdicts>;
rahf model: <rahf>;  reference_model: reference|one;  references: <scores>;  report_to: none|x;
repository: owner/name|owner|a/b/c;  retrieve model: <search>/clip;  retrieve name: mine|x y;
revision: main|v1;  role: annotator|control|owner|x;  roles: <labels>;
route fit targets: glide_hbpp,sdxl_hbpp;  router: <router>;
runs: <run>|one=<run>;  scale: pqpp|yes-no|likert5|0-10|1..7|7..1;  scores: <scores>;
set: control.count=2|deadline=x|languages=[en]|x.y=1|database=x;  shard: 0/2|1/2|2/2;
sort_by: plausibility|alignment|x;  source: <images>|<vectors>;  sources_dir: <pictures>;
space: owner/name;  split: train|test|validation|dev;  spread_seeds: 1,2|1;
study: <study>/study.yaml;  subset: pqpp|pqpp-v1.0|sample|conqa|gimbrr|vistar|richhf|genai;
target: <target>;  targets: <target>;  text_model: <encoder>;  text_counts: case|punctuation|x;
text_match: contained|whole|x;  text_script: usual|x;  title: Does it match?|é;
train_only: <pictures>;  train_split: train|test;  utility: 1|3;
validation_split: validation|train;  variant: fp16|x;
verdicts: <scored>|<scored>|<vistar_verdicts>;  vision_model: <clip>;
vistar evidence: <vistar_verdicts>;  vistar model: depth=<sight>/depth|pose=<sight>/pose|x=<clip>;
vistar people: <choices>;  writer: x|<chat_model>""",
    )
)
"""What stands in an option, by its name, or by the last words of its command and its name."""
_LISTS = {
    "quick": "n_words|n_words|static|ridge",
    "score": "mean_hbpp|mean_p10|mean_rating|x|y",
    "target": "mean_hbpp|glide_hbpp|mean_p10|clip_rr|alignment|mean_hbpp|flux_hbpp",
    "pairs": "pearson_qpp|kendall_qpp|smare|cc|pairwise_accuracy|qpp_report",
    "ranking": "ndcg|average_precision|reciprocal_rank|precision_at_k|r_precision",
    "metric": "|".join(CASES),
    "collected": "<ensemble>|static",
    "made": "made|made_too",
}
_NETWORKS = ("bert", "clip_generation", "correlation_cnn", "text_ensemble", "ridge")
_COPIES = {
    **{
        n: f"models/{n}"
        for n in (*_NETWORKS, "rahf", "encoder", "collection", "clip", "pipe", "detector")
    },
    **{"ensemble": "models/text_ensemble", "chat_model": "models/chat", "sight": "models/sight"},
    **{"root": "data", "richhf": "data/richhf", "exported": "exported", "router": "router"},
    **{"more": "more", "more_vectors": "more.npy", "results": "results"},
    **{"study": "study", "search": "search", "pictures": "images", "asked": "asked.csv"},
    **{f"{name}_verdicts": f"{name}.parquet" for name in ("rahf", "gimbrr", "vistar")},
}
_ENDINGS = (".csv", ".json", ".jsonl", ".parquet", ".md", ".tex", ".txt", "", ".x", ".csv")
_KINDS = {"Parquet": ".parquet", "SQLite": ".db", "PNG": ".png", "text": ".txt", "gzip": ".csv.gz"}
_NUMBERS = {int: ("1", "2", "2", "3", "5"), float: (".5", ".5", "1", ".1", "2")}
_ODD_NUMBERS = ("0", "-1", "100", "0.5", "1e-9", "nan", "inf", str(2**63))
_LARGE = ("most_calls", "most_money", "batch_size")
_SMALL = {"epochs": 1, "batch_size": 4, "max_train_rows": 8, "early_stopping_patience": 0}
_SMALL |= {"layers": [0, 1, 2], "made_up": 5, "collection_captions": 20, "seed": 3}
_GROUPS = ("fit", "teacher", "student", "tuned", "tuned_on_sources")
_ODD_FIELDS = (float("inf"), float("nan"), -1, 0, [], {}, [[[1]]], "x", True, 2**70, 10**400, "")


@cache
def kinds() -> dict[str, type | None]:
    """Return the class of each command by its words; None for a trainer, imported late."""
    found: dict[str, type | None] = {}
    for kind in commands():
        words = kind.__module__.split(".")[1:]
        found[
            " ".join(words[:-1] if words[0] == "bench" and words[1] == "predictors" else words)
        ] = kind
    del found["train"]
    return found | dict.fromkeys(TRAINERS)


def command_of(case: int) -> str:
    """Return the words of the command of a case: of as many cases as commands, each comes once."""
    names = list(kinds())
    turn, place = divmod(case, len(names))
    Random(f"turn {turn}").shuffle(names)
    return names[place]


def type_of(field: dataclasses.Field) -> str:
    """Return the type of an option without None, as text."""
    return getattr(field.type, "__name__", str(field.type)).partition(" ")[0]


def is_group(field: dataclasses.Field) -> bool:
    """Tell whether a field has fields of its own, which only a file gives."""
    return type_of(field).endswith("Settings")


def needs_torch(command: str) -> bool:
    """Tell whether a command may load a network."""
    kind = kinds()[command]
    if kind is None:
        return True
    roles = {field.name: field.metadata.get("path") for field in fields_of(kind)}
    networks = ("predictor", "predictors", "model", "models", "encoder", "router", "clip")
    return any(name in roles for name in networks)


def values_of(command: str, field: dataclasses.Field) -> str | None:
    """Return what may stand in an option; None where its declaration says it.

    Raises:
        LookupError: Nobody has said it.
    """
    said = field.metadata
    if said.get("choices"):
        return None
    words = ["bench", "predictors"] if command == "bench" else command.split()
    for start in range(len(words) + 1):
        if found := _VALUES.get(" ".join([*words[start:], field.name])):
            return found
    role = said.get("path") or ""
    plain = type_of(field)
    if role.startswith("output") or plain in ("int", "float", "bool"):
        return None
    raise LookupError(f"`{field.name}` of {command}: say in _VALUES of {__file__} what it may be")


class Words:
    """Makes the command line of a case, and the files that it names.

    Args:
        command: The command's words.
        random: Decides all else.
        files: Makes the files.
        chat: The address of an endpoint.
    """

    def __init__(
        self,
        command: str,
        random: Random,
        files: Files,
        chat: str = "",
    ) -> None:
        self.command, self.random, self.files = command, random, files
        self.chat, self.outputs, self._copied = chat, [], {}
        self.kind = kinds()[command] or recipe_of(command)
        self.fields = {f.name: f for f in fields_of(self.kind) if not is_group(f)}

    def all(self) -> list[str]:
        """Return the words."""
        way = TRAINERS.get(self.command) or self.random.choice(
            _WAYS.get(self.command, "").split("|")
        )
        way += "".join(f" {name}" for name, f in self.fields.items() if f.default is NEEDED)
        if self.command in TRAINERS:
            way += " output_dir"
        given: dict[str, str] = {}
        for part in way.split():
            name, _, value = part.partition("=")
            given[name] = given.get(name) or value
        for _ in range(self.random.choice((0, 0, 0, 1, 1, 2, 4))):
            given.setdefault(self.random.choice(sorted(self.fields) or ["x"]), "")
        words, flags = self.command.split(), []
        if "inputs" in given:  # which name their metric
            given.pop("metric", None)
        order = [field.name for field, _ in _in_order(self.kind) if field.name in given]
        for name in ["inputs"] * ("inputs" in given) + order:
            value = given[name]
            if name == "inputs":
                flags += self._inputs()
            elif name in self.fields:
                field = self.fields[name]
                is_word = field.metadata.get("word") is True
                (words if is_word else flags).extend(self._option(field, value))
        if self.command in TRAINERS:
            flags += ["--config", self.files.recipe(self._recipe())]
        elif self.random.random() < 0.05:
            flags += ["--config", self.files.recipe({"column": "prompt", "seed": 1})]
        words += flags
        if self.files.is_hostile(0.05):
            words.append(self.random.choice(ODD_WORDS))
        if self.files.is_hostile(0.1):
            words.pop(self.random.randrange(2 * (self.command in TRAINERS), len(words)))
        # What a shell can't hand over, no command can be given.
        return [word.replace("\0", "") for word in words]

    def _option(self, field: dataclasses.Field, value: str) -> list[str]:
        """Return an option with its value, or with several."""
        flag = "--" + field.name.replace("_", "-")
        if type_of(field) == "bool":
            return [flag.replace("--", "--no-") if value == "0" or field.default is True else flag]
        many = type_of(field).startswith(("tuple", "list", "dict"))
        count = self.random.choice((1, 1, 1, 2, 3)) if many and not value else 1
        if values_of(self.command, field) == "glide_hbpp,sdxl_hbpp":
            count = 1
        if field.name in ("cost", "utility", "names", "prices"):
            count = 2
        values = [self._value(field, value) for _ in range(count)]
        if field.metadata.get("word") is True:
            return values
        if field.metadata.get("several"):
            return [flag, *values]
        is_one = field.metadata.get("commas", many and not field.metadata.get("path"))
        if is_one and not type_of(field).startswith("dict"):
            values = [",".join(values)]
        joined = self.random.random() < 0.3
        return [w for one in values for w in ([f"{flag}={one}"] if joined else [flag, one])]

    def _value(self, field: dataclasses.Field, value: str) -> str:
        """Return a value by what is declared of an option, or an odd one."""
        choice, said = self.random.choice, field.metadata
        if self.files.is_hostile(0.1):
            return choice(ODD_WORDS)
        role, plain = said.get("path") or "", type_of(field)
        if value:
            return self.filled(choice(value.split("|")))
        if text := values_of(self.command, field):
            return self.filled(choice(text.split("|")))
        if said.get("choices"):
            return choice(said["choices"])
        if role.startswith("output"):
            ends = said.get("endings") or [_KINDS[one] for one in said.get("holds", ())]
            return self.output(choice(ends or _ENDINGS) if role == "output file" else "_made")
        if self.files.is_hostile(0.3):
            return choice(_ODD_NUMBERS)
        if field.name in _LARGE:
            return choice(("20", "100"))
        return choice(_NUMBERS[float if plain == "float" else int])

    def filled(self, text: str) -> str:
        """Put a word of its kind in each `<place>` of a text."""
        return re.sub(r"<(\w+)>", lambda found: self.of(found[1]), text)

    def of(self, kind: str) -> str:
        """Return a word of a kind."""
        files, choice = self.files, self.random.choice
        if kind in _LISTS:
            word = self.filled(choice(_LISTS[kind].split("|")))
            return self.of(word) if word == "ridge" else word
        if kind in ("predictor", "checkpoint"):
            kind = choice(_NETWORKS)
        if kind in _COPIES:
            if kind not in self._copied or self.random.random() < 0.1:
                self._copied[kind] = files.copy(_COPIES[kind])
            return self._copied[kind]
        if kind == "prompt":
            return files.text().encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
        if kind in ("run", "qrels"):
            return files.trec(f".{kind}")
        if kind == "chat":
            return choice((self.chat, self.chat, self.chat, "http://127.0.0.1:9/v1"))
        if kind == "port":
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                return str(free.getsockname()[1])
        for table, make in ((SHAPES, files.shaped), (PLAIN, files.plain)):
            if kind in table:
                return make(kind)
        return getattr(files, kind)()

    def output(self, suffix: str) -> str:
        """Name an output: mostly new; hostile where something is there already."""
        path = self.files.name(suffix, self.files.outputs)
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
            elif way == 5:  # an input, and what lies in one
                there = sorted(self.files.folder.rglob("*"))
                path = self.random.choice(there) if there else path
            else:
                path.with_name("a file").write_bytes(b"mine\n")
                path = path.with_name("a file") / "x"
        word = str(path.relative_to(self.files.folder))
        self.outputs.append(word)
        return word

    def _inputs(self) -> list[str]:
        """Name the inputs of a metric, from files of its example or of odd values."""
        metric = self.random.choice(list(CASES))
        case = CASES[metric]
        words = [metric]
        for name, cells in case.inputs.items():
            cells = [c if not self.files.is_hostile(0.1) else self.files.number() for c in cells]
            if self.files.is_hostile(0.1):
                cells = cells[: self.random.randrange(len(cells) + 1)]
            suffix = self.random.choice((".json", ".jsonl", ".jsonl", ".parquet", ".csv"))
            file = self.files.written({name: cells}, suffix)
            plain = name in ("predictions", "references")
            words += [f"--{name}", file] if plain else ["--input", f"{name}={file}"]
        for name, value in case.options.items():
            words += ["--option", f"{name}={json.dumps(value)}"]
        return words

    def _recipe(self) -> dict:
        """Return the fields of a recipe that ends soon."""
        known, choice = sorted(f.name for f in fields_of(self.kind)), self.random.choice
        fields = {key: value for key, value in _SMALL.items() if key in known}
        quick = {"epochs": 1, "networks": 1, "hidden_size": 4, "kernel_layers": [2, 1]}
        for group in _GROUPS:
            if group in known and self.random.random() < 0.7:
                fields[group] = {"epochs": 1} | (quick if group in ("fit", "teacher") else {})
                if self.files.is_hostile(0.3):
                    fields[group] = choice(([], 1, "x", None, {"x": 1}, {"epochs": -1}, [[1]]))
        if self.files.is_hostile(0.3):
            fields[choice(known or ["seed"])] = choice((*_ODD_FIELDS, HUGE))
        return fields


def recipe_of(command: str) -> type:
    """Return the recipe of a trainer."""
    return trainer_of(command.split()[1])[1]
