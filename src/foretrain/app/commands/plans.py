"""Commands about plans: `search`, `explain`, `compare`, and the files of trainers.

`foretrain search`.

`foretrain explain`.

`foretrain compare`.

`foretrain export`, `foretrain import`: launch files of trainers from studies, and back.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from foretrain.app.output import AsJson, Page
from foretrain.app.question import CommandLine, On, Settings, with_options

Keep = Annotated[int, typer.Option("--keep", min=1, help="How many of the best plans to show.")]
WhyNots = Annotated[
    list[str] | None,
    typer.Option(
        "--why-not",
        metavar="PLAN",
        help='Say why a plan is not the best: "tp8", "tensor=8 recompute=full" or a ranked plan.',
    ),
]
Robust = Annotated[
    bool,
    typer.Option(
        "--robust",
        help="Say how far from the best each plan may be while a coefficient is not known exactly.",
    ),
]
Exhaustive = Annotated[
    bool,
    typer.Option(
        "--exhaustive", help="Price every plan, also those that a bound excludes; same answer."
    ),
]


@with_options
def search(
    line: CommandLine,
    *,
    keep: Keep = 10,
    why_not: WhyNots = None,
    robust: Robust = False,
    exhaustive: Exhaustive = False,
) -> None:
    """Find the best plan, its rivals, and why the others are refused."""
    from foretrain.app.output import MOST_LINES, tell
    from foretrain.app.progress import progress, stop_on_interrupt
    from foretrain.app.question import asked_study
    from foretrain.search import search as verb
    from foretrain.show.document import of_study
    from foretrain.study.problems import told_of

    line.check()
    asked, known = asked_study(line.study, line.said, free=True), line.known
    with stop_on_interrupt() as stop:
        with told_of(line.study), progress(stop) as bar:
            answer = verb.search(
                asked,
                coefficients=known,
                keep=keep,
                why_not=why_not or (),
                robust=robust,
                exhaustive=exhaustive,
                progress=bar,
                stop=stop,
            )
        source = of_study(asked, coefficients=known)
        besides = robust or bool(why_not) or bool(asked.scenarios)
        if answer.cut_short:
            tell("The search was cut short: this is the best of what was looked at.")
        line.answered(asked, answer, source, most=None if besides else MOST_LINES)


Timeline = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Also write the simulated step as a trace that Perfetto and browsers open.",
    ),
]


@with_options
def explain(line: CommandLine, *, why_not: WhyNots = None, timeline: Timeline = None) -> None:
    """Say what limits a plan, what would help and by how much, and what stands behind that."""
    from foretrain.app.output import MOST_LINES, tell
    from foretrain.app.question import asked_study
    from foretrain.search.explain.explain import explain as verb
    from foretrain.search.explain.explain import simulated
    from foretrain.show.document import of_study
    from foretrain.step.trace import chrome_step
    from foretrain.study.files import write_text
    from foretrain.study.problems import told_of

    line.check()
    line.check(timeline, "--timeline")
    asked, known = asked_study(line.study, line.said), line.known
    with told_of(line.study):
        answer = verb(asked, coefficients=known, why_not=why_not or ())
    if timeline is not None:
        write_text(timeline, chrome_step(simulated(answer)))
        tell(f"Wrote {timeline}.")
    source = of_study(asked, coefficients=known)
    line.answered(asked, answer, source, most=None if why_not else MOST_LINES)


Other = Annotated[
    str,
    typer.Argument(
        metavar="OTHER",
        help='Another study, file or model; a plan for the first: "tp8"; the log or a profiler\'s '
        "trace of its run; a row of measured runs: llm_training.csv:ID.",
    ),
]

BothTimelines = Annotated[
    Path | None,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Also write the predicted step and, beside it, the one that a profiler saw, for "
        "Perfetto.",
    ),
]


@with_options
def compare(line: CommandLine, other: Other, *, timeline: BothTimelines = None) -> None:
    """Say what differs between two studies or plans, and what each difference costs."""
    import shlex

    from foretrain.app.output import MOST_LINES, tell
    from foretrain.app.sides import asked_sides, questions
    from foretrain.search.explain.compare import beside_each_other
    from foretrain.search.explain.compare import compare as verb
    from foretrain.show.document import provenance
    from foretrain.study.files import write_text

    line.check()
    line.check(timeline, "--timeline")
    known, both = line.known, asked_sides(line, other)
    answer = verb(*both, coefficients=known)
    if timeline is not None:
        write_text(timeline, beside_each_other(both[1], coefficients=known))
        tell(f"Wrote {timeline}.")
    source = provenance(*questions(both), coefficients=known)
    named = shlex.join([str(line.study), other, *line.said.words])
    line.answered(both, answer, source, most=MOST_LINES, named=named)


Target = Annotated[
    str, typer.Option("--to", metavar="TRAINER", help="A trainer of the catalogue, or a family.")
]
Launcher = Annotated[
    str, typer.Option("--launcher", help="torchrun, slurm, kubernetes or skypilot.")
]
JobName = Annotated[str, typer.Option("--name", help="Of the job and its files.")]
Folder = Annotated[
    Path | None, typer.Option("--output", metavar="FOLDER", help="Write the files there.")
]
Searched = Annotated[
    bool, typer.Option("--search", help="The best plan that is found, not the one that is given.")
]
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Launch scripts and configurations.")
]
Trained = Annotated[
    str, typer.Option("--trainer", help="For which they are written, where it is not clear.")
]
Study = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write the study there.")
]


@with_options
def export(
    line: CommandLine,
    *,
    to: Target,
    launcher: Launcher = "torchrun",
    name: JobName = "train",
    search: Searched = False,
    output: Folder = None,
) -> None:
    """Write the files with which a trainer runs the plan of a study."""
    from foretrain.app.output import tell
    from foretrain.app.question import asked_study
    from foretrain.search.export import export as verb
    from foretrain.show.document import of_study
    from foretrain.study.files import write_text
    from foretrain.study.problems import told_of

    line.check()
    asked, known = asked_study(line.study, line.said, free=search), line.known
    with told_of(line.study):
        answer = verb(
            asked, to=to, launcher=launcher, name=name, searched=search, coefficients=known
        )
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for each in answer.files:
            write_text(output / each.name, each.text)
            tell(f"Wrote {output / each.name}.")
    line.answered(asked, answer, of_study(asked, coefficients=known))


def import_(
    files: Files,
    *,
    on: On = None,
    trainer: Trained = "",
    settings: Settings = None,
    output: Study = None,
    as_json: AsJson = False,
    html: Page = None,
) -> None:
    """Read a trainer's launch scripts and configurations as a study."""
    from foretrain.app.output import answered, check_page, tell
    from foretrain.search.import_files import import_ as verb
    from foretrain.search.import_files import settings_of, with_asked
    from foretrain.show.document import provenance
    from foretrain.study.files import write_text
    from foretrain.study.launch_files import read_launch_files
    from foretrain.study.problems import told_of

    found = with_asked(read_launch_files(*files))
    for option, path in (("--output", output), ("--html", html)):
        if path is not None:
            for each in files:
                check_page(path, each, what="file", option=option)
    with told_of(", ".join(map(str, files))):
        answer = verb(
            found,
            on=on or "",
            trainer=trainer,
            settings=settings_of(settings or []),
            home="." if output is None else str(output.parent),
        )
    if output is not None:
        write_text(output, answer.study)
        tell(f"Wrote {output}.")
    answered(found, answer, provenance(found), as_json=as_json, html=html)
