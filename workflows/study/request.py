"""Settings of the analysis, which are read and checked before the first run starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from analysis.runs.facts import Economics, Facts, Offer
from analysis.runs.lifetime import Lifetime
from analysis.runs.settings import Chosen, Mix, NodePrice, Rule, RunCosts, SystemPrice
from analysis.topics.proposal.rules import read_rule
from workflows.domain import InputError, Interconnect
from workflows.inputs import choose, defaults, table_errors_in
from workflows.study.study import Study

_Part = TypeVar("_Part")
_NO_EXCHANGE = "no exchange rate is assumed"


def request_facts(study: Study, interconnects: Mapping[str, Interconnect], config: Path) -> Facts:
    """Return the settings of the analysis, with the contents of the files that the study names.

    Parameters
    ----------
    config : Path
        The project's folder ``config``, which holds ``prices``, ``proposals`` and ``interconnects``.

    Returns
    -------
    Facts
        Only ``study_keys``, ``settings``, ``proposal``, ``proposal_interconnect``, ``economics`` and
        ``run_costs`` are set. ``economics`` is None for a study without a node's price, and ``run_costs`` for
        a study without prices of node hours.

    Raises
    ------
    InputError
        A setting is wrong: one line with file and key.
    """
    if not study.imported_files:
        check_names(study, study.cases, study.interconnects)
    facts = Facts(
        study_keys=study.for_analysis,
        settings=_settings(study),
        proposal=_rule(study, config / "proposals"),
        proposal_interconnect=study.proposal.get("interconnect"),
        economics=_economics(study, interconnects, config) if "node" in study.economics else None,
        run_costs=_run_costs(study, config / "prices/node_hours"),
    )
    if study.congestion:
        from workflows.study.congestion import check_congestion  # here: a job that measures loads no NumPy

        check_congestion(study.congestion, f"{study.file}: congestion")
    return facts


def check_names(
    study: Study, cases: Collection[str], interconnects: Collection[str], sites: Collection[str] = ()
) -> None:
    """Check that the settings of the analysis name existing cases, interconnects and sites.

    Parameters
    ----------
    cases, interconnects, sites : collection of str
        Names in the study and in its imports.

    Raises
    ------
    InputError
        A name is unknown.
    """
    reference, shown = study.analysis.get("reference_interconnect"), study.proposal.get("interconnect")
    named = {
        "economics.mix.weights": ("case", study.economics.get("mix", {}).get("weights", ()), cases),
        "economics.interconnects": ("interconnect", study.economics.get("interconnects", ()), interconnects),
        "analysis.reference_interconnect": ("interconnect", [reference] if reference else (), interconnects),
        "proposal.interconnect": ("interconnect", [shown] if shown else (), interconnects),
        "baselines": ("interconnect", study.baselines, interconnects),
        "systems": ("interconnect", study.for_analysis.get("systems", ()), interconnects),
        "run_costs.cases": ("case", study.run_costs.get("cases", ()), cases),
        "run_costs.prices": (
            "interconnect or site",
            study.run_costs.get("prices", ()),
            {*interconnects, *sites},
        ),
    }
    for key, (noun, names, existing) in named.items():
        for name in names:
            choose(name, existing, f"{noun} of the study", f"{study.file}: {key}")


def _settings(study: Study) -> Chosen:
    settings = dict(study.analysis)
    if study.until is not None:
        settings["target_percent"] = study.until.interval_percent
    try:
        return Chosen(**settings | {"target_speedups": tuple(settings["target_speedups"])})
    except ValueError as error:
        raise InputError(f"{study.file}: analysis.{error}") from None


def _rule(study: Study, folder: Path) -> Rule:
    where = f"{study.file}: proposal.rule"
    file = _file(study.proposal["rule"], ".yaml", folder, study.file.parent, "rule", where)
    with table_errors_in(where):
        return read_rule(file)


def _file(name: str, ending: str, folder: Path, base: Path, noun: str, where: str) -> Path:
    """Return the file of a name in the project's `folder`, or of a path relative to `base`."""
    if name.endswith(ending):
        return base / name
    choose(name, [file.stem for file in folder.glob(f"*{ending}")], noun, where)
    return folder / f"{name}{ending}"


@dataclass(frozen=True)
class _Price:
    """A price in a file: the file and key for messages, the folder of the file, and the section itself."""

    where: str
    folder: Path
    section: Mapping[str, str]


def _economics(study: Study, interconnects: Mapping[str, Interconnect], config: Path) -> Economics:
    folder = config / "interconnects"
    prices = {
        name: _Price(f"{folder / name}.yaml: price", folder, interconnect.price)
        for name, interconnect in interconnects.items()
        if interconnect.price
    } | {
        name: _Price(f"{study.file}: economics.interconnects.{name}", study.file.parent, section)
        for name, section in study.economics.get("interconnects", {}).items()
    }
    if not prices:
        raise InputError(f"{study.file}: economics.interconnects: missing; no interconnect has a price")
    mix, node = study.economics.get("mix"), _checked(NodePrice.of, study, "node")
    offers = {name: _offer(price, node, study.file, config / "prices") for name, price in prices.items()}
    lifetime = _lifetime(study, node, list(offers)) if "lifetime" in study.economics else None
    if mix and "kilowatts" in mix and not (lifetime and lifetime.node_loaded_watts):
        missing = "economics.lifetime.node_loaded_watts: missing, since economics.mix.kilowatts is given"
        raise InputError(f"{study.file}: {missing}")
    return Economics(node, offers, Mix.of(mix) if mix else None, lifetime)


