"""What the documentation computes from the code, so that it cannot go out of date."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretrain.cluster.device import Device


def on_page_markdown(markdown: str, **_: object) -> str:
    """Put tables where a page asks for them; mkdocs calls this for each page."""
    for mark, table in TABLES.items():
        if mark in markdown:
            markdown = markdown.replace(mark, table())
    return markdown


def coefficients_table() -> str:
    """A row for each coefficient of the default set: value, unit, interval, kind and source."""
    from foretrain.study.coefficients import SHIPPED

    head = "| coefficient | value | unit | from | to | kind | source |\n" + "|---" * 7 + "|"
    rows = (
        f"| `{name}` | {item.value:g} | {'' if item.unit == '1' else item.unit} | {item.low:g} "
        f"| {item.high:g} | {item.kind}{_rows(item.rows)} | {item.source} |"
        for name, item in SHIPPED.known.items()
    )
    return "\n".join([head, *rows])


def _rows(rows: tuple[str, ...]) -> str:
    return f", {len(rows)} rows" if rows else ""


def device_table() -> str:
    """A row for each device of the catalogue: its main figures."""
    from foretrain.study.catalogue import device, family, names

    head = (
        "| device | family | 16 bit | 8 bit | memory | bandwidth | units | power |\n"
        + "|---" * 8
        + "|"
    )
    rows = (_device_row(device(name), family("devices", name)) for name in names()["devices"])
    return "\n".join([head, *rows])


def _device_row(it: Device, family: str) -> str:
    cells = (
        f"`{it.name}`",
        family,
        _in_tera(it.peak.bf16 or it.peak.fp16),
        _in_tera(it.peak.fp8),
        f"{it.memory / 1e9:.1f} GB",
        f"{it.memory_bandwidth / 1e9:g} GB/s",
        str(it.units),
        "" if it.power is None else f"{it.power:g} W",
    )
    return f"| {' | '.join(cells)} |"


def cluster_table() -> str:
    """A row for each cluster of the catalogue: what a node has and what leaves it."""
    from foretrain.study.catalogue import cluster, names, summary

    head = "| cluster | what it is | price of a device | levels |\n" + "|---" * 4 + "|"
    rows = []
    for name in names()["clusters"]:
        it = cluster(name, nodes=1)
        since = "" if it.price_date is None else f" ({it.price_date[:7]})"
        price = "" if it.price is None else f"{it.price * 3600:.2f} USD/h{since}"
        levels = ", ".join(f"{level.name}: {level.link.technology}" for level in it.levels)
        rows.append(f"| `{name}` | {summary('clusters', name)} | {price} | {levels} |")
    return "\n".join([head, *rows])


def trainer_table() -> str:
    """A row for each trainer of the catalogue: release, date, and what it usually does."""
    from foretrain.study.trainers import trainers

    head = (
        "| trainer | what it is | release | date | attention | execution | sharding |\n"
        + "|---" * 7
        + "|"
    )
    rows = []
    for it in trainers():
        usual = [
            "" if (option := it.option(name)) is None else option.lines[-1].value
            for name in ("attention", "execution", "sharding")
        ]
        cells = (f"`{it.name}`", it.summary, it.release, it.date, *usual)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, *rows])


def words_table(section: str) -> str:
    """A row for each key of a section of a trainer's entry: what it decides, and its values."""
    from foretrain.trainers import vocabulary

    head = "| key | decides | values |\n" + "|---" * 3 + "|"
    rows = (
        f"| `{name}` | {kind.words} | {', '.join(f'`{value}`' for value in kind.values)} |"
        for name, kind in getattr(vocabulary, section).items()
    )
    return "\n".join([head, *rows])


def public_names() -> str:
    """Every public name by what it is, with its docstring: mkdocstrings puts it after `:::`."""
    import foretrain
    from foretrain.answers import ANSWERS

    verbs = {verb.function for verb in ANSWERS}
    answers = {verb.result.rpartition(":")[2] for verb in ANSWERS}
    functions = {name for name in foretrain.__all__ if name[0].islower()}
    sections = {
        "Verbs": verbs,
        "Their answers": answers,
        "Other functions": functions - verbs,
        "Other nouns": set(foretrain.__all__) - functions - answers,
    }
    lines = []
    for title, names in sections.items():
        lines += [f"## {title}", ""]
        for name in sorted(names):
            thing = getattr(foretrain, name)
            lines += [f"::: {thing.__module__}.{thing.__qualname__}", ""]
    return "\n".join(lines)


def _in_tera(rate: float | None) -> str:
    return "" if rate is None else f"{rate / 1e12:g}"


TABLES = {
    "<!-- coefficients -->": coefficients_table,
    "<!-- devices -->": device_table,
    "<!-- clusters -->": cluster_table,
    "<!-- trainers -->": trainer_table,
    "<!-- abilities -->": partial(words_table, "ABILITIES"),
    "<!-- options -->": partial(words_table, "OPTIONS"),
    "<!-- habits -->": partial(words_table, "HABITS"),
    "<!-- api -->": public_names,
}
