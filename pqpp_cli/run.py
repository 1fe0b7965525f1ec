"""`pqpp run`: generate images, assess them and predict their prompts, in one job."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pqpp_cli.command import Command
from pqpp_cli.errors import CommandError
from pqpp_cli.groups import Shards
from pqpp_files.options.option import NEEDED, option

if TYPE_CHECKING:
    from pqpp_engines.run import RunShard

_PARTS = ("prompts", "column", "output", "generate", "assess", "predict")


class Run(Shards, Command):
    """Generate images by several models, assess them and predict their prompts, in one table."""

    EPILOG = """examples:
  pqpp run pipeline.yaml
  pqpp run pipeline.yaml --workers 2
  pqpp run pipeline.yaml --engine ray --ray-address auto --num-gpus 1

pipeline.yaml names four stages; the options of each are those of its command:

  prompts: prompts.csv            # Parquet or CSV; with prompt_id, or the rows' numbers are taken
  output: study                   # images/ and table/
  generate:
    - {model: SDXL, images_per_prompt: 2, dtype: float16}
    - {command: "python glide.py {prompt} {seed} {output}", model_name: glide}
  assess:                         # may be left out
    vistar: {only: text_rendering}
  predict: {predictor: static, targets: "alignment,mean_hbpp"}

The table in output/table has a row for each image. What fails in a stage is told in its rows, in
the column error, and ends nothing else. Run the line again after a kill: a shard whose file is
there is done, and an image that is there is not made again.
"""
    SHARD_SIZE = 8
    pipeline: str = option(NEEDED, "the stages", metavar="FILE.yaml", path="file", word=True)
    shard_size: int | None = option(None, "prompts of a shard (default: 8)")

    def run(self) -> None:
        """Run the stages, and say how fast each was."""
        from pqpp_files.foreign.yaml_values import read_yaml

        pipeline = read_yaml(self.pipeline, "a pipeline", error=CommandError)
        if lacking := {"prompts", "output", "generate"} - set(pipeline):
            raise CommandError(f"{self.pipeline}: {min(lacking)} is missing; see --help")
        if unknown := sorted(set(pipeline) - set(_PARTS)):
            raise CommandError(
                f"{self.pipeline}: {unknown[0]} is not a part of it; {', '.join(_PARTS)} are"
            )
        job, settings = _job(pipeline, self.has_many_workers)
        place = f"{pipeline['output']}/table"
        prompts = str(pipeline["prompts"])
        self.work_on_shards(prompts, place, lambda: (job, settings, place), ("prompt_id",))
        for line in job.lines():
            print(f"pqpp: {line}", file=sys.stderr)


def _job(pipeline: Mapping[str, Any], has_many_workers: bool) -> tuple[RunShard, dict[str, Any]]:
    """Return the job of a pipeline, and what its rows depend on."""
    from pqpp_cli.generate import Generate
    from pqpp_engines.run import RunShard
    from pqpp_feedback.assess.run import AssessShard
    from pqpp_feedback.assessors import assessor_options
    from pqpp_files.options.recipe import build_recipe
    from pqpp_models.predict import PredictShard, ordered_targets

    column, output = str(pipeline.get("column", "prompt")), str(pipeline["output"])
    common = {"file": str(pipeline["prompts"]), "output": output, "column": column, "shard_size": 8}
    makers = [build_recipe(Generate, {**common, **one}) for one in pipeline["generate"]]
    made = [maker.shard_job() for maker in makers]
    settings: dict[str, Any] = {"generate": [of_model for _, of_model, _ in made]}
    assess = {
        name: AssessShard(
            build_recipe(assessor_options(name), options or {}).open, f"{output}/images", column
        )
        for name, options in (pipeline.get("assess") or {}).items()
    }
    settings["assess"] = {name: one.settings for name, one in assess.items()}
    predict = None
    if pipeline.get("predict") is not None:
        options = dict(pipeline["predict"])
        names = options.pop("targets", options.pop("target", None))
        predict = PredictShard(**options, column=column)
        predict.targets = ordered_targets(predict.loaded, predict.loaded.columns_for(names))
        settings["predict"] = [predict.predictor, predict.revision, list(predict.targets)]
    job = RunShard([one for one, _, _ in made], assess, predict)
    if has_many_workers:
        for stage in assess.values():
            del stage.assessors
    return job, {"job": "run", **settings}