def _run_costs(study: Study, folder: Path) -> RunCosts | None:
    """Return the prices of node hours from the book and the study, with the deadlines and budgets."""
    section, where = study.run_costs, f"{study.file}: run_costs"
    if "book" not in section and "prices" not in section:
        if section != defaults("study", "run_costs"):
            raise InputError(f"{where}: needs book, prices or both")
        return None
    prices, currency, file = _book_prices(section, study.file.parent, folder, where)
    currency = currency or section.get("currency")
    if currency is None:
        raise InputError(f"{where}.currency: missing, since prices are given without a book")
    if section.get("currency", currency) != currency:
        raise InputError(
            f"{where}.currency: {section['currency']}, but {section['book']} has prices in {currency}; "
            f"{_NO_EXCHANGE}"
        )
    for name, given in section.get("prices", {}).items():
        try:
            prices[name] = SystemPrice.of(given)
        except ValueError as error:
            raise InputError(f"{where}.prices.{name}.{error}") from None
    deadlines, budgets = tuple(section["deadlines"]), tuple(section["budgets"])
    return RunCosts(currency, prices, deadlines, budgets, file, tuple(section["cases"]))


def _book_prices(
    section: Mapping[str, Any], base: Path, folder: Path, where: str
) -> tuple[dict[str, SystemPrice], str | None, str | None]:
    """Return the prices of a book at the terms of the section, their currency, and the file."""
    if "book" not in section:
        return {}, None, None
    from analysis.topics.run_cost.book import prices_at, read_node_hours  # here: see `_offer`

    file = _file(section["book"], ".csv", folder, base, "price book", f"{where}.book")
    with table_errors_in(f"{where}.book"):
        book = read_node_hours(file)
    choose(section["terms"], set(book["terms"]), "terms", f"{where}.terms: book {section['book']}")
    return prices_at(book, section["terms"]), book["currency"].iloc[0], _shown(file, folder.parents[2])


def _shown(file: Path, project: Path) -> str:
    """Write the path of a file, relative to the project if it is inside."""
    return str(file.relative_to(project) if file.is_relative_to(project) else file)


def _checked(make: Callable[[Mapping[str, Any]], _Part], study: Study, section: str) -> _Part:
    try:
        return make(study.economics[section])
    except ValueError as error:
        raise InputError(f"{study.file}: economics.{section}.{error}") from None


def _lifetime(study: Study, node: NodePrice, priced: Sequence[str]) -> Lifetime:
    """Return the running costs of a cluster, for interconnects with a price."""
    lifetime = _checked(Lifetime.of, study, "lifetime")
    where = f"{study.file}: economics.lifetime.ports"
    for name in lifetime.ports:
        choose(name, priced, "interconnect with a price", where)
    if lifetime.ports and (lacking := [name for name in priced if name not in lifetime.ports]):
        raise InputError(f"{where}.{lacking[0]}: missing; all interconnects with a price, or none")
    if lifetime.licensed and node.cores is None:
        raise InputError(f"{study.file}: economics.node.cores: missing, since licences are counted")
    return lifetime


def _offer(price: _Price, node: NodePrice, study_file: Path, folder: Path) -> Offer:
    """Return an item with its rows of a price book or part list."""
    from analysis.topics.prices.books import read_book
    from analysis.topics.prices.parts import read_parts  # here: a job that measures loads no pandas

    sources = [key for key in ("book", "parts") if key in price.section]
    if len(sources) != 1:
        raise InputError(f"{price.where}: needs either book or parts")
    (source,) = sources
    where, name = f"{price.where}.{source}", price.section[source]
    kinds = {"book": ("price book", folder, read_book), "parts": ("part list", folder / "parts", read_parts)}
    noun, listings, read = kinds[source]
    file = _file(name, ".csv", listings, price.folder, noun, where)
    with table_errors_in(where):
        listing = read(file)
    item = choose(price.section["item"], set(listing["item"]), "item", f"{price.where}.item: {source} {name}")
    rows = listing[listing["item"] == item].astype(object)
    currency = rows["currency"].iloc[0]
    if currency != node.currency:
        raise InputError(
            f"{study_file}: economics.node.currency: {node.currency}, but {item!r} of {file} is priced in "
            f"{currency}; {_NO_EXCHANGE}"
        )
    records = rows.where(rows.notna(), None).to_dict("records")
    plain = [{str(column): value for column, value in record.items()} for record in records]
    return Offer(source, _shown(file, folder.parent.parent), item, plain)
